/** Webhooks: an account's endpoints, their secrets, and how far their deliveries are opened. */

import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import type { OpeningPlan, Subscriber } from '../events/index.js';
import { makeIndexes, orAlreadyMade, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { EPOCH } from './due-deliveries.js';
import { createFailingWebhooks } from './failing-webhooks.js';
import { createWebhookHealth, type LastFailure } from './health-store.js';
import { createWebhookLeases, type WebhookLease, webhookLeaseSchema } from './webhook-leases.js';

export interface WebhookDoc {
  _id: string;
  accountId: string;
  name: string;
  url: string;
  events: EventType[];
  status: 'ACTIVE' | 'PAUSED';
  secretMasked: string;
  /** Newest first, sealed for this webhook. `until`: when a secret stops signing; null for the current one. */
  secrets: { sealed: string; until: Date | null }[];
  /** First failed attempt since the last success. */
  failingSince: Date | null;
  /** Failed attempts since the last success; absent for none. */
  failedAttempts?: number;
  /** Number of starts (made ACTIVE or given another address): failures before the last one do not count. Absent for none. */
  starts?: number | null;
  /** The last failed attempt; absent for none. */
  lastFailure?: LastFailure | null;
  /** `failingSince` of the failures last reported to the account. Absent for none. */
  toldFailing?: Date | null;
  /** `sequence` of the last event considered for it. */
  openedTo: number;
  /** Number of its latest delivery. */
  deliverySequence: number;
  /** Number of its replays. Absent for none. */
  replays?: number;
  /** Null when released. */
  lease: WebhookLease | null;
  createdAt: Date;
}

type Collection = mongoose.mongo.Collection<WebhookDoc>;

type WebhookChanges = Partial<Pick<WebhookDoc, 'name' | 'url' | 'events' | 'status'>>;

const webhookSchema = new mongoose.Schema<WebhookDoc>(
  {
    _id: String,
    accountId: String,
    name: String,
    url: String,
    events: [String],
    status: String,
    secretMasked: String,
    secrets: [new mongoose.Schema({ sealed: String, until: { type: Date, default: null } }, PART_OPTIONS)],
    failingSince: { type: Date, default: null },
    failedAttempts: Number,
    starts: Number,
    lastFailure: { type: new mongoose.Schema({ at: Date, error: String }, PART_OPTIONS), default: null },
    toldFailing: { type: Date, required: false },
    openedTo: Number,
    deliverySequence: Number,
    replays: Number,
    lease: { type: webhookLeaseSchema, default: null },
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'webhooks' },
);
webhookSchema.index({ accountId: 1, _id: -1 });
webhookSchema.index(
  { failingSince: 1 },
  { partialFilterExpression: { failingSince: { $gte: EPOCH } }, name: 'failing' },
);

const ROTATION_MS = 24 * 3_600_000;

/** What works across accounts: for the sequencer and the dispatchers. */
export type WebhookStore = ReturnType<typeof createWebhookStore>['system'];

export function createWebhookStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  const { collection } = opened;
  return {
    ensureIndexes: () => makeIndexes(opened.webhooks),
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: {
      ...ofAllAccounts(collection),
      ...createWebhookLeases(collection),
      ...createWebhookHealth(collection),
      ...createFailingWebhooks(collection),
    },
  };
}

function openModel(connection: mongoose.Connection) {
  const webhooks = connection.model<WebhookDoc>('Webhook', webhookSchema);
  const page = createPages(webhooks);
  return { webhooks, page, collection: webhooks.collection as unknown as Collection };
}

const ofAccount = ({ webhooks, page, collection }: ReturnType<typeof openModel>, accountId: string) => ({
  /** Stores it as this account's. */
  async insert(webhook: WebhookDoc, session?: Session): Promise<void> {
    await orAlreadyMade(collection.insertOne({ ...webhook, accountId }, { session }));
  },
  count: (session: Session) => webhooks.countDocuments({ accountId }, { session }).exec(),
  byId: (id: string, session?: Session) =>
    webhooks
      .findOne({ _id: id, accountId })
      .session(session ?? null)
      .lean<WebhookDoc>()
      .exec(),
  list: (request: PageRequest) => page({ accountId }, request),
  /** Null when there is no such webhook. Before making one ACTIVE again, expedite its waiting deliveries. */
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
  /** Counts a replay, in the transaction that stores it. @returns false when the webhook is gone, or has had another one since it was read */
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

const ofAllAccounts = (collection: Collection) => ({
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
  /** Assigns the next numbers to deliveries of a replay. @returns false when other deliveries got them since the webhook was read */
  async countDeliveries(id: string, from: number, count: number, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id: id, deliverySequence: from },
      { $set: { deliverySequence: from + count } },
      { session },
    );
    return modifiedCount === 1;
  },
  /** Moves `openedTo` of the webhooks past these events. @returns false when another process moved one since it was read */
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
