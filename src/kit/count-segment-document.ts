/** The document of a segment of a long list. */
import mongoose from 'mongoose';
import { SCHEMA_OPTIONS } from './database.js';

export interface CountSegmentDoc {
  _id: string;
  accountId: string;
  /** Names a collection and, behind a colon, the account. */
  list: string;
  /** The segment holds the ids after this one, up to where the next segment begins. */
  after: string;
  /** Number of ids ever added. */
  size: number;
  /** Capacity: ids added before the next segment begins; the smallest capacity when absent. */
  room?: number;
  version: number;
}

const countSegmentSchema = new mongoose.Schema<CountSegmentDoc>(
  { _id: String, accountId: String, list: String, after: String, size: Number, room: Number, version: Number },
  { ...SCHEMA_OPTIONS, collection: 'countSegments' },
);
countSegmentSchema.index({ accountId: 1, list: 1, after: 1, version: 1 });

export const countSegmentModel = (connection: mongoose.Connection): mongoose.Model<CountSegmentDoc> =>
  connection.model<CountSegmentDoc>('CountSegment', countSegmentSchema);

/** The smallest capacity. */
export const LEAST_ROOM = 2500;
/** The `after` of a list's first segment. */
export const FIRST = '';

/** Filter for a list's segments. */
export const ofList = (list: string) => ({ accountId: list.slice(list.indexOf(':') + 1), list });
