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
import { t } from '../texts/texts.js';
import { PAYMENT_STATUS, reasonWord } from '../words.js';

type Payment = Item<'payments.list'>;

const STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;
const TO_DECIDE = 'decide';
const TABS = [
  ['', t('all')],
  [TO_DECIDE, t('toDecide')],
  ...STATUSES.map((status) => [status, PAYMENT_STATUS[status].label] as const),
] as const;

/** A checkout's name and reference never change, so they are read once. */
function WhatFor({ payment: { product, checkoutId, memo } }: { payment: Payment }) {
  const isOrder = product === null && checkoutId !== null;
  const once = { enabled: isOrder, refetchInterval: false, staleTime: Number.POSITIVE_INFINITY } as const;
  const { data: order } = useRead('checkouts.get', { id: checkoutId ?? '' }, { ...once, keepPrevious: false });
  if (isOrder) return <bdi>{[order?.name ?? t('checkout'), order?.reference].filter(Boolean).join(' · ')}</bdi>;
  return <bdi>{product?.name ?? (memo ? t('memoMemo', { memo }) : t('noMemo'))}</bdi>;
}

export const PaymentBadge = ({ status, reason }: Pick<Payment, 'status' | 'reason'>) => (
  <Badge {...PAYMENT_STATUS[status]} more={reason ? reasonWord(reason) : undefined} />
);

export const PAYMENT_COLUMNS: readonly Column<Payment>[] = [
  { title: t('for'), kind: 'main', cell: (payment) => <WhatFor payment={payment} /> },
  { title: t('status'), cell: (payment) => <PaymentBadge {...payment} /> },
  {
    title: t('fromSenderOrDay'),
    kind: 'wide',
    cell: ({ senderAddress }) => <code title={senderAddress}>{short(senderAddress)}</code>,
  },
  { title: t('paid'), cell: ({ ledgerClosedAt }) => <Time at={ledgerClosedAt} /> },
  { title: t('amount'), kind: 'money', cell: ({ amount, assetCode }) => <Money amount={amount} code={assetCode} /> },
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
    <Page title={t('payments')} actions={<Export of="payments" filters={wanted} />}>
      <Tabs label={t('status')} options={TABS} value={isToDecide ? TO_DECIDE : (known ?? '')} set={setStatus} />
      <div class="grid">
        <Search name="search" label={t('referenceMemoNameEMail')} />
      </div>
      <Filters values={filters}>
        <ChoiceFilter name="product" label={t('product')} of="products.list" none={t('allProducts')} />
        <ChoiceFilter name="wallet" label={t('wallet')} of="wallets.list" none={t('allWallets')} />
        <Search name="asset" label={t('assetCode')} />
        <Search name="from" label={t('fromSenderOrDay')} type="date" />
        <Search name="to" label={t('untilDay')} type="date" />
        <Search name="sender" label={t('sendersAddress')} />
        <Search name="transaction" label={t('transactionHash')} />
        <Search name="link" label={t('paymentLinkId')} />
        <Search name="checkout" label={t('checkoutsId')} />
      </Filters>
      <List
        title={t('payments')}
        query={payments}
        columns={PAYMENT_COLUMNS}
        href={({ id }) => `/payments/${id}`}
        empty={
          isToDecide
            ? t('noPaymentsNeedDecision')
            : known || search || Object.values(filters).some(Boolean)
              ? t('noPaymentsMatch')
              : t('noPaymentsYetAppear')
        }
      />
    </Page>
  );
}
