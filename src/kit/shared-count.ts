/** Totals of lists that are counted each time: requests for the same total in one tick of the event loop share a count. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { untilEnd } from './reading.js';
import { createSharedRead } from './tick-loader.js';

export function createSharedCount<Doc>({ collection }: Model<Doc>): (filter: QueryFilter<Doc>) => Promise<number> {
  const shared = createSharedRead(
    (filter: QueryFilter<Doc>) => mongoose.mongo.BSON.EJSON.stringify(filter),
    (filter) => collection.countDocuments(filter as never),
  );
  return (filter) => {
    const options = untilEnd();
    // One that ends with its caller cannot be another's.
    return options.signal ? collection.countDocuments(filter as never, options as never) : shared(filter);
  };
}
