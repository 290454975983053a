/** Stores a caller's changes in one transaction with their activity, so that neither exists without
 *  the other. Services change nothing in any other transaction. */
import type { Contract } from '../../contracts/index.js';
import { NO_BRAND } from '../domain/brand.js';
import { ApiError } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import { type Database, type Insert, insertTogether, type Session } from '../kit/database.js';
import { createGroupCommit, createJointCommit } from '../kit/group-commit.js';
import type { NewId } from '../kit/ids.js';
import type { AccountStores } from '../stores.js';
import type { ActivityDoc, ActivityStore } from './activity.js';

// The changeable fields of each kind of resource, as the API shows them, from which activity
// derives the differences.

type Read = (stores: AccountStores, id: string, session: Session) => Promise<Shown | null>;

const time = (date: Date | null | undefined): string | null => date?.toISOString() ?? null;

/** By the resource of the operation. */
const READS: Partial<Record<keyof Contract, Read>> = {
  async account({ account }, _id, session) {
    const found = await account.get(session);
    if (!found) return null;
    const {
      name,
      brand,
      rateMarkups,
      booksCurrency,
      tolerancePercent = '0',
      tipPercents = [],
      embedOrigins = [],
      onboarding = 'shown',
    } = found;
    return {
      ...{ name, rateMarkupPercent: rateMarkups?.at(-1)?.percent ?? '0', booksCurrency, tolerancePercent },
      ...{ tipPercents, embedOrigins, onboarding },
      ...Object.fromEntries(flat({ brand: { ...NO_BRAND, ...brand } })),
    };
  },
  async notifications({ account }, _id, session) {
    const { recipients = [], kinds = [] } = (await account.get(session))?.notifications ?? {};
    return { recipients, kinds: [...kinds] };
  },
  async apiKeys({ apiKeys }, id, session) {
    const found = await apiKeys.byId(id, session);
    return (
      found && { name: found.name, scope: found.scope, expiresAt: time(found.expiresAt), key: new Secret(found.hash) }
    );
  },
  async users({ users }, id, session) {
    const found = await users.byId(id, session);
    if (!found) return null;
    const { name, role, email, status, passkeys, invitation } = found;
    return {
      ...{
        name,
        role,
        email,
        status,
        passkeys: passkeys.map((each) => `${each.name ?? 'Passkey'} ${each.id.slice(0, 8)}`),
      },
      invitation: new Secret(invitation?.hash ?? ''),
    };
  },
  async wallets({ wallets }, id, session) {
    const found = await wallets.byId(id, session);
    return found && { name: found.name, address: found.address, network: found.network, active: found.active };
  },
  async products({ products }, id, session) {
    const found = await products.byId(id, session);
    if (!found) return null;
    const { name, description, imageUrl, walletId, active, stock } = found;
    const { assetCode, assetIssuer, priceType, price, minAmount, currency, tolerancePercent } = found;
    return {
      ...{ name, description, imageUrl, walletId, active, stock },
      ...{ assetCode, assetIssuer, priceType, price, minAmount, currency, tolerancePercent },
    };
  },
  async paymentLinks({ paymentLinks }, id, session) {
    const found = await paymentLinks.byId(id, session);
    if (!found) return null;
    const { name, productId, active, order, endsAt, inactiveText, afterPayment, maxPayments } = found;
    return {
      ...{ name, productId, active, endsAt: time(endsAt), inactiveText, maxPayments },
      ...Object.fromEntries(flat({ order, afterPayment })),
    };
  },
  async coupons({ coupons }, id, session) {
    const found = await coupons.byId(id, session);
    if (!found) return null;
    const { code, percentOff, amountOff, currency, assetCode, assetIssuer, productIds, minSubtotal } = found;
    const { startsAt, endsAt, maxRedemptions, active } = found;
    return {
      ...{ code, percentOff, amountOff, currency, assetCode, assetIssuer, productIds, minSubtotal },
      ...{ startsAt: time(startsAt), endsAt: time(endsAt), maxRedemptions, active },
    };
  },
  async checkouts({ checkouts }, id, session) {
    const found = await checkouts.byId(id, session);
    return found && { status: found.status };
  },
  async payments({ payments }, id, session) {
    const found = await payments.byId(id, session);
    if (!found) return null;
    const { status, reason, paymentLinkId, checkoutId, needsDecision, dismissal, refundedAmount = '0' } = found;
    return {
      ...{ status, reason, paymentLinkId, checkoutId, needsDecision, refundedAmount },
      ...{ decisionNote: dismissal?.note },
    };
  },
  async webhooks({ webhooks }, id, session) {
    const found = await webhooks.byId(id, session);
    if (!found) return null;
    const { name, url, events, status, secrets } = found;
    const [secret, ...previous] = secrets.map(({ sealed }) => sealed);
    return {
      ...{ name, url, events, status, secret: new Secret(secret ?? '') },
      ...(previous.length > 0 ? { previousSecret: new Secret(previous.join(' ')) } : {}),
    };
  },
  /** The account's own rate for the pair. */
  async rates({ ownRates }, pair, session) {
    const found = await ownRates.newest(pair, session);
    return found?.rate ? { rate: found.rate, expiresAt: time(found.until) } : null;
  },
};

/** Null for a missing resource. @param operation such as `products_update` */
function shownOf(stores: AccountStores, operation: string, subjectId: string, session: Session): Promise<Shown | null> {
  const read = READS[operation.slice(0, operation.indexOf('_')) as keyof Contract];
  if (!read) throw new Error(`nothing is known to change by ${operation}`);
  return read(stores, subjectId, session);
}

/** The changes that an activity records: fields with their old and new values. A record is bounded
 *  and never holds a secret. */
type Value = string | number | boolean | null | string[];

export interface Change {
  field: string;
  from: Value;
  to: Value;
}

export interface Actor {
  type: 'user' | 'key' | 'cli' | 'system';
  id: string;
  name: string;
}

/** Stands for a secret among fields: it can be compared, but is never shown. */
export class Secret {
  readonly #of: string;
  constructor(of: string) {
    this.#of = of;
  }
  equals(other: unknown): boolean {
    return other instanceof Secret && other.#of === this.#of;
  }
}

/** Fields of a resource by their API names. */
type Shown = Readonly<Record<string, Value | Secret | undefined>>;

/** Actors without a user or key: the service itself, and the operator's command line. */
export const SYSTEM: Actor = { type: 'system', id: 'system', name: 'system' };
const CLI: Actor = { type: 'cli', id: 'cli', name: 'cli' };

/** Data of a payer must not outlast the checkout. */
const PERSONAL: ReadonlySet<string> = new Set(['customerEmail']);
const MAX_CHANGES = 50;
const MAX_CHARACTERS = 300;
const MAX_ENTRIES = 30;

/** The fields that differ. Null stands for an absent value. */
export function changesBetween(before: Shown | null, after: Shown | null): Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  const changes = [...fields].flatMap((field): Change[] => {
    const [from, to] = [before?.[field] ?? null, after?.[field] ?? null];
    if (isSame(from, to)) return [];
    if (from instanceof Secret || to instanceof Secret) return [{ field, from: null, to: null }];
    return [{ field, from: cut(from), to: cut(to) }];
  });
  return bounded(changes);
}

/** The fields of a new resource, from its valid body. A payer's address is noted as given, without
 *  its value. */
export function changesAsked(body: Readonly<Record<string, unknown>>): Change[] {
  return bounded(flat(body).map(([field, to]) => ({ field, from: null, to: PERSONAL.has(field) ? null : cut(to) })));
}

/** All given fields, those of objects as `object.field`. */
const flat = (fields: Readonly<Record<string, unknown>>, prefix = ''): [string, Exclude<Value, null>][] =>
  Object.entries(fields).flatMap(([name, value]): [string, Exclude<Value, null>][] => {
    if (value === undefined || value === null) return [];
    const field = `${prefix}${name}`;
    if (Array.isArray(value)) return [[field, value.map((each) => textOf(each))]];
    if (typeof value === 'object') return flat(value as Record<string, unknown>, `${field}.`);
    return [[field, typeof value === 'number' || typeof value === 'boolean' ? value : String(value)]];
  });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function isSame(from: Value | Secret, to: Value | Secret): boolean {
  if (from instanceof Secret) return from.equals(to);
  return JSON.stringify(from) === JSON.stringify(to);
}

/** Notes how many changes it leaves out. */
function bounded(changes: Change[]): Change[] {
  if (changes.length <= MAX_CHANGES) return changes;
  const more = changes.length - MAX_CHANGES;
  return [...changes.slice(0, MAX_CHANGES), { field: '…', from: null, to: `${more} more fields` }];
}

function cut(value: Value): Value {
  if (typeof value === 'string') return cutText(value);
  if (!Array.isArray(value)) return value;
  const kept = value.slice(0, MAX_ENTRIES).map(cutText);
  return value.length > MAX_ENTRIES ? [...kept, `… ${value.length - MAX_ENTRIES} more`] : kept;
}

function cutText(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text;
  // Never split a surrogate pair.
  const kept = text.slice(0, MAX_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '');
  return `${kept}… (${text.length} characters)`;
}

/** A change by an actor. */
export interface Act {
  caller: Caller;
  subjectId: string;
}

export interface Commit {
  /** Stores what `work` writes, and records what it changed of the subject; `work` may run again.
   *  Without a difference nothing is recorded. */
  <T>(act: Act, work: (session: Session) => Promise<T>): Promise<T>;
  /** The same for several additions, in order. An addition whose result is an
   *  ApiError was not made.
   *  @param work may store new documents by `storeNew`, once: in one round trip with the
   *  activity */
  all<T>(
    acts: readonly Act[],
    work: (session: Session, storeNew: StoreNew) => Promise<readonly T[]>,
  ): Promise<readonly T[]>;
  /** A function for additions: those that come at one moment are made together. What hinders an
   *  account's additions delays or fails those of no other account.
   *  @param work as of `all`, for several additions to any accounts; may throw the ApiError or
   *  `Taken` of one of them */
  inGroups<A extends Act, T>(
    work: (acts: readonly A[], session: Session, storeNew: StoreNew) => Promise<readonly T[]>,
  ): (act: A) => Promise<T>;
}

/** @param results as they are known by then; by default none is an ApiError */
export type StoreNew = (inserts: readonly Insert[], results?: readonly unknown[]) => Promise<void>;

export interface CommitDeps {
  transaction: Database['transaction'];
  forAccount: (accountId: string) => AccountStores;
  activities: ActivityStore;
  newId: NewId;
  /** A transaction over several accounts would be one over several shards, which is slow. */
  isSharded?: boolean;
  /** Called for every activity, in the same transaction. */
  onActivity?: (activities: readonly ActivityDoc[], session: Session) => Promise<void>;
}

/** Attempts at a transaction for several accounts, before each account has its own. */
const JOINT_ATTEMPTS = 2;

export function createCommit(deps: CommitDeps): Commit {
  const { transaction, forAccount, activities, newId, isSharded, onActivity } = deps;

  async function tell(
    told: readonly { act: Act; changes: Change[] }[],
    session: Session,
    inserts: readonly Insert[] = [],
  ): Promise<void> {
    const docs = told.map(({ act, changes }) => toActivity(newId('act'), act, changes));
    await insertTogether([...inserts, activities.insertOf(docs)], session);
    if (docs.length > 0) await onActivity?.(docs, session);
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

  const addAll = <T>(
    acts: readonly Act[],
    work: (session: Session, storeNew: StoreNew) => Promise<readonly T[]>,
    options?: { attempts: number },
  ): Promise<readonly T[]> =>
    transaction(async (session) => {
      let isTold = false;
      const storeNew: StoreNew = async (inserts, results = []) => {
        isTold = true;
        const made = acts.filter((_, index) => !(results[index] instanceof ApiError));
        const told = made.map((act) => ({ act, changes: askedIn(doingOf(act).input) }));
        await tell(told, session, inserts);
      };
      const results = await work(session, storeNew);
      if (!isTold) await storeNew([], results);
      return results;
    }, options);

  function inGroups<A extends Act, T>(
    work: (acts: readonly A[], session: Session, storeNew: StoreNew) => Promise<readonly T[]>,
  ): (act: A) => Promise<T> {
    const writer = (options?: { attempts: number }) => (acts: readonly A[]) =>
      addAll(acts, (session, storeNew) => work(acts, session, storeNew), options);
    const add = isSharded
      ? createGroupCommit(writer())
      : createJointCommit(writer({ attempts: JOINT_ATTEMPTS }), writer());
    return (act) => add(act.caller.accountId, act);
  }

  const all: Commit['all'] = (acts, work) => addAll(acts, work);
  return Object.assign(commit, { all, inGroups });
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
