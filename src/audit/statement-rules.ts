/** A wallet's statement, computed backwards from its current balances. Pure; amounts are stroops of
 *  any size. */
import { type Asset, assetName, NATIVE } from '../domain/asset.js';
import {
  type Amount,
  type BalanceEffect,
  type Books,
  type ContractChange,
  foldOperation,
  type OperationFacts,
  type Sums,
} from '../domain/books.js';

export interface Movement {
  at: Date;
  ledger: number;
  transactionHash: string | null;
  /** Null for a fee. */
  operationId: string | null;
  kind: 'received' | 'sent' | 'fee' | 'traded' | 'other';
  asset: Asset;
  /** Negative for outgoing money. */
  stroops: bigint;
  counterparty: string | null;
  memo: string | null;
  /** The index of a contract call's balance change; null for a movement of the whole operation. */
  changeIndex: number | null;
}

interface StatementRow {
  asset: Asset;
  opening: bigint;
  closing: bigint;
  movements: Movement[];
}

/** The payment recorded for a movement, and what it counted for in a currency. */
export interface RecordedPayment {
  paymentId: string | null;
  value: { currency: string; amount: string; rate: string; rateAt: Date; source: string } | null;
}

export type StatementRead = (Omit<StatementRow, 'movements'> & { movements: (Movement & RecordedPayment)[] })[];
/** `no_histories`: no source keeps histories of accounts. `not_kept`: the sources no longer keep
 *  the period. `away`: no source answers at the moment. */
export type StatementRefusal = 'no_histories' | 'not_kept' | 'too_long' | 'away';

const SIGNED: readonly (readonly [Exclude<Movement['kind'], 'fee'>, (sums: Sums) => bigint])[] = [
  ['received', ({ received }) => received],
  ['sent', ({ sent }) => -sent],
  ['traded', ({ traded }) => traded],
  ['other', ({ other }) => other],
];

/** One of an operation's movements. */
type Moved = Pick<Movement, 'kind' | 'asset' | 'stroops'> & {
  /** The index of a contract call's balance change; null for a movement of the whole operation. */
  changeIndex: number | null;
  /** The other party of a balance change; null for a movement of the whole operation. */
  counterparty: string | null;
};

/** The movements of one operation: one for each asset and kind, or for each balance change of a
 *  contract call. */
export function movementsOf(
  address: string,
  effects: readonly BalanceEffect[],
  operation: OperationFacts | null,
): Moved[] {
  const books: Books = new Map();
  foldOperation(books, address, effects, operation);
  return [...books.values()].flatMap(({ asset, sums }) =>
    SIGNED.flatMap(([kind, of]) => {
      const stroops = of(sums);
      if (stroops === 0n) return [];
      const changes = (operation?.contractChanges ?? [])
        .filter((change) => assetName(change.amount.asset) === assetName(asset))
        .flatMap((change) => movedBy(address, change))
        .filter((moved) => moved.kind === kind);
      // If the changes do not fit the effects, the effects count.
      return changes.length > 0 && sumOf(changes) === stroops
        ? changes
        : [{ kind, asset, stroops, changeIndex: null, counterparty: null }];
    }),
  );
}

/** An account's part in a balance change; empty if it has none, or the money stayed within it. */
function movedBy(address: string, { kind, changeIndex, from, to, amount }: ContractChange): Moved[] {
  const { asset, stroops } = amount;
  if (from === to) return [];
  if (kind === 'clawback')
    return from === address ? [{ kind: 'other', asset, stroops: -stroops, changeIndex, counterparty: null }] : [];
  // Mints and burns do not name the issuer.
  if (to === address) return [{ kind: 'received', asset, stroops, changeIndex, counterparty: from ?? asset.issuer }];
  if (from === address)
    return [{ kind: 'sent', asset, stroops: -stroops, changeIndex, counterparty: to ?? asset.issuer }];
  return [];
}

/** @param now the wallet's balances after all movements
 *  @param movements oldest first, complete from `from` on; earlier ones do not count
 *  @param period `to` is exclusive; null for no end
 *  @returns lumens first; only assets that were held or moved */
export function statementOf(
  now: readonly Amount[],
  movements: readonly Movement[],
  { from, to }: { from: Date; to: Date | null },
): StatementRow[] {
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
      const since = own.filter(({ at }) => at >= from);
      const within = since.filter(({ at }) => to === null || at < to);
      const closing = held - sumOf(since.slice(within.length));
      return { asset, opening: closing - sumOf(within), closing, movements: within };
    })
    .filter(({ asset, opening, closing, movements }) => asset === NATIVE || opening || closing || movements.length > 0);
}

const sumOf = (movements: readonly Pick<Movement, 'stroops'>[]): bigint =>
  movements.reduce((sum, { stroops }) => sum + stroops, 0n);
