/** Pages of closed operations, transactions and effects, before or after a cursor, within the
 *  visible ledgers. */
import type { Filter } from 'mongodb';
import type { Api, Faults } from './faults.js';
import type { ListKind } from './hiding.js';
import { createLedgerHistory } from './ledger-history.js';
import type { OperationDocument, TransactionDocument } from './records.js';
import type { Head, Store } from './store.js';
import { afterLedger, ledgerOf, ledgerStart } from './toid.js';

/** The ledgers that Horizon shows: from the retention edge to the newest ingested one. */
export interface Visible {
  elder: number;
  latest: number;
}

export interface Range {
  /** Exclusive; null starts at the first end of `order`. */
  cursor: bigint | null;
  order: 'asc' | 'desc';
  limit: number;
}

export interface OperationFilter {
  account?: string;
  /** Like `account`, plus the operations that took an offer of the account. */
  party?: string;
  /** TOID of the transaction. */
  transaction?: bigint;
  ledger?: number;
  operation?: bigint;
  list: ListKind;
  includeFailed: boolean;
}

export type TransactionFilter = Pick<OperationFilter, 'account' | 'ledger' | 'includeFailed'>;

export interface EffectRow {
  operation: bigint;
  /** From 1 within each operation. */
  order: number;
  createdAt: unknown;
  effect: OperationDocument['effects'][number];
}

/** Dependencies of the parts of a history. */
interface HistoryDeps {
  /** The interface that shows it. */
  api: Api;
  store: Store;
  visible(): Visible;
  faults: Faults;
  head(): Head;
}

export type History = ReturnType<typeof createHistory>;

/** The history within the ledgers that `visible` returns at each call. */
export function createHistory(deps: HistoryDeps) {
  return {
    visible: deps.visible,
    ...createOperationHistory(deps),
    ...createTransactionHistory(deps),
    ...createEffectHistory(deps),
    ...createLedgerHistory(deps),
  };
}

/** TOID bounds from cursor and retention. */
function boundsOf(
  { elder, latest }: Visible,
  { cursor, order }: Range,
  ledger?: number,
): { _id: { $gte: bigint; $lte: bigint; $gt?: bigint; $lt?: bigint } } {
  const [from, to] = ledger === undefined ? [elder, latest] : [Math.max(ledger, elder), Math.min(ledger, latest)];
  const range = { $gte: ledgerStart(from), $lte: afterLedger(to) };
  if (cursor === null) return { _id: range };
  return { _id: order === 'asc' ? { ...range, $gt: cursor } : { ...range, $lt: cursor } };
}

const sorting = ({ order }: Range) => ({ _id: order === 'asc' ? (1 as const) : (-1 as const) });

/** Lists of a single transaction or ledger hide nothing: the request names it. */
function hiddenFrom(faults: Faults, { account, party, transaction, ledger, list }: OperationFilter): bigint[] {
  if (transaction !== undefined || ledger !== undefined) return [];
  return [...faults.hidden((account ?? party) === undefined ? 'feed' : 'accounts', list)];
}

function operationQuery(
  { visible, faults }: HistoryDeps,
  filter: OperationFilter,
  range: Range,
): Filter<OperationDocument> {
  const { operation, transaction } = filter;
  const within = operation ?? transaction;
  const ledger = filter.ledger ?? (within === undefined ? undefined : ledgerOf(within));
  const { _id } = boundsOf(visible(), range, ledger);
  return {
    _id: { ..._id, ...(operation === undefined ? { $nin: hiddenFrom(faults, filter) } : { $eq: operation }) },
    ...(filter.account === undefined ? {} : { accounts: filter.account }),
    ...(filter.party === undefined ? {} : { $or: [{ accounts: filter.party }, { traders: filter.party }] }),
    ...(transaction === undefined ? {} : { transaction }),
    ...(filter.list === 'payments' ? { isPayment: true } : {}),
    ...(filter.includeFailed ? {} : { successful: true }),
  };
}

function createOperationHistory(deps: HistoryDeps) {
  const { store, visible } = deps;
  return {
    async operations(filter: OperationFilter, range: Range): Promise<OperationDocument[]> {
      return await store.operations
        .find(operationQuery(deps, filter, range), { projection: { effects: 0 } })
        .sort(sorting(range))
        .limit(range.limit)
        .toArray();
    },

    async operation(id: bigint): Promise<OperationDocument | null> {
      if (ledgerOf(id) > visible().latest) return null;
      return await store.operations.findOne({ _id: id });
    },

    /** Whether any visible record concerns the account. */
    async hasAccount(account: string): Promise<boolean> {
      const range = boundsOf(visible(), { cursor: null, order: 'asc', limit: 1 });
      const projection = { _id: 1 };
      return (
        (await store.operations.findOne({ ...range, accounts: account }, { projection })) !== null ||
        (await store.transactions.findOne({ ...range, accounts: account }, { projection })) !== null
      );
    },
  };
}

function createTransactionHistory({ api, store, visible, faults }: HistoryDeps) {
  const shown = (document: TransactionDocument) => faults.undecodable.transaction(document, api);
  const closed = async (hash: string): Promise<TransactionDocument | null> => {
    const { elder, latest } = visible();
    const found =
      (await store.transactions.findOne({ hash })) ?? (await store.transactions.findOne({ innerHash: hash }));
    return found !== null && found.ledger >= elder && found.ledger <= latest ? found : null;
  };
  return {
    async transactions(filter: TransactionFilter, range: Range): Promise<TransactionDocument[]> {
      const found = await store.transactions
        .find({
          ...boundsOf(visible(), range, filter.ledger),
          ...(filter.account === undefined ? {} : { accounts: filter.account }),
          ...(filter.includeFailed ? {} : { successful: true }),
        })
        .sort(sorting(range))
        .limit(range.limit)
        .toArray();
      return found.map(shown);
    },

    /** Records of the operations' transactions, by TOID. */
    async transactionsOf(rows: OperationDocument[]): Promise<Map<bigint, Record<string, unknown>>> {
      const ids = [...new Set(rows.map(({ transaction }) => transaction))];
      const found = await store.transactions.find({ _id: { $in: ids } }).toArray();
      return new Map(found.map(shown).map(({ _id, record }) => [_id, record]));
    },

    /** Finds a transaction by its hash, or by the hash of the transaction inside a fee bump. */
    async transactionByHash(hash: string): Promise<TransactionDocument | null> {
      const found = await closed(hash);
      return found && shown(found);
    },

    /** The transaction as its sender knows it, unchanged by faults. */
    ownTransaction: closed,

    /** Bids and charges, in stroops per operation, of transactions in the newest five ledgers. */
    async recentFees(latest: number): Promise<{ charged: number; bid: number; operations: number; ledger: number }[]> {
      const recent = { _id: { $gte: ledgerStart(latest - 4), $lte: afterLedger(latest) } };
      const found = await store.transactions
        .find(recent, { projection: { ledger: 1, innerHash: 1, record: 1 } })
        .toArray();
      return found.map(({ ledger, innerHash, record }) => {
        const operations = Number(record.operation_count);
        const paidFor = operations + (innerHash === null ? 0 : 1);
        const perOperation = (fee: unknown) => Math.floor(Number(fee) / paidFor);
        return { charged: perOperation(record.fee_charged), bid: perOperation(record.max_fee), operations, ledger };
      });
    },
  };
}

function createEffectHistory(deps: HistoryDeps) {
  const { store } = deps;
  return {
    /** `after` is the effect's order within the cursor's operation; the cursor itself
     *  is excluded. */
    async effects(filter: OperationFilter, range: Range, after: number): Promise<EffectRow[]> {
      const { cursor, order, limit } = range;
      // The cursor's own operation may have more effects, so it is read again.
      const inclusive = cursor === null ? null : order === 'asc' ? cursor - 1n : cursor + 1n;
      const { account, ...rest } = filter;
      const mine = account === undefined ? { 'effects.0': { $exists: true } } : { 'effects.account': account };
      const found = await store.operations
        .find({
          ...operationQuery(
            deps,
            { ...rest, ...(account === undefined ? {} : { party: account }) },
            { ...range, cursor: inclusive },
          ),
          ...mine,
        })
        .sort(sorting(range))
        // Every operation found has at least one effect; only the cursor's own may add none.
        .limit(limit + 1)
        .toArray();
      const rows = found.flatMap(({ _id, record, effects }) =>
        effects
          .map((effect, index) => ({ operation: _id, order: index + 1, createdAt: record.created_at, effect }))
          .filter((row) => account === undefined || row.effect.account === account)
          .sort((a, b) => (order === 'asc' ? a.order - b.order : b.order - a.order)),
      );
      const isAhead = (row: EffectRow) =>
        row.operation !== cursor || (order === 'asc' ? row.order > after : row.order < after);
      return rows.filter(isAhead).slice(0, limit);
    },
  };
}
