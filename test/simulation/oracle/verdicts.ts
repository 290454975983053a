/** How a payment must be judged: the rules of the service, written a second time and in
 *  another way. */
import type { Paid } from '../chain.js';
import { type Knowledge, type LinkState, possible, type Terms } from '../knowledge.js';

export const stroops = (text: string | null): bigint | null => {
  if (text === null) return null;
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole! + fraction.padEnd(7, '0'));
};
const text = (amount: bigint): string => {
  const digits = amount.toString().padStart(8, '0');
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`.replace(/\.?0+$/, '');
};

/** How much less than this may be paid, in whole units. */
export const slackOf = (amount: bigint, tolerancePercent: string, unit = 1n): bigint =>
  ((amount * stroops(tolerancePercent)!) / (1_000_000_000n * unit)) * unit;

type Verdict = [
  status: string,
  reason: string | null,
  expected: string | null,
  excess: string | null,
  short: string | null,
];

/** Why a link takes nothing at that time. */
export function refusalBy({ active, endsMs, takesOrders }: LinkState, closedMs: number): string | null {
  if (!active) return 'link_inactive';
  if (endsMs !== null && closedMs >= endsMs) return 'link_ended';
  return takesOrders ? 'order_needed' : null;
}

function judge(refusal: string | null, terms: Terms, paid: Pick<Paid, 'asset' | 'stroops'>, gone: bigint): Verdict {
  const left = paid.stroops - gone;
  const isFixed = terms.priceType === 'FIXED';
  const expected = stroops(isFixed ? terms.price : terms.minAmount);
  const shown = expected === null ? null : text(expected);
  if (refusal !== null) return ['REJECTED', refusal, shown, null, null];
  if (!terms.active) return ['REJECTED', 'product_inactive', shown, null, null];
  if (paid.asset.code !== terms.assetCode || paid.asset.issuer !== terms.assetIssuer)
    return ['REJECTED', 'wrong_asset', shown, null, null];
  if (expected !== null && left < expected) {
    if (expected - left <= slackOf(expected, terms.tolerancePercent))
      return ['COMPLETED', 'within_tolerance', shown, null, text(expected - left)];
    const reason = isFixed ? 'below_price' : 'below_minimum';
    return ['UNDERPAID', reason, shown, null, text(expected - left)];
  }
  if (isFixed && left > expected!) return ['COMPLETED', 'overpaid', shown, text(paid.stroops - expected!), null];
  return ['COMPLETED', null, shown, null, null];
}

/** The verdicts that a payment may have, as JSON. More than one when something changed while its
 *  ledger closed. @param linkId null for none.
 *  @param back what was sent back of an assigned payment, in order: some of it before
 *  the assignment */
export function allowedVerdicts(
  paid: Paid,
  linkId: string | null,
  known: Knowledge,
  back: readonly bigint[] = [],
): string[] {
  if (linkId === null) {
    // An id that names no link is unknown, too.
    const reason = paid.memo.type === 'none' || paid.memo.text === '' ? 'no_memo' : 'unknown_memo';
    return [JSON.stringify(['UNMATCHED', reason, null, null, null])];
  }
  const link = known.links.get(linkId)!;
  const product = known.products.get(link.productId)!;
  return possible(link.terms, paid.closedMs).flatMap((state) =>
    possible(product.terms, paid.closedMs).flatMap((terms) =>
      [0, ...back.keys()].map((_each, count) => {
        const gone = back.slice(0, count).reduce((sum, each) => sum + each, 0n);
        return JSON.stringify(judge(refusalBy(state, paid.closedMs), terms, paid, gone));
      }),
    ),
  );
}

/** The link that a payment's memo names, within the account that owns the wallet. */
export function linkOf(paid: Paid, accountId: string, known: Knowledge): string | null {
  if (paid.memo.type !== 'text') return null;
  const memo = paid.memo.text!.trim().toUpperCase();
  for (const [id, link] of known.links) if (link.memo === memo && link.accountId === accountId) return id;
  return null;
}
