/** Totals of lists that are counted each time: requests that ask for the same total in the same turn of the event loop get one count. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { createSharedRead } from './turn-loader.js';

export const createTurnCount = <Doc>({ collection }: Model<Doc>): ((filter: QueryFilter<Doc>) => Promise<number>) =>
  createSharedRead(
    (filter) => mongoose.mongo.BSON.EJSON.stringify(filter),
    (filter) => collection.countDocuments(filter as never),
  );
