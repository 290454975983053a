/** A wallet's statement, worked back from what the wallet holds now. Pure; amounts are stroops of any size. */
import { type Asset, assetName, NATIVE } from './asset.js';
import { type Amount, type BalanceEffect, type Books, foldOperation, type OperationFacts, type Sums } from './books.js';

export interface Movement {
  at: Date;
  ledger: number;
  transactionHash: string | null;
  /** Null for a fee. */
  operationId: string | null;
  kind: 'received' | 'sent' | 'fee' | 'traded' | 'other';
  asset: Asset;
  /** Less than 0 for what went out. */
  stroops: bigint;
  counterparty: string | null;
  memo: string | null;
}

export interface StatementRow {
  asset: Asset;
  opening: bigint;
  closing: bigint;
  movements: Movement[];
}

/** Each movement with the payment that was recorded of it. */
export type StatementRead = (Omit<StatementRow, 'movements'> & {
  movements: (Movement & { paymentId: string | null })[];
})[];
/** `no_histories`: no source keeps histories of accounts. `not_kept`: they no longer reach back so far. `away`: nobody can tell at the moment. */
export type StatementRefusal = 'no_histories' | 'not_kept' | 'too_long' | 'away';

const SIGNED: readonly (readonly [Exclude<Movement['kind'], 'fee'>, (sums: Sums) => bigint])[] = [
  ['received', ({ received }) => received],
  ['sent', ({ sent }) => -sent],
  ['traded', ({ traded }) => traded],
  ['other', ({ other }) => other],
];

/** What one operation moved: each asset and kind for itself. */
export function movementsOf(
  address: string,
  effects: readonly BalanceEffect[],
  operation: OperationFacts | null,
): Pick<Movement, 'kind' | 'asset' | 'stroops'>[] {
  const books: Books = new Map();
  foldOperation(books, address, effects, operation);
  return [...books.values()].flatMap(({ asset, sums }) =>
    SIGNED.map(([kind, of]) => ({ kind, asset, stroops: of(sums) })).filter(({ stroops }) => stroops !== 0n),
  );
}

/**
 * @param now what the wallet holds after all of the movements
 * @param movements oldest first, none left out from `from` on
 * @param to not included; null for all
 * @returns lumens first; only assets that were held or moved
 */
export function statementOf(now: readonly Amount[], movements: readonly Movement[], to: Date | null): StatementRow[] {
  const byName = new Map<string, { asset: Asset; held: bigint; own: Movement[] }>();
  const entryOf = (asset: Asset) => {
    const name = assetName(asset);
    const entry = byName.get(name) ?? { asset, held: 0n, own: [] };
    byName.set(name, entry);
    return entry;
  };
  const native = entryOf(NATIVE);
  for (const { asset, stroops } of now) entryOf(asset).held = stroops;
  for (const movement of movements) entryOf(movement.asset).own.push(movement);
  const others = [...byName.values()].slice(1).sort((a, b) => (assetName(a.asset) < assetName(b.asset) ? -1 : 1));
  return [native, ...others]
    .map(({ asset, held, own }) => {
      const within = own.filter(({ at }) => to === null || at < to);
      const closing = held - sumOf(own.slice(within.length));
      return { asset, opening: closing - sumOf(within), closing, movements: within };
    })
    .filter(({ asset, opening, closing, movements }) => asset === NATIVE || opening || closing || movements.length > 0);
}

const sumOf = (movements: readonly Movement[]): bigint => movements.reduce((sum, { stroops }) => sum + stroops, 0n);
