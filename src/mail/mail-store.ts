/** E-mails to send and sent, one document for each recipient. `nextAttemptAt` is a date exactly
 *  while it is PENDING. Sending takes the e-mail's lease, which goes by the database's clock; after
 *  a crash the lease ends and another process sends it: at least once. */
import type mongoose from 'mongoose';
import { type Collection, type DocOf, define, EPOCH, nullable, openCollection, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';

export type MailSort = 'receipt' | 'notice' | 'security';

/** SENT: the mail server took it. DROPPED: a receipt over the daily limit. */
type MailStatus = 'PENDING' | 'SENT' | 'FAILED' | 'DROPPED';

export type NewMail = Pick<
  MailDoc,
  '_id' | 'accountId' | 'sort' | 'key' | 'to' | 'kind' | 'facts' | 'leftBefore' | 'noneUntil' | 'createdAt'
>;

/** The result of an attempt. */
export type MailResult = Pick<MailDoc, 'status' | 'nextAttemptAt' | 'lastError'> & { at: Date };

const MAILS = define(
  'mails',
  {
    _id: String,
    accountId: String,
    sort: text<MailSort>(),
    /** The occasion: one e-mail for each recipient. */
    key: String,
    to: String,
    /** `receipt`, a kind of notification, or that of a security notice. */
    kind: String,
    /** Its content as JSON, complete, because other documents may be gone by the time it
     *  is sent. */
    facts: String,
    /** How many of its kind the address was not sent before it, for being too many. */
    leftBefore: Number,
    /** The address gets no more of its kind until then; null while it does. */
    noneUntil: nullable(Date),
    status: text<MailStatus>(),
    /** Attempts begun. */
    attemptCount: Number,
    nextAttemptAt: nullable(Date),
    lease: nullable({ holder: String, until: Date }),
    /** The day (UTC) of its first attempt, for the daily limit; empty before. */
    day: String,
    lastError: nullable(String),
    failedAt: nullable(Date),
    endedAt: nullable(Date),
    createdAt: Date,
  },
  [
    { key: { accountId: 1, key: 1, to: 1 }, unique: true },
    {
      key: { accountId: 1, nextAttemptAt: 1, _id: 1 },
      partialFilterExpression: { nextAttemptAt: { $gte: EPOCH } },
      name: 'due',
    },
    // Long waiting ones.
    { key: { createdAt: 1 }, partialFilterExpression: { nextAttemptAt: { $gte: EPOCH } }, name: 'waiting' },
    { key: { accountId: 1, sort: 1, day: 1 }, partialFilterExpression: { day: { $gt: '' } }, name: 'ofDay' },
    { key: { accountId: 1, failedAt: -1 }, partialFilterExpression: { failedAt: { $gte: EPOCH } }, name: 'failures' },
    { key: { endedAt: 1 }, partialFilterExpression: { endedAt: { $gte: EPOCH } }, name: 'ended' },
  ],
);

export interface MailDoc extends DocOf<typeof MAILS> {}

const REMOVED_AT_ONCE = 1000;
const FREE = { $expr: { $lte: [{ $ifNull: ['$lease.until', EPOCH] }, '$$NOW'] } };
const dueBy = (now: Date) => ({ nextAttemptAt: { $gte: EPOCH, $lte: now } });

/** What works across accounts: for the workers. */
export type MailStore = ReturnType<typeof createMailStore>['system'];

export function createMailStore(connection: mongoose.Connection) {
  const collection = openCollection<MailDoc>(connection, MAILS);
  return {
    forAccount: (accountId: string) => ({
      /** The last failed one that was not sent since. */
      lastFailure: () =>
        collection.findOne({ accountId, failedAt: { $gte: EPOCH } }, { sort: { failedAt: -1 }, hint: 'failures' }),
    }),
    system: { ...sendingOf(collection), ...lookingAfter(collection) },
  };
}

type Mails = Collection<MailDoc>;

const sendingOf = (collection: Mails) => ({
  /** Call in the transaction of what they report. They are due at once. */
  async insert(batch: readonly NewMail[], session: Session): Promise<void> {
    if (batch.length === 0) return;
    await collection.insertMany(
      batch.map((mail) => ({
        ...mail,
        status: 'PENDING' as const,
        attemptCount: 0,
        nextAttemptAt: mail.createdAt,
        ...{ lease: null, day: '', lastError: null, failedAt: null, endedAt: null },
      })),
      { session },
    );
  },
  /** Accounts with due e-mails: one index seek for each, however many are due. */
  dueAccounts: (now: Date): Promise<string[]> =>
    collection.distinct('accountId', { accountId: { $gt: '' }, ...dueBy(now) }),
  /** Begins an attempt of the account's longest due e-mail without a lease; null when there
   *  is none. */
  claim: (accountId: string, now: Date, { holder, leaseMs }: { holder: string; leaseMs: number }) =>
    collection.findOneAndUpdate(
      { accountId, ...dueBy(now), ...FREE },
      [
        {
          $set: {
            lease: { holder: { $literal: holder }, until: { $add: ['$$NOW', leaseMs] } },
            attemptCount: { $add: ['$attemptCount', 1] },
            day: { $cond: [{ $eq: ['$day', ''] }, now.toISOString().slice(0, 10), '$day'] },
          },
        },
      ],
      { sort: { nextAttemptAt: 1, _id: 1 }, returnDocument: 'after' },
    ),
  /** Number of the account's e-mails of this sort with their first attempt that day, counted up
   *  to `limit`. */
  countOfDay: ({ accountId, sort, day }: MailDoc, limit: number): Promise<number> =>
    collection.countDocuments({ accountId, sort, day }, { limit, hint: 'ofDay' }),
  /** Drops the account's due e-mails of this sort that were never attempted. */
  async dropDue({ accountId, sort }: MailDoc, error: string, now: Date): Promise<void> {
    await collection.updateMany(
      { accountId, sort, attemptCount: 0, ...dueBy(now) },
      { $set: { status: 'DROPPED', nextAttemptAt: null, lastError: error, failedAt: now, endedAt: now } },
    );
  },
  /** Does nothing if another process has its lease by now. */
  async record(
    { _id, accountId, lease }: MailDoc,
    { at, lastError, status, nextAttemptAt }: MailResult,
  ): Promise<void> {
    const failedAt = lastError === null ? null : at;
    const endedAt = status === 'PENDING' ? null : at;
    await collection.updateOne(
      { _id, accountId, 'lease.holder': lease!.holder },
      { $set: { status, nextAttemptAt, lease: null, lastError, failedAt, endedAt } },
    );
  },
});

const lookingAfter = (collection: Mails) => ({
  /** E-mails waiting since `before`: their number, counted up to `limit`, and why the oldest waits;
   *  null for none. */
  async waiting(before: Date, limit: number): Promise<{ count: number; error: string | null } | null> {
    const filter = { nextAttemptAt: { $gte: EPOCH }, createdAt: { $lte: before } };
    const oldest = await collection.findOne(filter, { sort: { createdAt: 1 }, hint: 'waiting' });
    if (!oldest) return null;
    const count = await collection.countDocuments(filter, { limit, hint: 'waiting' });
    return { count, error: oldest.lastError };
  },
  /** Removes a batch of those that ended before. @returns how many; less than a full batch when
   *  none is left */
  async removeEnded(before: Date): Promise<{ removed: number; isLast: boolean }> {
    const found = await collection
      .find({ endedAt: { $gte: EPOCH, $lt: before } }, { projection: { accountId: 1 }, limit: REMOVED_AT_ONCE })
      .toArray();
    const ids = found.map(({ _id }) => _id);
    const { deletedCount } = await collection.deleteMany({
      _id: { $in: ids },
      accountId: { $in: accountsOf(found) },
    });
    return { removed: deletedCount, isLast: found.length < REMOVED_AT_ONCE };
  },
});
