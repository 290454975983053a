/** How far each source of the ledger has been read. A position moves only from where its reader found it: two readers never both move it. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { SCHEMA_OPTIONS, type Session } from './database.js';

/** An account's payments are read by its own position; the feed is all payments of the network in one stream. */
export const FEED = 'feed';

export interface CursorDoc {
  /** `NETWORK:G…` or `NETWORK:feed`. */
  _id: string;
  network: Network;
  /** Null for the feed. */
  address: string | null;
  /** Horizon's paging token: everything up to it has been dealt with. */
  cursor: string;
  /** Everything up to this ledger has been dealt with. */
  ledger: number;
  /** When that ledger closed. */
  closedAt: Date;
  /** When that was found. */
  readAt: Date;
  /** Only of the feed: the first ledger that it covers without a hole is the one after this. */
  fromLedger: number | null;
}

export type Progress = Pick<CursorDoc, 'cursor' | 'ledger' | 'closedAt' | 'readAt'>;

const cursorSchema = new mongoose.Schema<CursorDoc>(
  {
    _id: String,
    network: String,
    address: { type: String, default: null },
    cursor: String,
    ledger: Number,
    closedAt: Date,
    readAt: Date,
    fromLedger: { type: Number, default: null },
  },
  { ...SCHEMA_OPTIONS, collection: 'cursors' },
);
cursorSchema.index({ network: 1, ledger: 1 });

export const cursorId = (network: Network, source: string): string => `${network}:${source}`;

export type CursorStore = ReturnType<typeof createCursorStore>;

export function createCursorStore(connection: mongoose.Connection) {
  const cursors = connection.model<CursorDoc>('Cursor', cursorSchema);
  return {
    ensureIndexes: () => cursors.createIndexes(),

    byId: (id: string) => cursors.findById(id).lean<CursorDoc>().exec(),
    byIds: (ids: readonly string[]) =>
      cursors
        .find({ _id: { $in: [...ids] } })
        .lean<CursorDoc[]>()
        .exec(),
    /** False when somebody else has moved it since `from` was read. */
    async advance(
      from: Pick<CursorDoc, '_id' | 'cursor' | 'ledger'>,
      to: Progress,
      session?: Session,
    ): Promise<boolean> {
      const { matchedCount } = await cursors.collection.updateOne(
        { _id: from._id as never, cursor: from.cursor, ledger: from.ledger },
        { $set: { cursor: to.cursor, ledger: to.ledger, closedAt: to.closedAt, readAt: to.readAt } },
        session ? { session } : {},
      );
      return matchedCount === 1;
    },
    /** Sets cursors whatever they were: at the start of a source, after a gap, when the way of reading changes. */
    async put(batch: readonly CursorDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await cursors.collection.bulkWrite(
        batch.map(({ _id, ...rest }) => ({
          updateOne: { filter: { _id: _id as never }, update: { $set: rest }, upsert: true },
        })),
        { ordered: false },
      );
    },
    async remove(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await cursors.deleteMany({ _id: { $in: [...ids] } });
    },
    /** The account position furthest behind, of those at a ledger or after it. */
    lowestFrom: (network: Network, ledger: number) =>
      cursors
        .findOne({ network, ledger: { $gte: ledger }, address: { $ne: null } })
        .sort({ ledger: 1 })
        .lean<CursorDoc>()
        .exec(),
    /** Account cursors behind a ledger, the furthest behind first. */
    behind: (network: Network, ledger: number, limit: number) =>
      cursors
        .find({ network, ledger: { $lt: ledger }, address: { $ne: null } })
        .sort({ ledger: 1 })
        .limit(limit)
        .lean<CursorDoc[]>()
        .exec(),
  };
}
