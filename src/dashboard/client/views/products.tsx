/** The list of products. */
import { usePage, useParam } from '../address.js';
import { type Item, useRead, useWrite } from '../api.js';
import { Toggle, useCanWrite } from '../parts/act.js';
import { LinkButton, Money } from '../parts/bits.js';
import { Search, Select } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';

type Product = Item<'products.list'>;

export const Price = ({
  priceType,
  price,
  minAmount,
  assetCode,
  currency,
}: Pick<Product, 'priceType' | 'price' | 'assetCode' | 'currency'> & { minAmount?: string | null }) =>
  priceType === 'FIXED' ? (
    <Money amount={price!} code={assetCode} currency={currency} />
  ) : minAmount ? (
    <>
      from <Money amount={minAmount} code={assetCode} currency={currency} />
    </>
  ) : (
    <span class="money">
      any amount <span class="code">{assetCode}</span>
    </span>
  );

export function ProductSwitch({ product: { id, name, active } }: { product: Product }) {
  const { mutateAsync } = useWrite('products.update');
  return <Toggle what={`Sell ${name}`} isOn={active} set={(isOn) => mutateAsync({ id, active: isOn })} />;
}

const COLUMNS: readonly Column<Product>[] = [
  { title: 'Name', kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: 'Wallet', kind: 'wide', cell: ({ wallet }) => <bdi>{wallet.name}</bdi> },
  { title: 'Links', kind: 'wide', cell: ({ paymentLinkCount }) => paymentLinkCount.toLocaleString('en') },
  { title: 'Sold', cell: (product) => <ProductSwitch product={product} /> },
  { title: 'Price', kind: 'money', cell: (product) => <Price {...product} /> },
];

const STATES = [
  ['', 'On and off'],
  ['true', 'On'],
  ['false', 'Off'],
] as const;

const ORDERS = [
  ['', 'Newest first'],
  ['name', 'By name'],
] as const;

export function Products() {
  const [search] = useParam('search');
  const [active] = useParam('active');
  const [order] = useParam('order');
  const canWrite = useCanWrite();
  const products = useRead('products.list', {
    page: usePage(),
    ...(search && { search }),
    ...((active === 'true' || active === 'false') && { active: active === 'true' }),
    ...(order === 'name' && { sortBy: 'name', sortOrder: 'asc' }),
  });
  return (
    <Page
      title="Products"
      actions={
        canWrite && (
          <LinkButton href="/products/new" icon="plus">
            New product
          </LinkButton>
        )
      }
    >
      <div class="grid">
        <Search name="search" label="Search by name" />
        <Select name="active" label="State" options={STATES} />
        <Select name="order" label="Order" options={ORDERS} />
      </div>
      <List
        title="Products"
        query={products}
        columns={COLUMNS}
        href={({ id }) => `/products/${id}`}
        empty={search || active ? 'No products match.' : 'No products yet. Create the first one.'}
      />
    </Page>
  );
}
