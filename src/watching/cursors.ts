/** How far each stream of the ledger has been read. A cursor moves only from where its reader found
 *  it: two readers never both move it. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { SCHEMA_OPTIONS, type Session } from '../kit/database.js';

export interface CursorDoc {
  /** `NETWORK:G…` or `NETWORK:feed`. */
  _id: string;
  network: Network;
  /** Null for the feed. */
  address: string | null;
  /** Paging token of the last record that was dealt with: the next page begins after it. */
  cursor: string;
  /** The network's newest ledger when the stream was last read to its end. For display, never for
   *  decisions: the server of the last page may lag behind the one that named this ledger. */
  ledger: number;
  /** When that ledger closed. */
  closedAt: Date;
  /** When it was last read. */
  readAt: Date;
  /** Everything up to this ledger has been dealt with: the server that gave the page had it. Only
   *  this may justify leaving ledgers unread for good. */
  shownLedger: number;
  /** When that ledger closed, or earlier if unknown. */
  shownClosedAt: Date;
  /** Feed only: it covers the ledgers after this one without a hole. */
  fromLedger: number | null;
  /** Addresses only: the newest ledger with a record of it. Null for none. */
  recordLedger: number | null;
}

export type Progress = Pick<
  CursorDoc,
  'cursor' | 'ledger' | 'closedAt' | 'readAt' | 'shownLedger' | 'shownClosedAt' | 'recordLedger'
>;

const cursorSchema = new mongoose.Schema<CursorDoc>(
  {
    _id: String,
    network: String,
    address: { type: String, default: null },
    cursor: String,
    ledger: Number,
    closedAt: Date,
    readAt: Date,
    shownLedger: Number,
    shownClosedAt: Date,
    fromLedger: { type: Number, default: null },
    recordLedger: { type: Number, default: null },
  },
  { ...SCHEMA_OPTIONS, collection: 'cursors' },
);
cursorSchema.index({ network: 1, shownLedger: 1 });

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(connection: mongoose.Connection) {
  const cursors = connection.model<CursorDoc>('Cursor', cursorSchema);
  return {
    byId: (id: string) => cursors.findById(id).lean<CursorDoc>().exec(),
    byIds: (ids: readonly string[]) =>
      cursors
        .find({ _id: { $in: [...ids] } })
        .lean<CursorDoc[]>()
        .exec(),
    /** Moves a cursor. @returns false when another reader has moved it since `from` was read; then
     *  nothing is changed. */
    async advance(
      from: Pick<CursorDoc, '_id' | 'cursor' | 'ledger'>,
      to: Progress,
      session?: Session,
    ): Promise<boolean> {
      const { cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt, recordLedger } = to;
      const { matchedCount } = await cursors.collection.updateOne(
        { _id: from._id as never, cursor: from.cursor, ledger: from.ledger },
        { $set: { cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt, recordLedger } },
        session ? { session } : {},
      );
      return matchedCount === 1;
    },
    /** Sets cursors unconditionally: at the start of a stream, after a gap, when the mode of
     *  reading changes. */
    async save(batch: readonly CursorDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await cursors.collection.bulkWrite(
        batch.map(({ _id, ...rest }) => ({
          updateOne: { filter: { _id: _id as never }, update: { $set: rest }, upsert: true },
        })),
        { ordered: false },
      );
    },
    /** Removes cursors that are still as they were read. One that was moved or saved since is in
     *  use, and stays. */
    async removeUnchanged(batch: readonly Pick<CursorDoc, '_id' | 'cursor' | 'readAt'>[]): Promise<void> {
      if (batch.length === 0) return;
      await cursors.collection.bulkWrite(
        batch.map(({ _id, cursor, readAt }) => ({ deleteOne: { filter: { _id: _id as never, cursor, readAt } } })),
        { ordered: false },
      );
    },
    async remove(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await cursors.deleteMany({ _id: { $in: [...ids] } });
    },
    /** The address cursor furthest behind among those shown this ledger or a later one. */
    lowestFrom: (network: Network, ledger: number) =>
      cursors
        .findOne({ network, shownLedger: { $gte: ledger }, address: { $ne: null } })
        .sort({ shownLedger: 1 })
        .lean<CursorDoc>()
        .exec(),
    /** Address cursors not shown this ledger yet, furthest behind first. @param without ids to
     *  leave out */
    behind: (network: Network, ledger: number, { limit, without }: { limit: number; without: readonly string[] }) =>
      cursors
        .find({ network, shownLedger: { $lt: ledger }, address: { $ne: null }, _id: { $nin: [...without] } })
        .sort({ shownLedger: 1 })
        .limit(limit)
        .lean<CursorDoc[]>()
        .exec(),
  };
}
