/** TOIDs (SEP-35): 64-bit ids `ledger << 32 | transaction << 12 | operation`, as decimal text or BigInt, because they exceed 2^53. */

const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Null for any text but a canonical decimal id greater than 0. */
export function parseToid(text: string): bigint | null {
  if (!/^[1-9]\d{0,18}$/.test(text)) return null;
  const id = BigInt(text);
  return id <= MAX_INT64 ? id : null;
}

export const ledgerOf = (toid: bigint): number => Number(toid >> 32n);

/** The operation's 1-based place within its transaction; 0 is the transaction itself. */
export const operationOrderOf = (toid: bigint): number => Number(toid & 0xfffn);

/** The TOID of an operation's transaction. */
export const transactionOf = (toid: bigint): bigint => toid & ~0xfffn;

/** Ledgers, their transactions and their operations are numbered from 1. */
export const isOperation = (toid: bigint): boolean =>
  ledgerOf(toid) > 0 && ((toid >> 12n) & 0xf_ffffn) > 0n && operationOrderOf(toid) > 0;

/** The cursor after everything in `ledger`; Horizon turns `now` into this cursor of its newest ledger. */
export const cursorAfter = (ledger: number): string => ((BigInt(ledger) << 32n) | 0xffff_ffffn).toString();

/** The place of a paging token in its list: its TOID, and for effects (`<toid>-<order>`) their order within the operation. */
export function placeOf(token: string): readonly [toid: bigint, order: bigint] {
  const [toid = '', order = ''] = token.split('-');
  return [BigInt(toid), BigInt(order)];
}

export const isAfter = (place: readonly [bigint, bigint], other: readonly [bigint, bigint]): boolean =>
  place[0] === other[0] ? place[1] > other[1] : place[0] > other[0];

/** The ledger of a cursor or paging token. */
export const ledgerOfCursor = (cursor: string): number => ledgerOf(placeOf(cursor)[0]);
