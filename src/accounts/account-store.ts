/** Accounts: the owners of everything. An account is never deleted. */
import mongoose from 'mongoose';
import type { NoticeKind } from '../../contracts/notifications.js';
import type { Brand } from '../domain/brand.js';
import { driverOf } from '../kit/collection.js';
import { PART_OPTIONS, SCHEMA_OPTIONS, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { createLookup, createSharedRead } from '../kit/tick-loader.js';

export interface AccountDoc {
  _id: string;
  name: string;
  createdAt: Date;
  /** Counts creations under a quota, refused ones too: each writes it, so that concurrent ones run
   *  one after the other. Absent before the first. */
  creations?: number;
  /** Fields that were never set are absent. */
  brand?: Partial<Brand>;
  /** Markups in percent, oldest first; the newest holds. Missing for none. */
  rateMarkups?: { percent: string; from: Date }[];
  /** Currencies of its books, past ones included, oldest first. Missing for none. */
  booksCurrencies?: { currency: string | null; from: Date }[];
  /** The last of `bookCurrencies`; missing for none. */
  booksCurrency?: string;
  /** The tolerance of new products and checkouts; canonical. Missing for none. */
  tolerancePercent?: string;
  /** Tips of the point of sale; canonical. Missing for none. */
  tipPercents?: string[];
  /** Origins whose pages may frame its pages. Missing: none. */
  embedOrigins?: string[];
  /** Whether the dashboard shows the first steps. Missing while it was never set: shown. */
  onboarding?: 'shown' | 'hidden';
  /** Which notifications it gets by e-mail, and at which addresses. Missing when never set. */
  notifications?: { recipients: string[]; kinds: NoticeKind[] };
}

const brandSchema = new mongoose.Schema<Partial<Brand>>(
  { name: String, logoUrl: String, color: String, supportUrl: String, supportEmail: String },
  PART_OPTIONS,
);

const accountSchema = new mongoose.Schema<AccountDoc>(
  {
    _id: String,
    name: String,
    createdAt: Date,
    creations: { type: Number, required: false },
    brand: { type: brandSchema, required: false },
    rateMarkups: { type: [new mongoose.Schema({ percent: String, from: Date }, PART_OPTIONS)], default: undefined },
    booksCurrencies: {
      type: [new mongoose.Schema({ currency: { type: String, default: null }, from: Date }, PART_OPTIONS)],
      default: undefined,
    },
    booksCurrency: { type: String, required: false },
    tolerancePercent: { type: String, required: false },
    tipPercents: { type: [String], default: undefined },
    embedOrigins: { type: [String], default: undefined },
    onboarding: { type: String, required: false },
    notifications: {
      type: new mongoose.Schema({ recipients: [String], kinds: [String] }, PART_OPTIONS),
      required: false,
    },
  },
  { ...SCHEMA_OPTIONS, collection: 'accounts' },
);

// Partial index: few accounts have one.
accountSchema.index({ booksCurrency: 1 }, { partialFilterExpression: { booksCurrency: { $gt: '' } }, name: 'books' });

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
  const accounts = connection.model<AccountDoc>('Account', accountSchema);
  const page = createPages(driverOf(accounts));
  const collection = accounts.collection as unknown as mongoose.mongo.Collection<AccountDoc>;
  const shared = createLookup(
    (ids) => collection.find({ _id: { $in: ids } }).toArray(),
    ({ _id }) => _id,
  );
  const byId = (id: string, session?: Session): Promise<AccountDoc | null> =>
    session ? collection.findOne({ _id: id }, { session }) : shared(id);
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
    return accounts
      .findOneAndUpdate(
        { _id: accountId },
        { $set: set, ...(currency === null ? { $unset: { booksCurrency: 1 } } : {}) },
        { returnDocument: 'after', session },
      )
      .lean<AccountDoc>()
      .exec();
  },
  /** Null when there is no such account. */
  setNotifications: (notifications: NonNullable<AccountDoc['notifications']>, session?: Session) =>
    accounts
      .findOneAndUpdate({ _id: accountId }, { $set: { notifications } }, { returnDocument: 'after', session })
      .lean<AccountDoc>()
      .exec(),
  /** Two transactions that call this at the same time conflict: one retries after the other. */
  async countCreations(added: number, session: Session): Promise<void> {
    await accounts.updateOne({ _id: accountId }, { $inc: { creations: added } }, { session });
  },
});

const ofAllAccounts = ({ accounts, page, byId }: Opened) => ({
  async insert(account: AccountDoc, session?: Session): Promise<void> {
    await accounts.collection.insertOne(account as never, { session });
  },
  byId,
  isAny: async (session?: Session) => (await accounts.exists({}).session(session ?? null)) !== null,
  /** The markup in force, in percent; undefined when never set. */
  markupOf: createSharedRead(String, async (id: string) => {
    const projection = { _id: 0, percent: { $last: '$rateMarkups.percent' } };
    const found = await accounts.collection.findOne<{ percent?: string }>({ _id: id as never }, { projection });
    return found?.percent;
  }),
  /** Those of these accounts that keep or kept books in a currency. */
  withBooks: (ids: readonly string[], session: Session) =>
    accounts
      .find({ _id: { $in: [...ids] }, booksCurrencies: { $ne: null } }, { booksCurrencies: 1 })
      .session(session)
      .lean<Pick<AccountDoc, '_id' | 'booksCurrencies'>[]>()
      .exec(),
  /** Those of these accounts that have or had a markup. */
  withMarkups: (ids: readonly string[], session?: Session) =>
    accounts
      .find({ _id: { $in: [...ids] }, rateMarkups: { $ne: null } }, { rateMarkups: 1 })
      .session(session ?? null)
      .lean<Pick<AccountDoc, '_id' | 'rateMarkups'>[]>()
      .exec(),
  /** Those of these accounts that get any notification by e-mail. */
  withNotifications: (ids: readonly string[], session: Session) =>
    accounts
      .find({ _id: { $in: [...ids] }, 'notifications.recipients.0': { $exists: true } }, { notifications: 1 })
      .session(session)
      .lean<Pick<AccountDoc, '_id' | 'notifications'>[]>()
      .exec(),
  /** Accounts that keep their books in it. */
  idsByBooks: (booksCurrency: string): Promise<string[]> => accounts.distinct('_id', { booksCurrency }).exec(),
  list: (request: PageRequest) => page({}, request),
  /** In the order of `ids`. */
  async idsAfter(id: string, limit: number): Promise<string[]> {
    const found = await accounts
      .find({ _id: { $gt: id } }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<{ _id: string }[]>();
    return found.map(({ _id }) => _id);
  },
});
