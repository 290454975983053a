/** Deliveries: one for each webhook and event; `nextAttemptAt` is a date exactly while it is PENDING, and then says when it is due. */
import mongoose from 'mongoose';
import { deliveryStatusSchema } from '../../contracts/deliveries.js';
import type { EventType } from '../../contracts/event-kinds.js';
import type { Clock } from '../clock.js';
import type { NewId } from '../domain/ids.js';
import type { OpeningPlan } from '../domain/sequence.js';
import { createCountSegments } from './count-segments.js';
import { makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { readHealth } from './delivery-health.js';
import { createDueDeliveries, EPOCH } from './due-deliveries.js';
import { createPages, type PageRequest, pageOfKnown } from './paging.js';
import { createReplayedDeliveries } from './replayed-deliveries.js';

const STATUSES = deliveryStatusSchema.options;
export type DeliveryStatus = (typeof STATUSES)[number];

export interface Attempt {
  at: Date;
  durationMs: number;
  responseStatus: number | null;
  error: string | null;
}

export interface DeliveryDoc {
  _id: string;
  accountId: string;
  webhookId: string;
  eventId: string;
  eventType: EventType;
  subjectId: string;
  /** 1, 2, 3 … for each webhook, without holes; null for one that was opened before there were numbers. */
  sequence: number | null;
  status: DeliveryStatus;
  /** Of all attempts; `attempts` keeps the latest of them, oldest first. */
  attemptCount: number;
  attempts: Attempt[];
  nextAttemptAt: Date | null;
  lastResponseStatus: number | null;
  lastError: string | null;
  createdAt: Date;
  /** When it became DELIVERED, FAILED or CANCELLED; null while it is PENDING. */
  endedAt: Date | null;
  /** The replay that opened it; empty for the first delivery of an event to a webhook. */
  replayId: string;
  /** Sent again by a replay: what is fresh goes first. */
  isReplayed: boolean;
}

const deliverySchema = new mongoose.Schema<DeliveryDoc>(
  {
    _id: String,
    accountId: String,
    webhookId: String,
    eventId: String,
    eventType: String,
    subjectId: String,
    sequence: { type: Number, default: null },
    status: String,
    attemptCount: Number,
    attempts: [
      new mongoose.Schema({ at: Date, durationMs: Number, responseStatus: Number, error: String }, PART_OPTIONS),
    ],
    nextAttemptAt: { type: Date, default: null },
    lastResponseStatus: { type: Number, default: null },
    lastError: { type: String, default: null },
    createdAt: Date,
    endedAt: { type: Date, default: null },
    replayId: { type: String, default: '' },
    isReplayed: { type: Boolean, default: false },
  },
  { ...SCHEMA_OPTIONS, collection: 'deliveries' },
);
// One delivery for each webhook and event, and for each replay; it also finds the deliveries of one kind about a subject.
const KEY = { accountId: 1, webhookId: 1, subjectId: 1, eventType: 1, eventId: 1, replayId: 1 } as const;
deliverySchema.index(KEY, { unique: true });
// What is due, what is fresh before what is of a replay.
deliverySchema.index(
  { webhookId: 1, isReplayed: 1, nextAttemptAt: 1, _id: 1 },
  { partialFilterExpression: { nextAttemptAt: { $gte: EPOCH } } },
);
/** Retries by when they are due; what was delivered or given up is not in it. */
deliverySchema.index(
  { nextAttemptAt: 1 },
  { partialFilterExpression: { attemptCount: { $gt: 0 }, nextAttemptAt: { $gte: EPOCH } } },
);
// A webhook has one account, so this is as good as without it, and lists are counted without a look at the documents.
const LIST_INDEX = { webhookId: 1, accountId: 1, status: 1, _id: -1 } as const;
deliverySchema.index(LIST_INDEX);

// What ended lately.
deliverySchema.index(
  { webhookId: 1, accountId: 1, status: 1, endedAt: -1 },
  { partialFilterExpression: { endedAt: { $gte: EPOCH } } },
);

/** What works across accounts: for the watcher and the dispatchers. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>['system'];

export function createDeliveryStore(
  connection: mongoose.Connection,
  deps: { newId: NewId; clock: Clock },
  countSegments = createCountSegments(connection),
) {
  const { newId, clock } = deps;
  const deliveries = connection.model<DeliveryDoc>('Delivery', deliverySchema);
  const page = createPages(deliveries);
  const collection = deliveries.collection as unknown as mongoose.mongo.Collection<DeliveryDoc>;
  const replays = createReplayedDeliveries(collection, clock);
  const due = createDueDeliveries(connection, collection);
  const listOf = (accountId: string) => `deliveries:${accountId}`;

  async function cancelPending(webhookIds: readonly string[], owner: { accountId?: string }): Promise<void> {
    await collection.updateMany(
      { webhookId: { $in: [...webhookIds] }, status: 'PENDING', ...owner },
      { $set: { status: 'CANCELLED', nextAttemptAt: null, endedAt: clock.now() } },
    );
  }

  return {
    ensureIndexes: () => makeIndexes(deliveries),

    forAccount: (accountId: string) => ({
      byId: (id: string) => deliveries.findOne({ _id: id, accountId }).lean<DeliveryDoc>().exec(),
      list(webhookId: string, { status }: { status?: DeliveryStatus }, request: PageRequest) {
        const ofWebhook = { webhookId, accountId };
        const ofAny = (some: PageRequest) =>
          countSegments.page<DeliveryDoc>(
            listOf(accountId),
            deliveries,
            { ...ofWebhook, status: { $in: STATUSES } },
            { ...some, direction: -1, hint: LIST_INDEX },
          );
        if (!status) return ofAny(request);
        // A status changes with every attempt, so what has one is counted anew: of DELIVERED, which most are, the others.
        const allButOthers = async () => {
          const [{ meta }, count] = await Promise.all([
            ofAny({ page: 1, pageSize: 1 }),
            deliveries.countDocuments({ ...ofWebhook, status: { $in: STATUSES.filter((each) => each !== status) } }),
          ]);
          return Math.max(0, meta.total - count);
        };
        const listed = { ...ofWebhook, status };
        return status === 'DELIVERED'
          ? pageOfKnown<DeliveryDoc>(deliveries, listed, request, allButOthers)
          : page(listed, request);
      },
      /** Due at once, whatever became of it; its attempts go on counting. Null when it was cancelled or does not exist. */
      redeliver: (id: string, session?: Session): Promise<DeliveryDoc | null> =>
        collection.findOneAndUpdate(
          { _id: id, accountId, status: { $ne: 'CANCELLED' } },
          { $set: { status: 'PENDING', nextAttemptAt: clock.now(), endedAt: null } },
          { returnDocument: 'after', session },
        ),
      /** Whatever waits for this webhook is due at once: for one that was made ACTIVE again. */
      async expedite(webhookId: string): Promise<void> {
        const now = clock.now();
        await collection.updateMany(
          { webhookId, accountId, status: 'PENDING', nextAttemptAt: { $gt: now } },
          { $set: { nextAttemptAt: now } },
        );
      },
      /** How deliveries to this webhook go. @param since from when on those that ended are counted */
      health: (webhookId: string, since: Date) => readHealth(collection, { webhookId, accountId }, since),
      countPending: (webhookId: string, session: Session): Promise<number> =>
        collection.countDocuments({ webhookId, accountId, status: 'PENDING' }, { session }),
      ...replays.forAccount(accountId),
      /** For a webhook that was deleted. */
      cancelPending: (webhookId: string) => cancelPending([webhookId], { accountId }),
    }),

    system: {
      /** For webhooks that were deleted. */
      cancelPending: (webhookIds: readonly string[]) => cancelPending(webhookIds, {}),

      /** In the transaction that moves the webhooks behind their events, or of a replay. PAUSED webhooks get theirs too: they wait. */
      async open(planned: OpeningPlan['deliveries'], session: Session, replayId = ''): Promise<void> {
        if (planned.length === 0) return;
        const now = clock.now();
        const opened = planned.map((each) => ({ ...toDelivery(newId('dlv'), each, now), ...replayed(replayId) }));
        await collection.insertMany(opened, { session });
        await countSegments.touchAll(opened, (delivery) => listOf(delivery.accountId), session);
      },

      ...replays.system,
      ...due,
    },
  };
}

function toDelivery(
  _id: string,
  { webhookId, event, sequence }: OpeningPlan['deliveries'][number],
  now: Date,
): DeliveryDoc {
  return {
    _id,
    accountId: event.accountId,
    webhookId,
    eventId: event._id,
    eventType: event.type,
    subjectId: event.subjectId,
    sequence,
    status: 'PENDING',
    attemptCount: 0,
    attempts: [],
    nextAttemptAt: now,
    lastResponseStatus: null,
    lastError: null,
    createdAt: now,
    endedAt: null,
    replayId: '',
    isReplayed: false,
  };
}

const replayed = (replayId: string) => ({ replayId, isReplayed: replayId !== '' });
