/** Totals of lists that are counted each time: requests for the same total in one tick of the event loop share a count. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { createSharedRead } from './tick-loader.js';

export const createSharedCount = <Doc>({ collection }: Model<Doc>): ((filter: QueryFilter<Doc>) => Promise<number>) =>
  createSharedRead(
    (filter) => mongoose.mongo.BSON.EJSON.stringify(filter),
    (filter) => collection.countDocuments(filter as never),
  );
