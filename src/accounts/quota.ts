/** Limits on an account's resources. Creations of an account are serialised, so that two at once cannot both be the last one. */
import { type ApiError, conflict } from '../kit/api-error.js';
import type { Session } from '../kit/database.js';
import { createGroupCommit } from '../kit/group-commit.js';
import type { ForAccount } from '../stores.js';
import type { Act, Commit } from './commit.js';

/** Stores the new resource, within the transaction. */
type Insert = (session: Session) => Promise<void>;

/** Inserts when the account has room. @throws ApiError `conflict` when it has none; nothing is stored then */
export type Quota = (act: Act, insert: Insert) => Promise<void>;

export function createQuota(deps: {
  commit: Commit;
  forAccount: ForAccount<'account'>;
  /** The account's current number. */
  count: (accountId: string, session: Session) => Promise<number>;
  max: number;
  /** Plural, for the message. */
  what: string;
}): Quota {
  const { commit, forAccount, count, max, what } = deps;

  const insertGroup = createGroupCommit<Act & { insert: Insert }, ApiError | null>((group) =>
    commit.all<ApiError | null>(group, async (session) => {
      const { accountId } = group[0]!.caller;
      // First, so that of two processes counting at once one gets a write conflict and retries.
      await forAccount(accountId).account.countCreations(group.length, session);
      const room = Math.max(0, max - (await count(accountId, session)));
      for (const { insert } of group.slice(0, room)) await insert(session);
      const full = conflict(`An account has at most ${max} ${what}: delete one first.`);
      return group.map((_, index) => (index < room ? null : full));
    }),
  );

  return async (act, insert) => {
    const refusal = await insertGroup(act.caller.accountId, { ...act, insert });
    if (refusal) throw refusal;
  };
}

/** No quota: for the operator's cli, and for tests of other things. */
export const unlimited = (commit: Commit): Quota => commit;
