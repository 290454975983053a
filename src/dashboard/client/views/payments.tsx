/** Payments: filters, and a list in which new payments appear by themselves. */

import { usePage, useParam } from '../address.js';
import { type Item, useRead } from '../api.js';
import { short, startOfDay } from '../format.js';
import { Badge, Money, Time } from '../parts/bits.js';
import { ChoiceFilter } from '../parts/choices.js';
import { Export } from '../parts/export.js';
import { Filters, Search, Tabs } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { PAYMENT_REASON, PAYMENT_STATUS } from '../words.js';

type Payment = Item<'payments.list'>;

const STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;
const TO_DECIDE = 'decide';
const TABS = [
  ['', 'All'],
  [TO_DECIDE, 'To decide'],
  ...STATUSES.map((status) => [status, PAYMENT_STATUS[status].label] as const),
] as const;

/** A checkout's name and reference never change, so they are read once. */
function WhatFor({ payment: { product, checkoutId, memo } }: { payment: Payment }) {
  const isOrder = product === null && checkoutId !== null;
  const once = { enabled: isOrder, refetchInterval: false, staleTime: Number.POSITIVE_INFINITY } as const;
  const { data: order } = useRead('checkouts.get', { id: checkoutId ?? '' }, { ...once, keepPrevious: false });
  if (isOrder) return <bdi>{[order?.name ?? 'Checkout', order?.reference].filter(Boolean).join(' · ')}</bdi>;
  return <bdi>{product?.name ?? (memo ? `Memo ${memo}` : 'No memo')}</bdi>;
}

export const PaymentBadge = ({ status, reason }: Pick<Payment, 'status' | 'reason'>) => (
  <Badge {...PAYMENT_STATUS[status]} more={reason ? PAYMENT_REASON[reason].label : undefined} />
);

export const PAYMENT_COLUMNS: readonly Column<Payment>[] = [
  { title: 'For', kind: 'main', cell: (payment) => <WhatFor payment={payment} /> },
  { title: 'Status', cell: (payment) => <PaymentBadge {...payment} /> },
  {
    title: 'From',
    kind: 'wide',
    cell: ({ senderAddress }) => <code title={senderAddress}>{short(senderAddress)}</code>,
  },
  { title: 'Paid', cell: ({ ledgerClosedAt }) => <Time at={ledgerClosedAt} /> },
  { title: 'Amount', kind: 'money', cell: ({ amount, assetCode }) => <Money amount={amount} code={assetCode} /> },
];

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

const useText = (name: string): string => useParam(name)[0];

const useFilters = () => ({
  product: useText('product'),
  wallet: useText('wallet'),
  link: useText('link'),
  checkout: useText('checkout'),
  asset: useText('asset'),
  sender: useText('sender'),
  transaction: useText('transaction'),
  from: useText('from'),
  to: useText('to'),
});

export function Payments() {
  const [status, setStatus] = useParam('status');
  const isToDecide = status === TO_DECIDE;
  const [search] = useParam('search');
  const filters = useFilters();
  const known = STATUSES.find((each) => each === status);
  const wanted = {
    ...(isToDecide ? { needsDecision: true } : { status: known ? [known] : [...STATUSES] }),
    ...(search && { search }),
    ...(filters.product && { productId: filters.product }),
    ...(filters.wallet && { walletId: filters.wallet }),
    ...(filters.link && { paymentLinkId: filters.link }),
    ...(filters.checkout && { checkoutId: filters.checkout }),
    ...(filters.asset && { assetCode: filters.asset }),
    ...(filters.sender && { senderAddress: filters.sender }),
    ...(filters.transaction && { transactionHash: filters.transaction }),
    ...(isDay(filters.from) && { createdFrom: startOfDay(filters.from).toISOString() }),
    // The last day is included.
    ...(isDay(filters.to) && { createdTo: startOfDay(filters.to, 1).toISOString() }),
  };
  const payments = useRead('payments.list', { page: usePage(), ...wanted });
  return (
    <Page title="Payments" actions={<Export of="payments" filters={wanted} />}>
      <Tabs label="Status" options={TABS} value={isToDecide ? TO_DECIDE : (known ?? '')} set={setStatus} />
      <div class="grid">
        <Search name="search" label="Reference, memo, name, e-mail, hash or id" />
      </div>
      <Filters values={filters}>
        <ChoiceFilter name="product" label="Product" of="products.list" none="All products" />
        <ChoiceFilter name="wallet" label="Wallet" of="wallets.list" none="All wallets" />
        <Search name="asset" label="Asset code" />
        <Search name="from" label="From" type="date" />
        <Search name="to" label="To" type="date" />
        <Search name="sender" label="Sender’s address" />
        <Search name="transaction" label="Transaction hash" />
        <Search name="link" label="Payment link, by id" />
        <Search name="checkout" label="Checkout’s id" />
      </Filters>
      <List
        title="Payments"
        query={payments}
        columns={PAYMENT_COLUMNS}
        href={({ id }) => `/payments/${id}`}
        empty={
          isToDecide
            ? 'No payments need a decision.'
            : known || search || Object.values(filters).some(Boolean)
              ? 'No payments match.'
              : 'No payments yet. They appear here automatically.'
        }
      />
    </Page>
  );
}
