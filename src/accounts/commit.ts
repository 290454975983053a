/** Stores a caller's changes in one transaction with their activity, so that neither exists without the other. Services get no other transaction. */

import { ApiError } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import type { Database, Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import type { AccountStores } from '../stores.js';
import { type Actor, type Change, CLI, changesAsked, changesBetween, type Shown, SYSTEM } from './activity-changes.js';
import type { ActivityDoc, ActivityStore } from './activity-store.js';
import { shownOf } from './shown.js';

/** A change by an actor. */
export interface Act {
  caller: Caller;
  subjectId: string;
}

export interface Commit {
  /** Stores what `work` writes, and records what it changed of the subject; `work` may run again. Without a difference nothing is recorded. */
  <T>(act: Act, work: (session: Session) => Promise<T>): Promise<T>;
  /** The same for several additions to one account, in order. An addition whose result is an ApiError was not made. */
  all<T>(acts: readonly Act[], work: (session: Session) => Promise<readonly T[]>): Promise<readonly T[]>;
}

export interface CommitDeps {
  transaction: Database['transaction'];
  forAccount: (accountId: string) => AccountStores;
  activities: ActivityStore;
  newId: NewId;
  /** Called for every activity, in the same transaction. */
  onActivity?: (activities: readonly ActivityDoc[], session: Session) => Promise<void>;
}

export function createCommit({ transaction, forAccount, activities, newId, onActivity }: CommitDeps): Commit {
  async function tell(told: readonly { act: Act; changes: Change[] }[], session: Session): Promise<void> {
    if (told.length === 0) return;
    const docs = told.map(({ act, changes }) => toActivity(newId('act'), act, changes));
    await activities.insert(docs, session);
    await onActivity?.(docs, session);
  }

  const shown = ({ caller, subjectId }: Act, session: Session): Promise<Shown | null> =>
    shownOf(forAccount(caller.accountId), caller.doing!.operation, subjectId, session);

  const commit = <T>(act: Act, work: (session: Session) => Promise<T>): Promise<T> =>
    transaction(async (session) => {
      const { effect, input } = doingOf(act);
      if (effect === 'adds') {
        const result = await work(session);
        await tell([{ act, changes: askedIn(input) }], session);
        return result;
      }
      const before = await shown(act, session);
      const result = await work(session);
      const changes = changesBetween(before, await shown(act, session));
      if (changes.length > 0) await tell([{ act, changes }], session);
      return result;
    });

  const all: Commit['all'] = (acts, work) =>
    transaction(async (session) => {
      const results = await work(session);
      const made = acts.filter((_, index) => !(results[index] instanceof ApiError));
      await tell(
        made.map((act) => ({ act, changes: askedIn(doingOf(act).input) })),
        session,
      );
      return results;
    });

  return Object.assign(commit, { all });
}

function doingOf({ caller }: Act) {
  if (!caller.doing) throw new Error('something is changed outside of an operation');
  return caller.doing;
}

/** The subject has the id. */
const askedIn = ({ id: _, ...body }: Readonly<Record<string, unknown>>): Change[] => changesAsked(body);

function toActivity(_id: string, act: Act, changes: Change[]): ActivityDoc {
  const { caller, subjectId } = act;
  const { accountId, address = null } = caller;
  return { _id, accountId, actor: actorOf(caller), operation: doingOf(act).operation, subjectId, changes, address };
}

function actorOf({ user, agent, keyId, keyName = '' }: Caller): Actor {
  if (user) return { type: 'user', id: user.id, name: user.name };
  if (agent === 'cli') return CLI;
  return agent === 'system' || keyId === '' ? SYSTEM : { type: 'key', id: keyId, name: keyName };
}
