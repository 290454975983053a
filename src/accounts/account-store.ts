/** Accounts: the owners of everything. An account is never deleted. */
import type mongoose from 'mongoose';
import type { NoticeKind } from '../../contracts/notifications.js';
import type { Brand } from '../domain/brand.js';
import { type DocOf, define, NONE, nullable, openCollection, optional, shape, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { createLookup, createSharedRead } from '../kit/tick-loader.js';

const ACCOUNTS = define(
  'accounts',
  {
    _id: String,
    name: String,
    createdAt: Date,
    /** Counts creations under a quota, refused ones too: each writes it, so that concurrent ones
     *  run one after the other. Absent before the first. */
    creations: optional(Number),
    /** Fields that were never set are absent. */
    brand: optional(shape<Partial<Brand>>()),
    /** Markups in percent, oldest first; the newest holds. Missing for none. */
    rateMarkups: optional([{ percent: String, from: Date }]),
    /** Currencies of its books, past ones included, oldest first. Missing for none. */
    booksCurrencies: optional([{ currency: nullable(String), from: Date }]),
    /** The last of `bookCurrencies`; missing for none. */
    booksCurrency: optional(String),
    /** The tolerance of new products and checkouts; canonical. Missing for none. */
    tolerancePercent: optional(String),
    /** Tips of the point of sale; canonical. Missing for none. */
    tipPercents: optional([String]),
    /** Origins whose pages may frame its pages. Missing: none. */
    embedOrigins: optional([String]),
    /** Whether the dashboard shows the first steps. Missing while it was never set: shown. */
    onboarding: optional(text<'shown' | 'hidden'>()),
    /** Which notifications it gets by e-mail, and at which addresses. Missing when never set. */
    notifications: optional({ recipients: [String], kinds: [text<NoticeKind>()] }),
  },
  [
    // Partial index: few accounts have one.
    { key: { booksCurrency: 1 }, partialFilterExpression: { booksCurrency: { $gt: '' } }, name: 'books' },
  ],
);

export interface AccountDoc extends DocOf<typeof ACCOUNTS> {}

/** Bounds the size of the document, which is read often. */
export const CHANGES_KEPT = 1000;
/** A checkout lives for 90 days: no payment is judged by what ended longer ago. */
const KEPT_MS = 100 * 24 * 3_600_000;

/** The history with an entry that begins now. It begins after the last one, also where another
 *  process's clock is ahead: the newest holds. What ended so long ago that no payment needs it is
 *  cut. @param history oldest first */
export function withNewest<T extends { from: Date }>(history: readonly T[], entry: T): T[] {
  const ordered = [...history].sort((a, b) => a.from.getTime() - b.from.getTime());
  const afterMs = (ordered.at(-1)?.from.getTime() ?? Number.NEGATIVE_INFINITY) + 1;
  const from = new Date(Math.max(entry.from.getTime(), afterMs));
  const keptSince = entry.from.getTime() - KEPT_MS;
  const held = ordered.findLastIndex((each) => each.from.getTime() <= keptSince);
  return [...ordered.slice(Math.max(0, held)), { ...entry, from }].slice(-CHANGES_KEPT);
}

interface AccountChanges {
  brand?: Partial<Brand>;
  /** The markup. */
  percent?: string;
  /** The books' currency; null for none. */
  currency?: string | null;
  tolerancePercent?: string;
  tipPercents?: string[];
  embedOrigins?: string[];
  onboarding?: 'shown' | 'hidden';
}

/** What works across accounts: for administration. */
export type AccountStore = ReturnType<typeof createAccountStore>['system'];

export function createAccountStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const accounts = openCollection<AccountDoc>(connection, ACCOUNTS);
  const page = createPages(accounts);
  const shared = createLookup(
    (ids) => accounts.find({ _id: { $in: ids } }).toArray(),
    ({ _id }) => _id,
  );
  const byId = (id: string, session?: Session): Promise<AccountDoc | null> =>
    session ? accounts.findOne({ _id: id }, { session }) : shared(id);
  return { accounts, page, byId };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ accounts, byId }: Opened, accountId: string) => ({
  get: (session?: Session) => byId(accountId, session),
  /** Takes effect at that moment. Null when there is no such account. */
  async change({ brand, percent, currency, ...settings }: AccountChanges, from: Date, session?: Session) {
    const before = await byId(accountId, session);
    if (!before) return null;
    const { rateMarkups = [], booksCurrencies = [] } = before;
    const set = {
      ...Object.fromEntries(Object.entries(brand ?? {}).map(([field, value]) => [`brand.${field}`, value])),
      ...(percent === undefined ? {} : { rateMarkups: withNewest(rateMarkups, { percent, from }) }),
      ...(currency === undefined ? {} : { booksCurrencies: withNewest(booksCurrencies, { currency, from }) }),
      ...(currency ? { booksCurrency: currency } : {}),
      ...settings,
    };
    return accounts.findOneAndUpdate(
      { _id: accountId },
      { $set: set, ...(currency === null ? { $unset: { booksCurrency: 1 } } : {}) },
      { returnDocument: 'after', session },
    );
  },
  /** Null when there is no such account. */
  setNotifications: (notifications: NonNullable<AccountDoc['notifications']>, session?: Session) =>
    accounts.findOneAndUpdate({ _id: accountId }, { $set: { notifications } }, { returnDocument: 'after', session }),
  /** Two transactions that call this at the same time conflict: one retries after the other. */
  async countCreations(added: number, session: Session): Promise<void> {
    await accounts.updateOne({ _id: accountId }, { $inc: { creations: added } }, { session });
  },
});

const ofAllAccounts = ({ accounts, page, byId }: Opened) => ({
  async insert(account: AccountDoc, session?: Session): Promise<void> {
    await accounts.insertOne(account, { session });
  },
  byId,
  isAny: async (session?: Session) => (await accounts.findOne({}, { projection: { _id: 1 }, session })) !== null,
  /** The markup in force, in percent; undefined when never set. */
  markupOf: createSharedRead(String, async (id: string) => {
    const projection = { _id: 0, percent: { $last: '$rateMarkups.percent' } };
    const found = await accounts.findOne<{ percent?: string }>({ _id: id }, { projection });
    return found?.percent;
  }),
  /** Those of these accounts that keep or kept books in a currency. */
  withBooks: (ids: readonly string[], session: Session) =>
    accounts
      .find({ _id: { $in: [...ids] }, booksCurrencies: { $ne: NONE } }, { projection: { booksCurrencies: 1 }, session })
      .toArray(),
  /** Those of these accounts that have or had a markup. */
  withMarkups: (ids: readonly string[], session?: Session) =>
    accounts
      .find({ _id: { $in: [...ids] }, rateMarkups: { $ne: NONE } }, { projection: { rateMarkups: 1 }, session })
      .toArray(),
  /** Those of these accounts that get any notification by e-mail. */
  withNotifications: (ids: readonly string[], session: Session) =>
    accounts
      .find(
        { _id: { $in: [...ids] }, 'notifications.recipients.0': { $exists: true } },
        { projection: { notifications: 1 }, session },
      )
      .toArray(),
  /** Accounts that keep their books in it. */
  idsByBooks: (booksCurrency: string): Promise<string[]> => accounts.distinct('_id', { booksCurrency }),
  list: (request: PageRequest) => page({}, request),
  /** In the order of `ids`. */
  async idsAfter(id: string, limit: number): Promise<string[]> {
    const found = await accounts
      .find({ _id: { $gt: id } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
    return found.map(({ _id }) => _id);
  },
});
