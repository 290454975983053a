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
  /** Ids that were ever added to it. */
  size: number;
  /** So many ids are added to it before the next one begins; absent where that is the least room. */
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

/** Ids that a segment has room for at least. */
export const LEAST_ROOM = 2500;
/** The `after` of a list's first segment. */
export const FIRST = '';

/** What finds a list's segments. */
export const ofList = (list: string) => ({ accountId: list.slice(list.indexOf(':') + 1), list });
