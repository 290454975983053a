/** Checkouts, each one order of one customer. */
import { usePage, useParam } from '../address.js';
import { type Item, useRead } from '../api.js';
import { useMay } from '../parts/act.js';
import { Badge, LinkButton, Money, Time } from '../parts/bits.js';
import { ChoiceFilter } from '../parts/choices.js';
import { Export } from '../parts/export.js';
import { Search, Tabs } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t } from '../texts/texts.js';
import { CHECKOUT_STATUS } from '../words.js';

type Checkout = Item<'checkouts.list'>;

const STATUSES = ['OPEN', 'PAID', 'EXPIRED', 'CANCELLED'] as const;
const TABS = [['', t('all')], ...STATUSES.map((status) => [status, CHECKOUT_STATUS[status].label] as const)] as const;

/** Marks checkouts that received money but not enough. */
export const partOf = ({ status, receivedAmount }: Checkout): string | undefined =>
  status !== 'PAID' && receivedAmount !== '0' ? t('partlyPaid') : undefined;

export const CHECKOUT_COLUMNS: readonly Column<Checkout>[] = [
  { title: t('order'), kind: 'main', cell: ({ reference, name }) => <bdi>{reference ?? name}</bdi> },
  {
    title: t('for'),
    kind: 'wide',
    cell: ({ name, quantity }) => <bdi>{quantity && quantity > 1 ? `${quantity} × ${name}` : name}</bdi>,
  },
  { title: t('status'), cell: (checkout) => <Badge {...CHECKOUT_STATUS[checkout.status]} more={partOf(checkout)} /> },
  {
    title: t('ends'),
    cell: ({ status, expiresAt, paidAt, closedAt }) =>
      status === 'OPEN' ? (
        rich('untilTime', { time: <Time at={expiresAt} /> })
      ) : (
        <Time at={paidAt ?? closedAt ?? expiresAt} />
      ),
  },
  {
    title: t('amount'),
    kind: 'money',
    cell: ({ amount, price, currency, assetCode }) => (
      <Money amount={price ?? amount!} code={assetCode} currency={currency} />
    ),
  },
];

export function Checkouts() {
  const [status, setStatus] = useParam('status');
  const [search] = useParam('search');
  const [reference] = useParam('reference');
  const [productId] = useParam('product');
  const canMake = useMay('checkouts.create');
  const known = STATUSES.find((each) => each === status);
  const wanted = {
    ...(known && { status: known }),
    ...(search && { search }),
    ...(reference && { reference }),
    ...(productId && { productId }),
  };
  const checkouts = useRead('checkouts.list', { page: usePage(), ...wanted });
  return (
    <Page
      title={t('checkouts')}
      actions={
        <>
          <Export of="checkouts" filters={wanted} />
          {canMake && (
            <LinkButton href="/checkouts/new" icon="plus">
              {t('newCheckout')}
            </LinkButton>
          )}
        </>
      }
    >
      <Tabs label={t('status')} options={TABS} value={known ?? ''} set={setStatus} />
      <div class="grid">
        <Search name="search" label={t('referenceMemoNameE')} />
        <Search name="reference" label={t('referenceExact')} />
        <ChoiceFilter name="product" label={t('product')} of="products.list" none={t('allProducts')} />
      </div>
      <List
        title={t('checkouts')}
        query={checkouts}
        columns={CHECKOUT_COLUMNS}
        href={({ id }) => `/checkouts/${id}`}
        empty={known || search || reference || productId ? t('noCheckoutsMatch') : t('noCheckoutsYetCreate')}
      />
    </Page>
  );
}
