/** A basket at the till: products as tiles with a search, how many of each, discount, tax and tip.
 *  It is added up as the service adds it up. */
import { useState } from 'preact/hooks';
import { formatAmount, parseAmount } from '../../../domain/amount.js';
import { type Discount, type OrderTotals, parsePercent, totalsOf } from '../../../domain/order.js';
import { useParam } from '../address.js';
import { failureOf, type Item, useRead } from '../api.js';
import { priceText, readAmount } from '../format.js';
import { useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import { type SaleEntry, useCharge, useRested } from './pos-sale.js';

type Product = Item<'products.list'>;

interface Line {
  product: Product;
  quantity: number;
}

interface Off {
  typed: string;
  isPercent: boolean;
}

const NO_DISCOUNT: Off = { typed: '', isPercent: true };
const MOST_LINES = 50;
const PERCENT_DECIMALS = 2;
const TAX_DECIMALS = 3;

/** One basket is paid into one wallet, in one asset and at prices of one kind. */
const kindOf = ({ wallet, assetCode, assetIssuer, currency }: Product): string =>
  [wallet.id, assetCode, assetIssuer, currency].join(' ');

/** Null for what is no percentage. */
const percentOf = (typed: string, decimals: number): bigint | null =>
  new RegExp(`^(100|\\d{1,2}(\\.\\d{1,${decimals}})?)$`).test(typed) ? parsePercent(typed, decimals) : null;

/** @returns null without a discount; `doubtful` for what cannot be read */
function discountOf({ typed, isPercent }: Off, unit: string): Discount | null | 'doubtful' {
  if (typed.trim() === '') return null;
  const read = readAmount(typed, isPercent ? '%' : unit);
  if (read.state !== 'number') return 'doubtful';
  if (!isPercent) return { amount: parseAmount(read.amount) ?? 0n };
  const percent = percentOf(read.amount, PERCENT_DECIMALS);
  return percent === null ? 'doubtful' : { percent };
}

/** A tax in the prices, of all lines: `''` for none. @returns null for what cannot be read */
function taxOf(typed: string): string | null {
  if (typed.trim() === '') return '';
  const read = readAmount(typed, '%');
  return read.state === 'number' && percentOf(read.amount, TAX_DECIMALS) !== null ? read.amount : null;
}

/** How many of a product are in the basket, changed by this; none of them without a product. */
const changed = (lines: readonly Line[], product: Product, by: number): Line[] =>
  lines.some((line) => line.product.id === product.id)
    ? lines.flatMap((line) =>
        line.product.id !== product.id ? line : line.quantity + by > 0 ? { product, quantity: line.quantity + by } : [],
      )
    : [...lines, { product, quantity: by }];

const countIn = (lines: readonly Line[], { id }: Product): number =>
  lines.find(({ product }) => product.id === id)?.quantity ?? 0;

export function Basket({ begun, begin, isOnline }: SaleEntry) {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [off, setOff] = useState(NO_DISCOUNT);
  const [tip, setTip] = useState('');
  const [note, setNote] = useState('');
  const [taxTyped, setTax] = useParam('tax');
  const tips = useRead('account.get', {}).data?.tipPercents ?? [];
  const sale = useCharge({ begun, begin });
  const add = (product: Product, by: number) => setLines((before) => changed(before, product, by));
  const first = lines[0]?.product;
  const discount = discountOf(off, first?.currency ?? first?.assetCode ?? '');
  const tax = taxOf(taxTyped);
  const totals = first && discount !== 'doubtful' ? added(lines, first, { discount, tip }) : null;
  const canCharge = isOnline && totals !== null && totals.total > 0n && tax !== null && !sale.isPending;
  const charge = useOnce(async () => {
    if (!canCharge || !first || !totals || discount === 'doubtful') return;
    await sale.charge({
      ...{ walletId: first.wallet.id, assetCode: first.assetCode, assetIssuer: first.assetIssuer },
      ...(first.currency && { currency: first.currency }),
      ...(note.trim() && { name: note.trim() }),
      lines: lines.map(({ product, quantity }) => ({
        ...{ productId: product.id, quantity },
        ...(tax && { taxPercent: tax }),
      })),
      ...(discount && { discount: sent(discount) }),
      tip: formatAmount(totals.tip),
    });
  });
  return (
    <>
      <Tiles lines={lines} add={add} />
      <Lines lines={lines} add={add} />
      {first && (
        <>
          <Extras {...{ first, off, setOff, tips, tip, setTip, taxTyped, setTax }} />
          <input
            class="till-note"
            aria-label={t('note')}
            placeholder={t('note')}
            maxLength={120}
            value={note}
            onInput={({ currentTarget }) => setNote(currentTarget.value)}
          />
          <Sums totals={totals} product={first} />
        </>
      )}
      {(discount === 'doubtful' || tax === null) && (
        <p class="problem" role="alert">
          {t('cannotReadNumber')}
        </p>
      )}
      {sale.error && (
        <p class="problem" role="alert">
          {failureOf(sale.error).message}
        </p>
      )}
      <button type="button" class="till-main" aria-disabled={!canCharge} onClick={() => void charge()}>
        {t('charge')}
      </button>
    </>
  );
}

const sent = (discount: Discount) =>
  'amount' in discount
    ? { amount: formatAmount(discount.amount) }
    : { percent: `${discount.percent / 100n}.${(discount.percent % 100n).toString().padStart(2, '0')}` };

const added = (
  lines: readonly Line[],
  { currency }: Product,
  { discount, tip }: { discount: Discount | null; tip: string },
): OrderTotals =>
  totalsOf({
    lines: lines.map(({ product, quantity }) => ({
      price: parseAmount(product.price!)!,
      quantity: BigInt(quantity),
      tax: null,
    })),
    // The tax is contained in the prices.
    taxIncluded: true,
    discount,
    tip: { percent: tip === '' ? 0n : parsePercent(tip, PERCENT_DECIMALS) },
    currency,
  });

/** The products of one search; of those that do not go with the basket none can be taken. */
function Tiles({ lines, add }: { lines: readonly Line[]; add: (product: Product, by: number) => void }) {
  const [typed, setTyped] = useState('');
  const search = useRested(typed.trim());
  const found = useRead('products.list', {
    ...{ active: true, pageSize: 100, sortBy: 'name', sortOrder: 'asc' },
    ...(search && { search }),
  });
  const products = (found.data?.items ?? []).filter(({ priceType }) => priceType === 'FIXED');
  const kind = lines[0] && kindOf(lines[0].product);
  const mayTake = (product: Product) =>
    (kind === undefined || kindOf(product) === kind) &&
    (product.stock === null || countIn(lines, product) < product.stock) &&
    (countIn(lines, product) > 0 || lines.length < MOST_LINES);
  return (
    <>
      <input
        type="search"
        class="till-note"
        aria-label={t('searchProduct')}
        placeholder={t('searchProduct')}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      {found.error && <p class="problem">{failureOf(found.error).message}</p>}
      {found.data && products.length === 0 && <p role="status">{t('noProductsFixedPrice')}</p>}
      <ul class="till-tiles" aria-label={t('products')}>
        {products.map((product) => (
          <li key={product.id}>
            <button
              type="button"
              class="plain"
              aria-disabled={!mayTake(product)}
              onClick={() => mayTake(product) && add(product, 1)}
            >
              <bdi>{product.name}</bdi>
              <span class="money">{priceText(product.price!, product)}</span>
              {product.stock !== null && (
                <span class="hint">{product.stock === 0 ? t('soldOut') : t('nLeft', { n: product.stock })}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Lines({ lines, add }: { lines: readonly Line[]; add: (product: Product, by: number) => void }) {
  if (lines.length === 0) return <p role="status">{t('tapProductBegin')}</p>;
  return (
    <ul class="till-lines" aria-label={t('basket')}>
      {lines.map(({ product, quantity }) => (
        <li key={product.id}>
          <span>
            {quantity} × <bdi>{product.name}</bdi>
          </span>
          <span class="money">{priceText(formatAmount(parseAmount(product.price!)! * BigInt(quantity)), product)}</span>
          <button
            type="button"
            class="plain"
            aria-label={t('oneLess', { name: product.name })}
            onClick={() => add(product, -1)}
          >
            −
          </button>
          <button
            type="button"
            class="plain"
            aria-label={t('oneMore', { name: product.name })}
            aria-disabled={product.stock !== null && quantity >= product.stock}
            onClick={() => (product.stock === null || quantity < product.stock) && add(product, 1)}
          >
            +
          </button>
        </li>
      ))}
    </ul>
  );
}

interface ExtrasProps {
  first: Product;
  off: Off;
  setOff: (off: Off) => void;
  tips: readonly string[];
  tip: string;
  setTip: (tip: string) => void;
  taxTyped: string;
  setTax: (tax: string) => void;
}

/** Discount, tax and tip of the whole basket. */
function Extras({ first, off, setOff, tips, tip, setTip, taxTyped, setTax }: ExtrasProps) {
  return (
    <>
      <div class="till-head">
        <input
          inputMode="decimal"
          aria-label={t('discount')}
          placeholder={t('discount')}
          value={off.typed}
          onInput={({ currentTarget }) => setOff({ ...off, typed: currentTarget.value })}
        />
        <select
          aria-label={t('discountIn')}
          value={off.isPercent ? 'percent' : 'amount'}
          onChange={({ currentTarget }) => setOff({ ...off, isPercent: currentTarget.value === 'percent' })}
        >
          <option value="percent">%</option>
          <option value="amount">{first.currency ?? first.assetCode}</option>
        </select>
        <input
          inputMode="decimal"
          aria-label={t('taxInPrices')}
          placeholder={t('taxInPrices')}
          value={taxTyped}
          onInput={({ currentTarget }) => setTax(currentTarget.value)}
        />
      </div>
      {tips.length > 0 && (
        <fieldset class="tabs">
          <legend class="unseen">{t('tip')}</legend>
          {['', ...tips].map((each) => (
            <button type="button" key={each} aria-pressed={each === tip} onClick={() => setTip(each)}>
              {each === '' ? t('noTip') : t('tipPercent', { percent: each })}
            </button>
          ))}
        </fieldset>
      )}
    </>
  );
}

function Sums({ totals, product }: { totals: OrderTotals | null; product: Product }) {
  const shown = (stroops: bigint) => priceText(formatAmount(stroops), product);
  return (
    <output class="till-amount" aria-label={t('total')}>
      {totals && shown(totals.total)}
      {totals && (totals.discount > 0n || totals.tip > 0n) && (
        <span class="till-beside">
          {[
            totals.discount > 0n && `${t('discount')} −${shown(totals.discount)}`,
            totals.tip > 0n && `${t('tip')} ${shown(totals.tip)}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
      )}
    </output>
  );
}
