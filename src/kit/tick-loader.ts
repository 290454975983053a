/** Batches reads of one tick of the event loop: under load a round trip serves several requests. Nothing is cached, so no caller gets data from before its
 *  request. */

import DataLoader from 'dataloader';
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { projectionOf, type Session } from './database.js';
import { untilEnd } from './paging.js';

// Documents by id. Requests in the same tick of the event loop share one query for each account.

interface Key {
  accountId: string;
  id: string;
}

/** Finds an account's documents; with a session, by a query of its own in that transaction. Callers may share the returned objects and must not change them. */
export function createById<Doc extends { _id: string; accountId: string }>(model: Model<Doc>) {
  const projection = projectionOf(model);
  const find = (accountId: string, ids: Iterable<string>, session?: Session): Promise<Doc[]> =>
    model.collection.find<Doc>({ _id: { $in: [...ids] as never[] }, accountId }, { projection, session }).toArray();

  async function mapOf(accountId: string, ids: Iterable<string>): Promise<Map<string, Doc>> {
    return new Map((await find(accountId, ids)).map((doc) => [doc._id, doc]));
  }

  const loader = createTickLoader<Key, Doc | null>(async (keys) => {
    const idsByAccount = new Map<string, Set<string>>();
    for (const { accountId, id } of keys) {
      const ids = idsByAccount.get(accountId) ?? new Set();
      idsByAccount.set(accountId, ids.add(id));
    }
    const found = new Map([...idsByAccount].map(([accountId, ids]) => [accountId, mapOf(accountId, ids)]));
    return Promise.all(
      keys.map(({ accountId, id }) =>
        found.get(accountId)!.then(
          (docs) => docs.get(id) ?? null,
          (error: Error) => error,
        ),
      ),
    );
  });
  return {
    /** Null when there is none. */
    one: async (accountId: string, id: string, session?: Session): Promise<Doc | null> =>
      session ? ((await find(accountId, [id], session))[0] ?? null) : loader.load({ accountId, id }),

    /** Documents of several accounts, in no order. */
    ofAccounts: async (accountIds: readonly string[], ids: readonly string[], session?: Session): Promise<Doc[]> =>
      ids.length === 0
        ? []
        : model.collection
            .find<Doc>(
              { _id: { $in: [...ids] as never[] }, accountId: { $in: [...accountIds] } },
              { projection, session },
            )
            .toArray(),

    /** The existing ones, each once, in no order. */
    async many(accountId: string, ids: readonly string[], session?: Session): Promise<Doc[]> {
      if (session) return find(accountId, ids, session);
      const found = await Promise.all([...new Set(ids)].map((id) => loader.load({ accountId, id })));
      return found.filter((doc) => doc !== null);
    },
  };
}

// Totals of lists that are counted each time: requests for the same total in one tick of the event loop
// share a count.

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

const MAX_KEYS = 100;

/** @param read returns values in the order of the keys; an Error rejects that key alone */
const createTickLoader = <Key, Value>(read: DataLoader.BatchLoadFn<Key, Value>): DataLoader<Key, Value> =>
  new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_KEYS,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  });

/** One read for all identical requests in a tick. @param nameOf equal for identical requests */
export function createSharedRead<Key, Value>(nameOf: (key: Key) => string, read: (key: Key) => Promise<Value>) {
  const loader = createTickLoader<Key, Value>((keys) => {
    const reads = new Map<string, Promise<Value>>();
    return Promise.all(
      keys.map((key) => {
        const name = nameOf(key);
        const found = reads.get(name) ?? read(key);
        reads.set(name, found);
        return found.catch((error: Error) => error);
      }),
    );
  });
  return (key: Key): Promise<Value> => loader.load(key);
}
