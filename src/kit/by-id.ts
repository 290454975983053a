/** Documents by id. Requests in the same tick of the event loop share one query for each account. */
import type { Model } from 'mongoose';
import { projectionOf, type Session } from './database.js';
import { createTickLoader } from './tick-loader.js';

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
