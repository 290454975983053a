/** Pages of what was closed: rows after or before a cursor, within the ledgers that are visible now. */
import type { mongo } from 'mongoose';
import type { Faults } from './faults.js';
import { ledgerRecord, type Span } from './headers.js';
import type { ListKind } from './hiding.js';
import type { OperationDocument, TransactionDocument } from './records.js';
import type { Head, Store } from './store.js';
import { afterLedger, ledgerOf, ledgerStart } from './toid.js';

/** The ledgers that Horizon shows: from the retention edge to the newest one that is ingested. */
export interface Visible {
  elder: number;
  latest: number;
}

export interface Range {
  /** Exclusive; null begins at the end that `order` begins at. */
  cursor: bigint | null;
  order: 'asc' | 'desc';
  limit: number;
}

export interface OperationFilter {
  account?: string;
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
  /** Counts from 1 in each operation. */
  order: number;
  createdAt: unknown;
  effect: OperationDocument['effects'][number];
}

export type History = ReturnType<typeof createHistory>;

export function createHistory(store: Store, visible: () => Visible, faults: Faults, head: () => Head) {
  /** Bounds of TOIDs, cursor and retention together. */
  function bounds(
    { cursor, order }: Range,
    ledger?: number,
  ): { _id: { $gte: bigint; $lte: bigint; $gt?: bigint; $lt?: bigint } } {
    const { elder, latest } = visible();
    const [from, to] = ledger === undefined ? [elder, latest] : [Math.max(ledger, elder), Math.min(ledger, latest)];
    const range = { $gte: ledgerStart(from), $lte: afterLedger(to) };
    if (cursor === null) return { _id: range };
    return { _id: order === 'asc' ? { ...range, $gt: cursor } : { ...range, $lt: cursor } };
  }

  const sorting = ({ order }: Range) => ({ _id: order === 'asc' ? (1 as const) : (-1 as const) });

  /** A list of one transaction or ledger hides nothing: the operation was chosen by whoever knows it. */
  function hiddenFrom({ account, transaction, ledger, list }: OperationFilter): bigint[] {
    if (transaction !== undefined || ledger !== undefined) return [];
    return [...faults.hidden(account === undefined ? 'feed' : 'accounts', list)];
  }

  function operationFilter(filter: OperationFilter, range: Range): mongo.Filter<OperationDocument> {
    const { operation, transaction } = filter;
    const within = operation ?? transaction;
    const { _id } = bounds(range, filter.ledger ?? (within === undefined ? undefined : ledgerOf(within)));
    return {
      _id: { ..._id, ...(operation === undefined ? { $nin: hiddenFrom(filter) } : { $eq: operation }) },
      ...(filter.account === undefined ? {} : { accounts: filter.account }),
      ...(transaction === undefined ? {} : { transaction }),
      ...(filter.list === 'payments' ? { isPayment: true } : {}),
      ...(filter.includeFailed ? {} : { successful: true }),
    };
  }

  async function spanOf(sequence: number): Promise<Span> {
    const { tail } = head();
    if (sequence >= tail._id) return tail;
    const span = await store.spans
      .find({ _id: { $lte: sequence } })
      .sort({ _id: -1 })
      .limit(1)
      .next();
    if (span === null) throw new Error(`ledger ${sequence} has no header`);
    return span;
  }

  return {
    visible,

    async operations(filter: OperationFilter, range: Range): Promise<OperationDocument[]> {
      return await store.operations
        .find(operationFilter(filter, range), { projection: { effects: 0 } })
        .sort(sorting(range))
        .limit(range.limit)
        .toArray();
    },

    async transactions(filter: TransactionFilter, range: Range): Promise<TransactionDocument[]> {
      return await store.transactions
        .find({
          ...bounds(range, filter.ledger),
          ...(filter.account === undefined ? {} : { accounts: filter.account }),
          ...(filter.includeFailed ? {} : { successful: true }),
        })
        .sort(sorting(range))
        .limit(range.limit)
        .toArray();
    },

    /** Records of the transactions of these operations, by TOID. */
    async transactionsOf(rows: OperationDocument[]): Promise<Map<bigint, Record<string, unknown>>> {
      const ids = [...new Set(rows.map(({ transaction }) => transaction))];
      const found = await store.transactions.find({ _id: { $in: ids } }).toArray();
      return new Map(found.map(({ _id, record }) => [_id, record]));
    },

    /** By its hash, or by the hash of the transaction inside a fee bump. */
    async transactionByHash(hash: string): Promise<TransactionDocument | null> {
      const { elder, latest } = visible();
      const found =
        (await store.transactions.findOne({ hash })) ?? (await store.transactions.findOne({ innerHash: hash }));
      return found !== null && found.ledger >= elder && found.ledger <= latest ? found : null;
    },

    async operation(id: bigint): Promise<OperationDocument | null> {
      if (ledgerOf(id) > visible().latest) return null;
      return await store.operations.findOne({ _id: id });
    },

    async hasAccount(account: string): Promise<boolean> {
      const range = bounds({ cursor: null, order: 'asc', limit: 1 });
      const projection = { _id: 1 };
      return (
        (await store.operations.findOne({ ...range, accounts: account }, { projection })) !== null ||
        (await store.transactions.findOne({ ...range, accounts: account }, { projection })) !== null
      );
    },

    /** `after` is the effect order within the cursor's operation; the cursor itself is excluded. */
    async effects(filter: OperationFilter, range: Range, after: number): Promise<EffectRow[]> {
      const { cursor, order, limit } = range;
      // Effects of the cursor's own operation may be left, so the operation itself is asked for again.
      const inclusive = cursor === null ? null : order === 'asc' ? cursor - 1n : cursor + 1n;
      const { account, ...rest } = filter;
      const mine = account === undefined ? { 'effects.0': { $exists: true } } : { 'effects.account': account };
      const found = await store.operations
        .find({
          ...operationFilter(
            { ...rest, ...(account === undefined ? {} : { account }) },
            { ...range, cursor: inclusive },
          ),
          ...mine,
        })
        .sort(sorting(range))
        // Every operation found has an effect, one of them perhaps behind the cursor.
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

    /** Bids and charges, in stroops per operation, of the transactions of the newest five ledgers. */
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

    /** Null where the ledger is not closed, or not visible yet. */
    async ledger(sequence: number): Promise<Record<string, unknown> | null> {
      if (sequence < 1 || sequence > visible().latest) return null;
      return ledgerRecord(head().chain, await spanOf(sequence), sequence);
    },

    async ledgers({ cursor, order, limit }: Range): Promise<Record<string, unknown>[]> {
      const { elder, latest } = visible();
      const { chain, tail } = head();
      const next = cursor === null ? null : ledgerOf(cursor);
      const [first, last] =
        order === 'asc'
          ? [Math.max(elder, next === null ? elder : next + 1), latest]
          : [elder, Math.min(latest, next === null ? latest : cursor! > ledgerStart(next) ? next : next - 1)];
      if (first > last) return [];
      const [from, to] =
        order === 'asc' ? [first, Math.min(last, first + limit - 1)] : [Math.max(first, last - limit + 1), last];
      const spans = [
        await spanOf(from),
        ...(await store.spans
          .find({ _id: { $gt: from, $lte: to } })
          .sort({ _id: 1 })
          .toArray()),
      ];
      if (spans.at(-1)!._id < tail._id && tail._id <= to) spans.push(tail);
      const records: Record<string, unknown>[] = [];
      for (let sequence = from, at = 0; sequence <= to; sequence++) {
        while (at + 1 < spans.length && spans[at + 1]!._id <= sequence) at += 1;
        records.push(ledgerRecord(chain, spans[at]!, sequence));
      }
      return order === 'asc' ? records : records.reverse();
    },
  };
}
