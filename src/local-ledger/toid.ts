/** Total order ids (SEP-35): `ledger << 32 | transaction order << 12 | operation index`, always
 *  BigInt because they pass 2^53. */

export const toid = (ledger: number, transactionOrder: number, operationIndex = 0): bigint =>
  (BigInt(ledger) << 32n) | (BigInt(transactionOrder) << 12n) | BigInt(operationIndex);

/** The first id of a ledger, which is also the ledger's own paging token. */
export const ledgerStart = (ledger: number): bigint => toid(ledger, 0);

/** The last id of a ledger: a cursor that means "after this ledger". */
export const afterLedger = (ledger: number): bigint => ledgerStart(ledger) | 0xffff_ffffn;

export const ledgerOf = (id: bigint): number => Number(id >> 32n);
