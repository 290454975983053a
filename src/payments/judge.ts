/** Judge: decides the outcome of money for a payable. Pure. The outcomes are in
 *  `domain/outcomes.ts`, the rules for checkouts in `domain/checkout.ts`. */

import type { Network } from '../../contracts/networks.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../domain/amount.js';
import { type Asset, assetOf, sameAsset } from '../domain/asset.js';
import { judgeForCheckout } from '../domain/checkout.js';
import type { Later } from '../domain/later.js';
import { parsePercent, TOLERANCE_DECIMALS } from '../domain/order.js';
import { type Verdict, verdictOf } from '../domain/outcomes.js';
import { enoughFor, measure, type PaidBy, type Value } from '../domain/pricing.js';
import { formatRate, type Pair, worthOf } from '../domain/rate.js';
import type { ShownRate } from '../domain/shown-rates.js';
import { type LedgerClose, type LinkTerms, mayBeInForce, type ProductTerms } from '../domain/terms.js';
import { wordsOf } from '../kit/text-search.js';
import type { StoredTerms } from '../selling/index.js';
import { leftOf, needsDecision, toCheckoutState, withState } from './checkout.js';
import type { CheckoutPayable, LinkPayable, Payable } from './payable.js';
import type { PaymentDoc, StoredValue } from './payment-document.js';
import type { JudgedFields } from './payment-store.js';

/** Received money. */
interface Paid extends LedgerClose {
  operationId: string;
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
}

/** The rates that a payment of the account may have used; empty when none is known. */
type RatesFor = (pair: Pair) => readonly ShownRate[];

interface Judgement<P extends Payable = Payable> {
  verdict: Verdict;
  /** The checkout after the payment. */
  payable: P;
}

/** Judges by the terms in force when the ledger closed.
 *  @param later null for a payment that is being assigned, which is judged by what is due at
 *  that moment
 *  @param now when the payment is judged */
export function judge(payable: Payable, paid: Paid, later: Later | null, ratesFor: RatesFor, now: Date): Judgement {
  return payable.link
    ? { verdict: judgeForLink(payable, paid, ratesFor), payable }
    : judgeForStored(payable, paid, later, ratesFor, now);
}

/** Judges what is left of a payment, by what is due at the moment of assignment: nothing once the
 *  checkout was accepted; otherwise refunded parts are due again. */
export function judgeAssigned(payable: Payable, payment: PaymentDoc, ratesFor: RatesFor, now: Date): Judgement {
  const whole = parseAmount(payment.amount)!;
  const paid: Paid = {
    ledger: payment.ledger,
    closedAt: payment.ledgerClosedAt,
    operationId: payment.operationId,
    asset: assetOf(payment),
    amount: leftOf(payment),
  };
  const judged = payable.link
    ? judge(payable, paid, null, ratesFor, now)
    : judgeForStoredNow(payable, paid, ratesFor, now);
  const back = whole - paid.amount;
  return back === 0n ? judged : { ...judged, verdict: ofWhole(judged.verdict, whole, back) };
}

function judgeForStoredNow(payable: CheckoutPayable, paid: Paid, ratesFor: RatesFor, now: Date): Judgement {
  const { returned = [] } = payable.checkout;
  const judged = judgeForStored(withCheckout(payable, { returned: [] }), paid, null, ratesFor, now);
  return { ...judged, payable: withCheckout(judged.payable, { returned }) };
}

/** The verdict on what is left of a payment, for the whole payment: refunds are subtracted from its
 *  value and its excess where these are used. */
function ofWhole(verdict: Verdict, whole: bigint, back: bigint): Verdict {
  const { value, excessAmount } = verdict;
  return {
    ...verdict,
    value: value && { ...value, amount: worthOf(whole, value.rate, value.currency) },
    excessAmount: excessAmount && excessAmount + back,
  };
}

function judgeForStored(
  payable: CheckoutPayable,
  paid: Paid,
  later: Later | null,
  ratesFor: RatesFor,
  now: Date,
): Judgement<CheckoutPayable> {
  const { checkout, product, wallet } = payable;
  const productActive = product === null || mayBeInForce(product.history, paid).some(({ active }) => active);
  const by = paidBy(checkout, wallet.network, ratesFor);
  const { verdict, after } = judgeForCheckout(toCheckoutState(checkout), { ...paid, by, later, productActive });
  const left = { ...withState(checkout, after, now), paymentCount: checkout.paymentCount + 1 };
  return { verdict, payable: withCheckout(payable, left) };
}

/** @param priced a product's terms, or a checkout */
function paidBy(
  priced: { currency?: string | null; assetCode: string; assetIssuer: string | null },
  network: Network,
  ratesFor: RatesFor,
): PaidBy | 'no_rate' {
  const { currency } = priced;
  if (!currency) return null;
  const rates = ratesFor({ currency, asset: assetOf(priced), network });
  return rates.length === 0 ? 'no_rate' : { currency, rates };
}

const withCheckout = (payable: CheckoutPayable, changes: Partial<CheckoutPayable['checkout']>): CheckoutPayable => ({
  ...payable,
  checkout: { ...payable.checkout, ...changes },
});

/** If several terms may have been in force, by the best ones for the payer. */
export function judgeForLink(
  {
    link,
    product,
    wallet,
  }: { [Part in 'link' | 'product']: Pick<LinkPayable[Part], 'history'> } & {
    wallet: Pick<LinkPayable['wallet'], 'network'>;
  },
  paid: LedgerClose & Pick<Paid, 'asset' | 'amount'>,
  ratesFor: RatesFor,
): Verdict {
  const versions = product.history.map(({ from, terms, network = wallet.network }) => ({
    from,
    terms: { terms, network },
  }));
  const products = mayBeInForce(versions, paid).map(({ terms, network }) => ({
    product: toProductTerms(terms),
    by: paidBy(terms, network, ratesFor),
  }));
  const judged = mayBeInForce(link.history, paid).flatMap((linkTerms) =>
    products.map((terms) => judgeByTerms(linkTerms, terms.product, { ...paid, by: terms.by })),
  );
  return judged.reduce((best, each) => (isBetter(each, best) ? each : best));
}

/** @throws RangeError for a FIXED product without a price, which the contracts do not allow */
export function judgeByTerms(
  link: LinkTerms,
  product: ProductTerms,
  { asset, amount, closedAt, by = null }: Pick<Paid, 'asset' | 'amount' | 'closedAt'> & { by?: PaidBy | 'no_rate' },
): Verdict {
  const fixed = product.priceType === 'FIXED';
  const due = fixed ? product.price : product.minAmount;
  if (fixed && due === null) throw new RangeError('a FIXED product has a price');
  const refusal = refusalOf(link, product, { asset, closedAt });
  if (by === 'no_rate') return verdictOf(refusal ?? 'no_rate', null);

  const { asked, side, value } = measure(by, due ?? 0n, amount);
  const expected = due === null ? null : asked.least;
  if (refusal) return verdictOf(refusal, expected, { value: sameAsset(asset, product.asset) ? value : null });
  if (side === 'short') {
    const shortfall = asked.least - amount;
    const enough = enoughFor(due!, product.tolerance, by?.currency ?? null);
    if (measure(by, enough, amount).side !== 'short')
      return verdictOf('within_tolerance', expected, { shortfall, value });
    return verdictOf(fixed ? 'below_price' : 'below_minimum', expected, { shortfall, value });
  }
  if (fixed && side === 'over') {
    return verdictOf('overpaid', expected, { excess: amount - asked.most, value });
  }
  return verdictOf('enough', expected, { value });
}

/** Rules in order: the first that applies decides. */
function refusalOf(link: LinkTerms, product: ProductTerms, { asset, closedAt }: Pick<Paid, 'asset' | 'closedAt'>) {
  if (!link.active) return 'link_inactive';
  if (link.endsAt && closedAt >= link.endsAt) return 'link_ended';
  if (link.takesOrders) return 'order_needed';
  if (!product.active) return 'product_inactive';
  return sameAsset(asset, product.asset) ? null : 'wrong_asset';
}

/** From the worst for the payer to the best. */
const RANKS = ['UNMATCHED', 'REJECTED', 'UNDERPAID', 'COMPLETED'];

/** Better for the payer: accepts most of the payment, then leaves least to pay, then leaves most
 *  to refund. */
function isBetter(one: Verdict, other: Verdict): boolean {
  const rank = RANKS.indexOf(one.status) - RANKS.indexOf(other.status);
  if (rank !== 0) return rank > 0;
  const less = (other.shortfallAmount ?? 0n) - (one.shortfallAmount ?? 0n);
  return less === 0n ? (one.excessAmount ?? 0n) > (other.excessAmount ?? 0n) : less > 0n;
}

const toStroops = (amount: string | null) => (amount === null ? null : parseAmount(amount));
/** Null for what no payment can be: more than the ledger can hold. */
const toText = (stroops: bigint | null) => (stroops === null || stroops > MAX_STROOPS ? null : formatAmount(stroops));

const toProductTerms = (terms: StoredTerms): ProductTerms => ({
  active: terms.active,
  asset: assetOf(terms),
  priceType: terms.priceType,
  price: toStroops(terms.price),
  minAmount: toStroops(terms.minAmount),
  tolerance: parsePercent(terms.tolerancePercent, TOLERANCE_DECIMALS),
});

const wordsOfPayment = (memo: string | null, payable: Payable | null): string[] => {
  const { link = null, checkout = null, product = null } = payable ?? {};
  const told = [checkout?.metadata ?? '{}', checkout?.answers ?? '{}'];
  return wordsOf([
    memo,
    checkout?.reference,
    checkout?.name,
    checkout?.customerEmail,
    link?.name,
    product?.name,
    ...told.flatMap((json) => Object.values(JSON.parse(json) as Record<string, string>)),
  ]);
};

/** The judgement's fields of the stored payment.
 *  @param payment its amount, memo and refunds.
 *  @param payable null for a payment that belongs to nothing */
export const toJudgedFields = (
  verdict: Verdict,
  { amount, refundedAmount = '0', memo }: Pick<PaymentDoc, 'amount' | 'refundedAmount' | 'memo'>,
  payable: Payable | null,
): JudgedFields => ({
  status: verdict.status,
  reason: verdict.reason,
  expectedAmount: toText(verdict.expectedAmount),
  excessAmount: toText(verdict.excessAmount),
  shortfallAmount: toText(verdict.shortfallAmount),
  paymentLinkId: payable?.link?._id ?? null,
  checkoutId: payable?.checkout?._id ?? null,
  productId: payable?.product?._id ?? null,
  needsDecision: needsDecision({ ...verdict, amount, refundedAmount }, payable?.checkout ?? null),
  ...(verdict.value && { value: toStoredValue(verdict.value) }),
  words: wordsOfPayment(memo, payable),
  ...(payable?.checkout?.soldBy === undefined ? {} : { soldBy: payable.checkout.soldBy }),
  // It arrives while its accepted checkout has earlier payments to complete.
  ...(payable?.checkout?.completedUpTo === undefined ? {} : { afterAcceptance: true }),
});

export const toStoredValue = ({ currency, amount, rate, at, source }: Value): StoredValue => ({
  currency,
  amount: formatAmount(amount),
  rate: formatRate(rate),
  rateAt: at,
  source,
});
