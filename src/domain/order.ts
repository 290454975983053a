/** What an order of several lines comes to: lines, discount, tax, tip, total. Pure and exact, on
 *  BigInt: amounts are in 10^-7 units of the asset or the currency, and what is rounded is rounded
 *  half up to the smallest unit, a stroop or the currency's minor digit.
 *
 *  A discount is spread over the lines that it takes from, in proportion to their totals, by
 *  largest remainder: the shares add up to it, and no line gives more than it costs. Tax is of a
 *  line's total less its share. */
import { minorDigits } from '../../contracts/currencies.js';
import { formatAmount, parseAmount } from './amount.js';

export interface OrderLine {
  /** The price for one. */
  price: bigint;
  quantity: bigint;
  /** In thousandths of a percent; null where the line has no tax. */
  tax: bigint | null;
}

/** Either a percentage, in hundredths of a percent, or an amount. */
export type Discount = { percent: bigint } | { amount: bigint };

export interface Order {
  lines: readonly OrderLine[];
  /** Prices contain the tax. */
  taxIncluded: boolean;
  discount: Discount | null;
  /** Whether the discount takes from a line; without it, from all. */
  takesFrom?: (index: number) => boolean;
  /** An amount, or a percentage of the subtotal less the discount, in hundredths of a percent. */
  tip: bigint | { percent: bigint };
  /** Null for prices in the asset. */
  currency: string | null;
}

export interface OrderTotals {
  /** `net` and `tax` are what the line's turnover is made of, after its share of the discount. */
  lines: { total: bigint; net: bigint; tax: bigint }[];
  subtotal: bigint;
  discount: bigint;
  tax: bigint;
  tip: bigint;
  total: bigint;
}

const ALL_PERCENT = 100_000n;
const ALL_DISCOUNT = 10_000n;
const AMOUNT_SCALE = 7;

/** The smallest unit, in 10^-7 units. */
export const unitOf = (currency: string | null): bigint =>
  currency === null ? 1n : 10n ** BigInt(AMOUNT_SCALE - minorDigits(currency));

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, each) => all + each, 0n);

/** `dividend / divisor` in whole units, rounded half up. */
const rounded = (dividend: bigint, divisor: bigint, unit: bigint): bigint =>
  ((2n * dividend + divisor * unit) / (2n * divisor * unit)) * unit;

export function totalsOf({ lines, taxIncluded, discount, takesFrom = () => true, tip, currency }: Order): OrderTotals {
  const unit = unitOf(currency);
  const totals = lines.map(({ price, quantity }) => price * quantity);
  const bases = totals.map((total, index) => (takesFrom(index) ? total : 0n));
  const taken = discount === null ? 0n : discountOf(discount, sum(bases), unit);
  const shares = spread(taken, bases, unit);
  const taxed = lines.map(({ tax: percent }, index) => {
    const total = totals[index]!;
    const left = total - shares[index]!;
    if (percent === null) return { total, net: left, tax: 0n };
    if (!taxIncluded) return { total, net: left, tax: rounded(left * percent, ALL_PERCENT, unit) };
    const tax = rounded(left * percent, ALL_PERCENT + percent, unit);
    return { total, net: left - tax, tax };
  });
  const subtotal = sum(totals);
  const given = typeof tip === 'bigint' ? tip : rounded((subtotal - taken) * tip.percent, ALL_DISCOUNT, unit);
  return {
    lines: taxed,
    subtotal,
    discount: taken,
    tax: sum(taxed.map(({ tax }) => tax)),
    tip: given,
    total: sum(taxed.map(({ net, tax }) => net + tax)) + given,
  };
}

/** Never more than it is taken from. */
function discountOf(discount: Discount, base: bigint, unit: bigint): bigint {
  const asked = 'amount' in discount ? discount.amount : rounded(base * discount.percent, ALL_DISCOUNT, unit);
  return asked < base ? asked : base;
}

/** Splits an amount in proportion to the bases, in whole units. What is left over goes to the
 *  largest remainders, of equal ones to the earlier. */
function spread(amount: bigint, bases: readonly bigint[], unit: bigint): bigint[] {
  const whole = sum(bases);
  if (amount === 0n || whole === 0n) return bases.map(() => 0n);
  const parts = bases.map((base, index) => {
    const exact = amount * base;
    const share = (exact / (whole * unit)) * unit;
    return { index, share, remainder: exact - share * whole };
  });
  let left = (amount - sum(parts.map(({ share }) => share))) / unit;
  const shares = parts.map(({ share }) => share);
  const largestFirst = parts.toSorted((a, b) =>
    a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1,
  );
  for (const { index } of largestFirst) {
    if (left === 0n) break;
    shares[index]! += unit;
    left -= 1n;
  }
  return shares;
}

/** `"19.5"` with 3 decimals → `19500n`; percentages were checked by the contract. */
export function parsePercent(text: string, decimals: number): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

export const TOLERANCE_DECIMALS = 2;

/** Canonical: `"19.50"` → `"19.5"`. */
export function canonicalPercent(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** A line as it is stored. Amounts in canonical decimal text, in the unit of the order's price. */
export interface StoredLine {
  productId: string | null;
  name: string;
  quantity: number;
  /** The price for one. */
  price: string;
  /** Canonical. Missing where no tax was given. */
  taxPercent?: string;
  total: string;
  net: string;
  tax: string;
}

export interface StoredOrder {
  lines: StoredLine[];
  taxIncluded: boolean;
  /** Missing for none. */
  discount?: { name: string | null; amount: string };
  /** Missing for none. */
  tip?: string;
  /** What it comes to: `price` in a currency, else `amount`. */
  amount: string | null;
  price?: string;
}

export type OrderSums = ReturnType<typeof sumsOf>;

/** A stored order's sums. `taxes` by their percentage, the greatest first. */
export function sumsOf({ lines, taxIncluded, discount, tip, amount, price }: StoredOrder) {
  const taxes = new Map<string, bigint>();
  for (const { taxPercent, tax } of lines)
    if (taxPercent !== undefined) taxes.set(taxPercent, (taxes.get(taxPercent) ?? 0n) + parseAmount(tax)!);
  return {
    ...{ lines, taxIncluded },
    subtotal: formatAmount(sum(lines.map(({ total }) => parseAmount(total)!))),
    discount: discount ?? null,
    tax: formatAmount(sum([...taxes.values()])),
    taxes: [...taxes]
      .map(([taxPercent, tax]) => ({ taxPercent, tax: formatAmount(tax) }))
      .sort((a, b) => Number(b.taxPercent) - Number(a.taxPercent)),
    tip: tip ?? '0',
    total: (price ?? amount)!,
  };
}
