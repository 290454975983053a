/** Headers of the visible ledgers. */
import { type Header, ledgerRecord, type Span } from './headers.js';
import type { Range, Visible } from './history.js';
import type { Head, Store } from './store.js';
import { ledgerOf, ledgerStart } from './toid.js';

export function createLedgerHistory(deps: { store: Store; visible(): Visible; head(): Head }) {
  const { store, visible, head } = deps;

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

  /** Spans and headers of these ledgers, in order. */
  async function headersOf(from: number, to: number): Promise<{ span: Span; header: Header }[]> {
    const { chain, tail } = head();
    const spans = [
      await spanOf(from),
      ...(await store.spans
        .find({ _id: { $gt: from, $lte: to } })
        .sort({ _id: 1 })
        .toArray()),
    ];
    if (spans.at(-1)!._id < tail._id && tail._id <= to) spans.push(tail);
    return spans.flatMap((span, index) => {
      const last = Math.min(to, (spans[index + 1]?._id ?? to + 1) - 1);
      const headers = store.headers(chain, span, Math.max(from, span._id), last);
      return headers.map((header) => ({ span, header }));
    });
  }

  return {
    headersOf,

    /** Null if the ledger is not closed or not visible yet. */
    async ledger(sequence: number): Promise<Record<string, unknown> | null> {
      if (sequence < 1 || sequence > visible().latest) return null;
      const span = await spanOf(sequence);
      return ledgerRecord(span, store.headers(head().chain, span, sequence, sequence)[0]!);
    },

    async ledgers({ cursor, order, limit }: Range): Promise<Record<string, unknown>[]> {
      const { elder, latest } = visible();
      const next = cursor === null ? null : ledgerOf(cursor);
      const [first, last] =
        order === 'asc'
          ? [Math.max(elder, next === null ? elder : next + 1), latest]
          : [elder, Math.min(latest, next === null ? latest : cursor! > ledgerStart(next) ? next : next - 1)];
      if (first > last) return [];
      const [from, to] =
        order === 'asc' ? [first, Math.min(last, first + limit - 1)] : [Math.max(first, last - limit + 1), last];
      const found = await headersOf(from, to);
      const records = found.map(({ span, header }) => ledgerRecord(span, header));
      return order === 'asc' ? records : records.reverse();
    },
  };
}
