/** Totals of lists that are counted each time: whoever asks for the same total in the same turn of the event loop gets one count. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { createTurnLoader } from './turn-loader.js';

export function createTurnCount<Doc>({ collection }: Model<Doc>): (filter: QueryFilter<Doc>) => Promise<number> {
  const loader = createTurnLoader<QueryFilter<Doc>, number>((filters) => {
    const counts = new Map<string, Promise<number>>();
    return Promise.all(
      filters.map((filter) => {
        const key = mongoose.mongo.BSON.EJSON.stringify(filter);
        const count = counts.get(key) ?? collection.countDocuments(filter as never);
        counts.set(key, count);
        return count.catch((error: Error) => error);
      }),
    );
  });
  return (filter) => loader.load(filter);
}
