/** Batches reads of one tick of the event loop: under load a round trip serves several requests.
 *  Nothing is cached, so no caller gets data from before its request. */

import DataLoader from 'dataloader';
import { mongo } from 'mongoose';
import { type Collection, projectionOf } from './collection.js';
import { isSharded, type Session } from './database.js';

// Documents by id. Requests in the same tick of the event loop share one query, whatever their
// accounts. On a cluster each account has its own: the others must not wait for its shard.

interface Key {
  accountId: string;
  id: string;
}

/** Finds an account's documents; with a session, by a query of its own in that transaction. Callers
 *  may share the returned objects and must not change them. */
export function createById<Doc extends { _id: string; accountId: string }>(collection: Collection<Doc>) {
  const projection = projectionOf(collection);
  const find = (accountIds: Iterable<string>, ids: Iterable<string>, session?: Session): Promise<Doc[]> => {
    const filter = { _id: { $in: [...ids] }, accountId: { $in: [...accountIds] } };
    return collection.find<Doc>(filter as never, { projection, session }).toArray();
  };

  const byIdOf = async (keys: readonly Key[]): Promise<Map<string, Doc>> => {
    const found = await find(new Set(keys.map((key) => key.accountId)), new Set(keys.map(({ id }) => id)));
    return new Map(found.map((doc) => [doc._id, doc]));
  };
  const loader = createTickLoader<Key, Doc | null>((keys) => {
    const groupOf = ({ accountId }: Key) => (isSharded(collection.conn) ? accountId : '');
    const groups = new Set(keys.map(groupOf));
    const found = new Map([...groups].map((group) => [group, byIdOf(keys.filter((key) => groupOf(key) === group))]));
    return Promise.all(
      keys.map((key) =>
        found.get(groupOf(key))!.then(
          (docs) => {
            const doc = docs.get(key.id);
            return doc?.accountId === key.accountId ? doc : null;
          },
          (error: Error) => error,
        ),
      ),
    );
  });
  return {
    /** Null when there is none. */
    one: async (accountId: string, id: string, session?: Session): Promise<Doc | null> =>
      session ? ((await find([accountId], [id], session))[0] ?? null) : loader.load({ accountId, id }),

    /** Documents of several accounts, in no order. */
    ofAccounts: async (accountIds: readonly string[], ids: readonly string[], session?: Session): Promise<Doc[]> =>
      ids.length === 0 ? [] : find(accountIds, ids, session),

    /** The existing ones, each once, in no order. */
    async many(accountId: string, ids: readonly string[], session?: Session): Promise<Doc[]> {
      if (session) return find([accountId], ids, session);
      const found = await Promise.all([...new Set(ids)].map((id) => loader.load({ accountId, id })));
      return found.filter((doc) => doc !== null);
    },
  };
}

// Totals of lists that are counted each time: requests for the same total in one tick of the event
// loop share a count, which ends when all of them have.

interface Asked<Doc> {
  filter: mongo.Filter<Doc>;
  signal: AbortSignal | undefined;
}

export function createSharedCount<Doc extends object>(collection: mongo.Collection<Doc>) {
  function countFor(asked: readonly Asked<Doc>[]): Promise<number> {
    const end = new AbortController();
    let left = asked.length;
    for (const { signal } of asked) {
      signal?.addEventListener('abort', () => --left === 0 && end.abort(signal.reason), { once: true });
    }
    return collection.countDocuments(asked[0]!.filter, { signal: end.signal });
  }
  const loader = createTickLoader<Asked<Doc>, number>((asked) => {
    const names = asked.map(({ filter }) => mongo.BSON.EJSON.stringify(filter));
    const counts = new Map(
      [...new Set(names)].map((name) => [name, countFor(asked.filter((_, index) => names[index] === name))]),
    );
    return Promise.all(names.map((name) => counts.get(name)!.catch((error: Error) => error)));
  });
  return (filter: mongo.Filter<Doc>, signal?: AbortSignal): Promise<number> => {
    const count = loader.load({ filter, signal });
    return signal ? Promise.race([count, endOf(signal)]) : count;
  };
}

const endOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

const MAX_KEYS = 100;

/** @param read returns values in the order of the keys; an Error rejects that key alone */
const createTickLoader = <Key, Value>(read: DataLoader.BatchLoadFn<Key, Value>): DataLoader<Key, Value> =>
  new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_KEYS,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  });

/** One query for all that is looked up by key in a tick. Callers may share the returned objects.
 *  @param find returns those that there are, in no order
 *  @returns null for a key that nothing has */
export function createLookup<Found>(find: (keys: string[]) => Promise<Found[]>, keyOf: (found: Found) => string) {
  const loader = createTickLoader<string, Found | null>(async (keys) => {
    const byKey = new Map((await find([...new Set(keys)])).map((found) => [keyOf(found), found]));
    return keys.map((key) => byKey.get(key) ?? null);
  });
  return (key: string): Promise<Found | null> => loader.load(key);
}

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
