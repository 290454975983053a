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
import { CHECKOUT_STATUS } from '../words.js';

type Checkout = Item<'checkouts.list'>;

const STATUSES = ['OPEN', 'PAID', 'EXPIRED', 'CANCELLED'] as const;
const TABS = [['', 'All'], ...STATUSES.map((status) => [status, CHECKOUT_STATUS[status].label] as const)] as const;

/** Marks checkouts that received money but not enough. */
export const partOf = ({ status, receivedAmount }: Checkout): string | undefined =>
  status !== 'PAID' && receivedAmount !== '0' ? 'partly paid' : undefined;

export const CHECKOUT_COLUMNS: readonly Column<Checkout>[] = [
  { title: 'Order', kind: 'main', cell: ({ reference, name }) => <bdi>{reference ?? name}</bdi> },
  {
    title: 'For',
    kind: 'wide',
    cell: ({ name, quantity }) => <bdi>{quantity && quantity > 1 ? `${quantity} × ${name}` : name}</bdi>,
  },
  { title: 'Status', cell: (checkout) => <Badge {...CHECKOUT_STATUS[checkout.status]} more={partOf(checkout)} /> },
  {
    title: 'Ends',
    cell: ({ status, expiresAt, paidAt, closedAt }) =>
      status === 'OPEN' ? (
        <>
          until <Time at={expiresAt} />
        </>
      ) : (
        <Time at={paidAt ?? closedAt ?? expiresAt} />
      ),
  },
  {
    title: 'Amount',
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
      title="Checkouts"
      actions={
        <>
          <Export of="checkouts" filters={wanted} />
          {canMake && (
            <LinkButton href="/checkouts/new" icon="plus">
              New checkout
            </LinkButton>
          )}
        </>
      }
    >
      <Tabs label="Status" options={TABS} value={known ?? ''} set={setStatus} />
      <div class="grid">
        <Search name="search" label="Reference, memo, name, e-mail or id" />
        <Search name="reference" label="Reference (exact)" />
        <ChoiceFilter name="product" label="Product" of="products.list" none="All products" />
      </div>
      <List
        title="Checkouts"
        query={checkouts}
        columns={CHECKOUT_COLUMNS}
        href={({ id }) => `/checkouts/${id}`}
        empty={
          known || search || reference || productId
            ? 'No checkouts match.'
            : 'No checkouts yet. Create one for an order.'
        }
      />
    </Page>
  );
}
