/** Documents by id. What requests ask for in the same turn of the event loop is read by one query for each account: under load a round trip
 *  serves several requests. Nothing is remembered, so nobody reads what was true before they asked. */
import DataLoader from 'dataloader';
import type { Model, QueryFilter } from 'mongoose';
import type { Session } from './database.js';

/** Bounds a query. */
const MAX_IDS = 100;

interface Key {
  accountId: string;
  id: string;
}

/** @returns what finds an account's document, or null; with a session in its transaction, by a query of its own. Several callers may hold the same object:
 *  it must not be changed. */
export function createById<Doc extends { _id: string; accountId: string }>(model: Model<Doc>) {
  async function find(accountId: string, ids: Iterable<string>): Promise<Map<string, Doc>> {
    const filter = { _id: { $in: [...ids] }, accountId } as QueryFilter<Doc>;
    return new Map((await model.find(filter).lean<Doc[]>()).map((doc) => [doc._id, doc]));
  }

  const loader = new DataLoader<Key, Doc | null>(
    async (keys) => {
      const idsByAccount = new Map<string, Set<string>>();
      for (const { accountId, id } of keys) {
        const ids = idsByAccount.get(accountId) ?? new Set();
        idsByAccount.set(accountId, ids.add(id));
      }
      const found = new Map([...idsByAccount].map(([accountId, ids]) => [accountId, find(accountId, ids)]));
      return Promise.all(
        keys.map(({ accountId, id }) =>
          found.get(accountId)!.then(
            (docs) => docs.get(id) ?? null,
            (error: Error) => error,
          ),
        ),
      );
    },
    { cache: false, maxBatchSize: MAX_IDS, batchScheduleFn: (dispatch) => setImmediate(dispatch) },
  );
  return (accountId: string, id: string, session?: Session): Promise<Doc | null> => {
    if (!session) return loader.load({ accountId, id });
    return model
      .findOne({ _id: id, accountId } as QueryFilter<Doc>)
      .session(session)
      .lean<Doc>()
      .exec();
  };
}
