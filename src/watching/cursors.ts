/** How far each stream of the ledger has been read. A cursor moves only from where its reader found
 *  it: two readers never both move it. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';

export type Progress = Pick<
  CursorDoc,
  'cursor' | 'ledger' | 'closedAt' | 'readAt' | 'shownLedger' | 'shownClosedAt' | 'recordLedger'
>;

const CURSORS = define(
  'cursors',
  {
    /** `NETWORK:G…` or `NETWORK:feed`. */
    _id: String,
    network: text<Network>(),
    /** Null for the feed. */
    address: nullable(String),
    /** Paging token of the last record that was dealt with: the next page begins after it. */
    cursor: String,
    /** The network's newest ledger when the stream was last read to its end. For display, never for
     *  decisions: the server of the last page may lag behind the one that named this ledger. */
    ledger: Number,
    /** When that ledger closed. */
    closedAt: Date,
    /** When it was last read. */
    readAt: Date,
    /** Everything up to this ledger has been dealt with: the server that gave the page had it. Only
     *  this may justify leaving ledgers unread for good. */
    shownLedger: Number,
    /** When that ledger closed, or earlier if unknown. */
    shownClosedAt: Date,
    /** Feed only: it covers the ledgers after this one without a hole. */
    fromLedger: nullable(Number),
    /** Addresses only: the newest ledger with a record of it. Null for none. */
    recordLedger: nullable(Number),
  },
  [{ key: { network: 1, shownLedger: 1 } }],
);

export interface CursorDoc extends DocOf<typeof CURSORS> {}

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(connection: mongoose.Connection) {
  const cursors = openCollection<CursorDoc>(connection, CURSORS);
  return {
    byId: (id: string) => cursors.findOne({ _id: id }),
    byIds: (ids: readonly string[]) => cursors.find({ _id: { $in: [...ids] } }).toArray(),
    /** Moves a cursor. @returns false when another reader has moved it since `from` was read; then
     *  nothing is changed. */
    async advance(
      from: Pick<CursorDoc, '_id' | 'cursor' | 'ledger'>,
      to: Progress,
      session?: Session,
    ): Promise<boolean> {
      const { cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt, recordLedger } = to;
      const { matchedCount } = await cursors.updateOne(
        { _id: from._id, cursor: from.cursor, ledger: from.ledger },
        { $set: { cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt, recordLedger } },
        session ? { session } : {},
      );
      return matchedCount === 1;
    },
    /** Sets cursors unconditionally: at the start of a stream, after a gap, when the mode of
     *  reading changes. */
    async save(batch: readonly CursorDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await cursors.bulkWrite(
        batch.map(({ _id, ...rest }) => ({
          updateOne: { filter: { _id }, update: { $set: rest }, upsert: true },
        })),
        { ordered: false },
      );
    },
    /** Removes cursors that are still as they were read. One that was moved or saved since is in
     *  use, and stays. */
    async removeUnchanged(batch: readonly Pick<CursorDoc, '_id' | 'cursor' | 'readAt'>[]): Promise<void> {
      if (batch.length === 0) return;
      await cursors.bulkWrite(
        batch.map(({ _id, cursor, readAt }) => ({ deleteOne: { filter: { _id, cursor, readAt } } })),
        { ordered: false },
      );
    },
    async remove(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await cursors.deleteMany({ _id: { $in: [...ids] } });
    },
    /** The address cursor furthest behind among those shown this ledger or a later one. */
    lowestFrom: (network: Network, ledger: number) =>
      cursors.findOne({ network, shownLedger: { $gte: ledger }, address: { $ne: null } }, { sort: { shownLedger: 1 } }),
    /** Address cursors not shown this ledger yet, furthest behind first. @param without ids to
     *  leave out */
    behind: (network: Network, ledger: number, { limit, without }: { limit: number; without: readonly string[] }) =>
      cursors
        .find({ network, shownLedger: { $lt: ledger }, address: { $ne: null }, _id: { $nin: [...without] } })
        .sort({ shownLedger: 1 })
        .limit(limit)
        .toArray(),
  };
}
