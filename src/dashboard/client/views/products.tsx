/** The list of products. */
import { usePage, useParam } from '../address.js';
import { type Item, useRead, useWrite } from '../api.js';
import { Toggle, useCanWrite } from '../parts/act.js';
import { LinkButton, Money } from '../parts/bits.js';
import { Search, Select } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t, wholeNumber } from '../texts/texts.js';

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
    rich('fromAmount', { amount: <Money amount={minAmount} code={assetCode} currency={currency} /> })
  ) : (
    <span class="money">{rich('anyAmount', { asset: <span class="code">{assetCode}</span> })}</span>
  );

export function ProductSwitch({ product: { id, name, active } }: { product: Product }) {
  const { mutateAsync } = useWrite('products.update');
  return <Toggle what={t('sellName', { name })} isOn={active} set={(isOn) => mutateAsync({ id, active: isOn })} />;
}

const COLUMNS: readonly Column<Product>[] = [
  { title: t('name'), kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: t('wallet'), kind: 'wide', cell: ({ wallet }) => <bdi>{wallet.name}</bdi> },
  { title: t('links'), kind: 'wide', cell: ({ paymentLinkCount }) => wholeNumber(paymentLinkCount) },
  { title: t('sold'), cell: (product) => <ProductSwitch product={product} /> },
  { title: t('price'), kind: 'money', cell: (product) => <Price {...product} /> },
];

const STATES = [
  ['', t('onAndOff')],
  ['true', t('on')],
  ['false', t('off')],
] as const;

const ORDERS = [
  ['', t('newestFirst')],
  ['name', t('byName')],
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
      title={t('products')}
      actions={
        canWrite && (
          <LinkButton href="/products/new" icon="plus">
            {t('newProduct')}
          </LinkButton>
        )
      }
    >
      <div class="grid">
        <Search name="search" label={t('searchName')} />
        <Select name="active" label={t('state')} options={STATES} />
        <Select name="order" label={t('sortedBy')} options={ORDERS} />
      </div>
      <List
        title={t('products')}
        query={products}
        columns={COLUMNS}
        href={({ id }) => `/products/${id}`}
        empty={search || active ? t('noProductsMatch') : t('noProductsYetCreate')}
      />
    </Page>
  );
}
