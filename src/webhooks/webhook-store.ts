/** Webhooks: an account's endpoints, their secrets, and how far their deliveries are opened. */
import type mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import type { OpeningPlan, Subscriber } from '../events/index.js';
import {
  type Collection,
  type DocOf,
  define,
  EPOCH,
  nullable,
  openCollection,
  optional,
  shape,
  text,
} from '../kit/collection.js';
import { inOneBatch, orAlreadyMade, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { createWebhookHealth } from './health.js';

// Finds failing webhooks whose accounts have to be told. Part of the webhook store.

/** A webhook's last failure when its endpoint answered 410. */
const GONE = 'answered 410';

const createFailingWebhooks = (collection: Webhooks) => ({
  /** Webhooks with at least this many failures in a row over this time, or whose endpoint is gone,
   *  if the account was not told yet. */
  failingUntold({ attempts, lastedMs }: { attempts: number; lastedMs: number }, limit: number): Promise<WebhookDoc[]> {
    const isLong = { $gte: [{ $subtract: ['$lastFailure.at', '$failingSince'] }, lastedMs] };
    const failsLong = { $and: [{ $gte: ['$failedAttempts', attempts] }, isLong] };
    const isGone = { $and: [{ $eq: ['$status', 'PAUSED'] }, { $eq: ['$lastFailure.error', GONE] }] };
    const isUntold = { $ne: ['$failingSince', { $ifNull: ['$toldFailing', null] }] };
    const filter = { failingSince: { $gte: EPOCH }, $expr: { $and: [isUntold, { $or: [failsLong, isGone] }] } };
    return collection.find(filter, { limit, hint: 'failing' }).toArray();
  },
  /** @returns false when the account has been told since, or the webhook no longer fails so */
  async markTold({ _id, failingSince }: WebhookDoc, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id, failingSince, toldFailing: { $ne: failingSince } },
      { $set: { toldFailing: failingSince } },
      { session },
    );
    return modifiedCount === 1;
  },
});

// The lease of each webhook: which dispatcher sends its deliveries now. Part of the webhook store.
// A lease ends by the database's clock, because the clocks of processes differ.

interface WebhookLease {
  holder: string;
  until: Date;
  /** How long it lasted when it was taken or renewed. */
  lastsMs: number;
  /** A dispatcher with nothing to send wants it. Absent for false. */
  isWanted?: boolean;
}

const CLOCK_DOUBT_MS = 10_000;
/** True for a lease that has ended, or that ends so late that the database's clock must have been
 *  set back since. */
const IS_FREE = {
  $or: [
    { $lte: [{ $ifNull: ['$lease.until', EPOCH] }, '$$NOW'] },
    { $gt: ['$lease.until', { $add: ['$$NOW', '$lease.lastsMs', CLOCK_DOUBT_MS] }] },
  ],
};

/** Keeps `isWanted`. */
const withLease = (holder: string, lastsMs: number) => [
  {
    $set: {
      lease: { holder: { $literal: holder }, until: { $add: ['$$NOW', lastsMs] }, lastsMs: { $literal: lastsMs } },
    },
  },
];

const createWebhookLeases = (collection: Webhooks) => ({
  /** Takes those of these leases that are free, of ACTIVE webhooks, or already the holder's. */
  async takeLeases(ids: readonly string[], holder: string, lastsMs: number): Promise<void> {
    await collection.updateMany(
      { _id: { $in: [...ids] }, $or: [{ 'lease.holder': holder }, { status: 'ACTIVE', $expr: IS_FREE }] },
      withLease(holder, lastsMs),
    );
  },
  /** Renews those of these leases that `holder` has, even ended ones. A lease that another
   *  dispatcher had since is not renewed: deliveries loaded under it may have been sent. */
  async renewLeases(ids: readonly string[], holder: string, lastsMs: number): Promise<void> {
    await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, withLease(holder, lastsMs));
  },
  /** Marks these leases as wanted. */
  async wantLeases(ids: readonly string[]): Promise<void> {
    await collection.updateMany(
      { _id: { $in: [...ids] }, 'lease.holder': { $gt: '' }, 'lease.isWanted': { $ne: true } },
      { $set: { 'lease.isWanted': true } },
    );
  },
  /** These webhooks as they are now, with their leases. */
  byIds: (ids: readonly string[]): Promise<WebhookDoc[]> =>
    collection.find({ _id: { $in: [...ids] } }, inOneBatch(ids)).toArray(),
  async releaseLeases(ids: readonly string[], holder: string): Promise<void> {
    await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, { $set: { lease: null } });
  },
});

type Webhooks = Collection<WebhookDoc>;

type WebhookChanges = Partial<Pick<WebhookDoc, 'name' | 'url' | 'events' | 'status'>>;

const WEBHOOKS = define(
  'webhooks',
  {
    _id: String,
    accountId: String,
    name: String,
    url: String,
    events: [text<EventType>()],
    status: text<'ACTIVE' | 'PAUSED'>(),
    secretMasked: String,
    /** Newest first, sealed for this webhook. `until`: when a secret stops signing; null for the
     *  current one. */
    secrets: [{ sealed: String, until: nullable(Date) }],
    /** First failed attempt since the last success. */
    failingSince: nullable(Date),
    /** Failed attempts since the last success; absent for none. */
    failedAttempts: optional(Number),
    /** Number of starts (made ACTIVE or given another address): failures before the last one do not
     *  count. Absent for none. */
    starts: optional(nullable(Number)),
    /** The last failed attempt; absent for none. */
    lastFailure: optional(nullable({ at: Date, error: nullable(String) })),
    /** `failingSince` of the failures last reported to the account. Absent for none. */
    toldFailing: optional(nullable(Date)),
    /** `sequence` of the last event considered for it. */
    openedTo: Number,
    /** Number of its latest delivery. */
    deliverySequence: Number,
    /** Number of its replays. Absent for none. */
    replays: optional(Number),
    /** Null when released. */
    lease: nullable(shape<WebhookLease>()),
    createdAt: Date,
  },
  [
    { key: { accountId: 1, _id: -1 } },
    { key: { failingSince: 1 }, partialFilterExpression: { failingSince: { $gte: EPOCH } }, name: 'failing' },
  ],
);

export interface WebhookDoc extends DocOf<typeof WEBHOOKS> {}

const ROTATION_MS = 24 * 3_600_000;

/** What works across accounts: for the sequencer and the dispatchers. */
export type WebhookStore = ReturnType<typeof createWebhookStore>['system'];

export function createWebhookStore(connection: mongoose.Connection) {
  const collection = openCollection<WebhookDoc>(connection, WEBHOOKS);
  const page = createPages(collection);
  return {
    forAccount: (accountId: string) => ofAccount({ collection, page }, accountId),
    system: {
      ...ofAllAccounts(collection),
      ...createWebhookLeases(collection),
      ...createWebhookHealth(collection),
      ...createFailingWebhooks(collection),
    },
  };
}

interface Opened {
  collection: Webhooks;
  page: ReturnType<typeof createPages<WebhookDoc>>;
}

const ofAccount = ({ collection, page }: Opened, accountId: string) => ({
  /** Stores it as this account's. */
  async insert(webhook: WebhookDoc, session?: Session): Promise<void> {
    await orAlreadyMade(collection.insertOne({ ...webhook, accountId }, { session }));
  },
  count: (session: Session) => collection.countDocuments({ accountId }, { session }),
  byId: (id: string, session?: Session) => collection.findOne({ _id: id, accountId }, { session }),
  list: (request: PageRequest) => page({ accountId }, request),
  /** Null when there is no such webhook. Before making one ACTIVE again, expedite its
   *  waiting deliveries. */
  update: (id: string, changes: WebhookChanges, session?: Session): Promise<WebhookDoc | null> =>
    collection.findOneAndUpdate({ _id: id, accountId }, changing(changes), { returnDocument: 'after', session }),
  /** Earlier secrets keep signing for 24 h. Null when there is no such webhook. */
  rotate: (id: string, secret: { sealed: string; masked: string }, now: Date, session?: Session) =>
    collection.findOneAndUpdate({ _id: id, accountId }, rotating(secret, now), { returnDocument: 'after', session }),
  /** Only the newest secret signs from now on. Null when there is no such webhook. */
  dropOlderSecrets: (id: string, session?: Session) =>
    collection.findOneAndUpdate(
      { _id: id, accountId },
      { $pull: { secrets: { until: { $ne: null } } } },
      { returnDocument: 'after', session },
    ),
  /** Counts a replay, in the transaction that stores it. @returns false when the webhook is gone,
   *  or has had another one since it was read */
  async countReplay({ _id, replays = 0 }: WebhookDoc, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id, accountId, ...(replays === 0 ? { replays: { $exists: false } } : { replays }) },
      { $set: { replays: replays + 1 } },
      { session },
    );
    return modifiedCount === 1;
  },
  /** Cancel its pending deliveries after this. */
  async remove(id: string, session?: Session): Promise<boolean> {
    const { deletedCount } = await collection.deleteOne({ _id: id, accountId }, { session });
    return deletedCount === 1;
  },
});

/** A new address or a new start begins without past failures. */
const changing = (changes: WebhookChanges) =>
  changes.status === 'ACTIVE' || changes.url !== undefined
    ? { $set: { ...changes, failingSince: null, failedAttempts: 0 }, $inc: { starts: 1 } }
    : { $set: changes };

function rotating({ sealed, masked }: { sealed: string; masked: string }, now: Date) {
  const until = { $ifNull: ['$$this.until', new Date(now.getTime() + ROTATION_MS)] };
  const older = { $map: { input: '$secrets', in: { sealed: '$$this.sealed', until } } };
  const valid = { $filter: { input: older, cond: { $gt: ['$$this.until', now] } } };
  const secrets = { $concatArrays: [[{ sealed: { $literal: sealed }, until: null }], valid] };
  return [{ $set: { secretMasked: { $literal: masked }, secrets } }];
}

const ofAllAccounts = (collection: Webhooks) => ({
  /** Those of these accounts that have a webhook. */
  ownersAmong: (accountIds: readonly string[]): Promise<string[]> =>
    collection.distinct('accountId', { accountId: { $in: [...accountIds] } }),
  /** The webhooks of these accounts, ACTIVE or not, in the order of their ids. */
  subscribed: (accountIds: readonly string[], session: Session): Promise<Subscriber[]> =>
    collection
      .find(
        { accountId: { $in: [...accountIds] } },
        { session, projection: { accountId: 1, events: 1, openedTo: 1, deliverySequence: 1 } },
      )
      .sort({ accountId: 1, _id: 1 })
      .toArray() as Promise<Subscriber[]>,
  byId: (id: string, session: Session): Promise<WebhookDoc | null> => collection.findOne({ _id: id }, { session }),
  /** Assigns the next numbers to deliveries of a replay. @returns false when other deliveries got
   *  them since the webhook was read */
  async countDeliveries(id: string, from: number, count: number, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id: id, deliverySequence: from },
      { $set: { deliverySequence: from + count } },
      { session },
    );
    return modifiedCount === 1;
  },
  /** Moves `openedTo` of the webhooks past these events. @returns false when another process moved
   *  one since it was read */
  async advance(moves: OpeningPlan['moves'], session: Session): Promise<boolean> {
    if (moves.length === 0) return true;
    const { modifiedCount } = await collection.bulkWrite(
      moves.map(({ webhookId, from, openedTo, deliverySequence }) => ({
        updateOne: { filter: { _id: webhookId, openedTo: from }, update: { $set: { openedTo, deliverySequence } } },
      })),
      { session },
    );
    return modifiedCount === moves.length;
  },
});
