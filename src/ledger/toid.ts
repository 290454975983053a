/** TOIDs (SEP-35): 64-bit ids `ledger << 32 | transaction << 12 | operation`, always as decimal text or BigInt: they exceed 2^53. */

const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Null for anything but the canonical decimal text of an id greater than 0. */
export function parseToid(text: string): bigint | null {
  if (!/^[1-9]\d{0,18}$/.test(text)) return null;
  const id = BigInt(text);
  return id <= MAX_INT64 ? id : null;
}

export const ledgerOf = (toid: bigint): number => Number(toid >> 32n);

/** 1-based place of the operation within its transaction; 0 is the transaction itself. */
export const operationOrderOf = (toid: bigint): number => Number(toid & 0xfffn);

/** The transaction of an operation. */
export const transactionOf = (toid: bigint): bigint => toid & ~0xfffn;

/** Ledgers, transactions within them and operations within those count from 1. */
export const isOperation = (toid: bigint): boolean =>
  ledgerOf(toid) > 0 && ((toid >> 12n) & 0xf_ffffn) > 0n && operationOrderOf(toid) > 0;

/** The cursor behind everything in `ledger`; `now` becomes this, with Horizon's newest ledger. */
export const cursorAfter = (ledger: number): string => ((BigInt(ledger) << 32n) | 0xffff_ffffn).toString();

/** Where a paging token lies in its list: its TOID, and for `<toid>-<order>` of effects their order within the operation. */
export function placeOf(token: string): readonly [toid: bigint, order: bigint] {
  const [toid = '', order = ''] = token.split('-');
  return [BigInt(toid), BigInt(order)];
}

export const isAfter = (place: readonly [bigint, bigint], other: readonly [bigint, bigint]): boolean =>
  place[0] === other[0] ? place[1] > other[1] : place[0] > other[0];

/** The ledger that a cursor or paging token lies in. */
export const ledgerOfCursor = (cursor: string): number => ledgerOf(placeOf(cursor)[0]);
