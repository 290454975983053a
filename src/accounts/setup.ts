/** Sets an installation up in the browser: one person with the code makes the first account and
 *  becomes its first OWNER. The code is worth nothing once there is an account, except to go on
 *  with a setup that was cut off before its OWNER could sign in again. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { setup } from '../../contracts/setup.js';
import { WRONG_CODE } from '../../contracts/setup-code.js';
import { dashboardUrlOf } from '../domain/dashboard-url.js';
import { ApiError, conflict, rateLimited } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { define, flag, openCollection, optional } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { type NewId, newToken } from '../kit/ids.js';
import type { SecretBox } from '../kit/secrets.js';
import type { ForAccount } from '../stores.js';
import type { AccountStore } from './account-store.js';
import type { Commit } from './commit.js';
import { type OpenSession, toCaller } from './sessions.js';
import type { UserDoc, UserStore } from './user-store.js';

// The one document of the setup.

const SETUP = define('setup', {
  _id: String,
  /** The code, where it was generated. */
  sealed: optional(String),
  /** The account that it made, and its first OWNER. */
  accountId: optional(String),
  userId: optional(String),
  /** The OWNER has a passkey, or was shown the API key. */
  isDone: flag(),
  /** Wrong codes of an hour. */
  tries: optional({ count: Number, endsAt: Date }),
});

const ID = 'setup';
const HOUR_MS = 3_600_000;

export type SetupStore = ReturnType<typeof createSetupStore>;

export function createSetupStore(connection: mongoose.Connection) {
  const collection = openCollection(connection, SETUP);
  const one = { _id: ID };
  const returning = { upsert: true, returnDocument: 'after' } as const;
  return {
    get: () => collection.findOne(one),
    /** The sealed code of the first process ever: this one, if there was none. */
    async sealedCode(own: string): Promise<string> {
      const set = { sealed: { $ifNull: ['$sealed', own] } };
      return (await collection.findOneAndUpdate(one, [{ $set: set }], returning))!.sealed!;
    },
    /** Counts tries of the hour that began with the first one, by the database's clock. @param
     *  tries negative to take some back */
    async countTries(tries: number): Promise<{ count: number; endsAt: Date }> {
      const later = { $add: ['$$NOW', HOUR_MS] };
      const isRunning = { $and: [{ $gt: ['$tries.endsAt', '$$NOW'] }, { $lte: ['$tries.endsAt', later] }] };
      const counted = {
        count: { $max: [0, { $add: [{ $cond: [isRunning, '$tries.count', 0] }, tries] }] },
        endsAt: { $cond: [isRunning, '$tries.endsAt', later] },
      };
      return (await collection.findOneAndUpdate(one, [{ $set: { tries: counted } }], returning))!.tries!;
    },
    /** @returns false when a setup has begun already */
    async begin(made: { accountId: string; userId: string }, session: Session): Promise<boolean> {
      const unbegun = { ...one, accountId: { $exists: false } };
      return (await collection.updateOne(unbegun, { $set: made }, { session })).matchedCount === 1;
    },
    /** Ends the setup of this user, for good. */
    async end(userId: string, session?: Session): Promise<void> {
      const over = { $set: { isDone: true as const }, $unset: { sealed: '', tries: '' } } as const;
      await collection.updateOne({ ...one, userId }, over, session ? { session } : {});
    },
  };
}

/** NEW: there is no account. BEGUN: its first OWNER has no way yet to sign in again. */
export type SetupStage = 'NEW' | 'BEGUN' | 'DONE';

interface CodeDeps {
  forAccount: ForAccount<'account' | 'apiKeys' | 'users'>;
  setup: SetupStore;
  accounts: Pick<AccountStore, 'isAny' | 'insert'>;
  secrets: Pick<SecretBox, 'seal' | 'open'>;
  clock: Clock;
  publicUrl: string;
  /** The operator's code; null: one is generated. */
  code: string | null;
  /** False where the first start makes a demo account instead. */
  isOffered: boolean;
}

/** How far the setup is, and the code that lets one person in. */
export type SetupCode = ReturnType<typeof createSetupCode>;

export function createSetupCode({ forAccount, setup, accounts, secrets, clock, ...given }: CodeDeps) {
  const { publicUrl, code: chosen, isOffered } = given;
  let isDone = false;

  async function stage(): Promise<SetupStage> {
    if (isDone) return 'DONE';
    const found = await setup.get();
    if (found?.accountId) {
      if (!found.isDone && (await isAlone(found.accountId, found.userId!))) return 'BEGUN';
    } else {
      if (isOffered && !(await accounts.isAny())) return 'NEW';
      // The account may be that of a setup that has begun since the first look.
      if ((await setup.get())?.accountId) return stage();
    }
    // Accounts are never deleted.
    isDone = true;
    return 'DONE';
  }

  /** The first OWNER is still there, and has never used the key that the setup showed. */
  async function isAlone(accountId: string, userId: string): Promise<boolean> {
    const { users, apiKeys } = forAccount(accountId);
    const [user, key] = [await users.byId(userId), await apiKeys.byId(keyIdOf(accountId))];
    return user?.role === 'OWNER' && (key?.lastUsedAt ?? null) === null;
  }

  async function code(): Promise<string> {
    return chosen ?? secrets.open(await setup.sealedCode(secrets.seal(newToken(clock), ID)), ID);
  }

  return {
    stage,
    code,
    /** There is nothing to set up, and no account yet: the first start makes one. */
    awaitsDemo: async (): Promise<boolean> => !isOffered && !(await accounts.isAny()),
    /** The line that leads its reader in. It alone shows the code. */
    line: async (): Promise<string> => `Set up at ${dashboardUrlOf(publicUrl)}/dashboard/setup#${await code()}`,
  };
}

/** The id of the key that the setup shows. */
const keyIdOf = (accountId: string) => accountId.replace('acct_', 'key_');

/** Wrong codes in an hour, of all addresses together. */
const MOST_WRONG = 100;

type SetupInput = ParsedInputOf<typeof setup.enter>;
type Entered = OutputOf<typeof setup.enter> & { session: OpenSession };

interface SetupDeps extends Omit<CodeDeps, 'code' | 'secrets' | 'isOffered' | 'publicUrl'> {
  code: SetupCode;
  users: Pick<UserStore, 'byId'>;
  sessions: { openFor(user: UserDoc): Promise<OpenSession> };
  apiKeys: Pick<ServiceOf<Contract['apiKeys']>, 'create'>;
  commit: Commit;
  newId: NewId;
}

export type Setup = ReturnType<typeof createSetup>;

export function createSetup(deps: SetupDeps) {
  const { setup, users, sessions, clock } = deps;
  const { stage, code } = deps.code;
  let isBusy = false;
  let ending: Promise<unknown> = Promise.resolve();

  return {
    async stage(): Promise<SetupStage> {
      await ending;
      return stage();
    },

    /** Counted before the code is looked at, so that guesses at once are no more than one after
     *  the other.
     *  @throws ApiError `forbidden` for a wrong code; `rate_limited` after too many, for the right
     *  one too */
    async check(given: unknown): Promise<void> {
      const { count, endsAt } = await setup.countTries(1);
      if (count > MOST_WRONG) throw rateLimited(secondsUntil(endsAt, clock));
      if (typeof given !== 'string' || !isSame(given, await code())) throw new ApiError('forbidden', WRONG_CODE);
      await setup.countTries(-1);
    },

    /** Makes the account and its OWNER, or goes on with them; opens a session. The code
     *  was checked.
     *  @throws ApiError `conflict` when another one was faster */
    async enter(input: SetupInput, address: string): Promise<Entered> {
      if (isBusy) throw conflict('This installation is being set up at this moment. Try again shortly.');
      isBusy = true;
      try {
        const known = await setup.get();
        const user = known?.userId ? await goOn(deps, known.userId, input) : await make(deps, input, address);
        const apiKey = input.passkeys ? null : await showKey(deps, user, address);
        return { accountId: user.accountId, userId: user._id, apiKey, session: await sessions.openFor(user) };
      } finally {
        isBusy = false;
      }
    },

    /** The answer with the API key has left. */
    async shown(userId: string): Promise<void> {
      ending = setup.end(userId).catch(() => undefined);
      await ending;
    },
  };

  async function goOn({ forAccount }: SetupDeps, userId: string, { accountName, userName }: SetupInput) {
    const user = (await users.byId(userId))!;
    const { name } = (await forAccount(user.accountId).account.get())!;
    if (name === accountName && user.name === userName) return user;
    throw conflict(`This setup was begun for "${name}" by "${user.name}": enter these names to go on with it.`);
  }
}

const taken = () => conflict('Another person has just set this installation up.');

/** In one transaction: there is never an account without its OWNER. */
async function make(
  { setup, accounts, forAccount, commit, clock, newId }: SetupDeps,
  { accountName: name, userName, email = null }: SetupInput,
  address: string,
): Promise<UserDoc> {
  const [accountId, createdAt] = [newId('acct'), clock.now()];
  const user: UserDoc = {
    ...{ _id: newId('user'), accountId, name: userName, role: 'OWNER', email, status: 'ACTIVE', invitation: null },
    ...{ passkeys: [], language: null, revision: 0, sparedCount: 0, createdAt },
  };
  const doing = { operation: 'account_create', effect: 'adds', input: { name, userName, email } } as const;
  await commit({ caller: { ...toCaller(user), address, doing }, subjectId: accountId }, async (session) => {
    const isFirst = (await setup.begin({ accountId, userId: user._id }, session)) && !(await accounts.isAny(session));
    if (!isFirst) throw taken();
    await accounts.insert({ _id: accountId, name, createdAt }, session);
    await forAccount(accountId).users.insert(user, session);
  });
  return user;
}

/** Another run replaces the key: the answer with the one before was lost. */
async function showKey({ apiKeys }: SetupDeps, user: UserDoc, address: string): Promise<string> {
  const caller: Caller = { ...toCaller(user), address, reservedId: () => keyIdOf(user.accountId) };
  return (await apiKeys.create(caller, { name: 'first key', scope: 'FULL' })).key;
}

/** Takes as long for every wrong code. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));
const digest = (text: string) => createHash('sha256').update(text).digest();

/** A clock apart from the database's does not make the wait longer than the hour. */
const secondsUntil = (moment: Date, clock: Clock) =>
  Math.min(3600, Math.max(1, Math.ceil((moment.getTime() - clock.nowMs()) / 1000)));
