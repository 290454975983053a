/** Deliveries: one for each webhook and event; `nextAttemptAt` is a date exactly while it is
 *  PENDING, and then says when it is due. */
import type mongoose from 'mongoose';
import { deliveryStatusSchema } from '../../contracts/deliveries.js';
import type { EventType } from '../../contracts/event-kinds.js';
import type { OpeningPlan } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import { type Collection, type DocOf, define, EPOCH, nullable, openCollection, text } from '../kit/collection.js';
import { type CountSegments, createCountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { createPages, type PageRequest, pageOfKnown } from '../kit/paging.js';
import { createDueDeliveries } from './due-deliveries.js';
import { readHealth } from './health.js';
import { idRangeOf, type ReplayDoc } from './replay.js';

// Selects the deliveries that a replay takes. Part of the delivery store.

/** Deliveries that FAILED before the replay was requested. */
const failedBefore = (replay: ReplayDoc) => ({
  accountId: replay.accountId,
  webhookId: replay.webhookId,
  status: 'FAILED' as const,
  eventType: { $in: replay.types },
  eventId: idRangeOf(replay),
  endedAt: { $lte: replay.createdAt },
});

type Deliveries = Collection<DeliveryDoc>;

const createReplayedDeliveries = (collection: Deliveries, clock: Pick<Clock, 'now'>) => ({
  forAccount: (accountId: string) => replayedOfAccount(collection, accountId),
  system: replayedOfAllAccounts(collection, clock),
});

const replayedOfAccount = (collection: Deliveries, accountId: string) => ({
  /** Number of FAILED deliveries that the replay would take. */
  countFailed: (replay: ReplayDoc): Promise<number> =>
    collection.countDocuments({ ...failedBefore(replay), accountId }),
  /** Number of events that the replay would skip, because their deliveries had not ended when it
   *  was requested.
   *  @param lastSequence number of the webhook's latest delivery then: later ones are fresh */
  async countUnfinished(replay: ReplayDoc, lastSequence: number): Promise<number> {
    const { webhookId, types, createdAt } = replay;
    const unfinished = [
      { status: 'PENDING' as const },
      { status: { $in: ['DELIVERED' as const, 'FAILED' as const] }, endedAt: { $gt: createdAt } },
    ];
    const ofEvents = { eventType: { $in: types }, eventId: idRangeOf(replay) };
    const known = { sequence: { $not: { $gt: lastSequence } } };
    const [found] = await collection
      .aggregate<{ n: number }>([
        { $match: { $or: unfinished.map((each) => ({ webhookId, accountId, ...each, ...ofEvents, ...known })) } },
        { $group: { _id: '$eventId' } },
        { $count: 'n' },
      ])
      .toArray();
    return found?.n ?? 0;
  },
});

const replayedOfAllAccounts = (collection: Deliveries, clock: Pick<Clock, 'now'>) => ({
  /** The deliveries that the replay takes next, in the order of their ids. */
  failed: (replay: ReplayDoc, limit: number) =>
    collection
      .find({ ...failedBefore(replay), _id: { $gt: replay.cursor } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),
  /** Makes the FAILED ones of these due, after fresh deliveries. @returns how many */
  async replayFailed({ accountId }: ReplayDoc, ids: readonly string[], session: Session): Promise<number> {
    const { modifiedCount } = await collection.updateMany(
      { _id: { $in: [...ids] }, accountId, status: 'FAILED' },
      { $set: { status: 'PENDING', nextAttemptAt: clock.now(), endedAt: null, isReplayed: true } },
      { session },
    );
    return modifiedCount;
  },
  /** The events with a delivery to the webhook that had not ended when the replay was requested, or
   *  that the replay itself made: a repeated request may store the replay again. */
  async unfinished(
    { _id: replayId, accountId, webhookId, createdAt: askedAt }: ReplayDoc,
    some: readonly { _id: string; subjectId: string }[],
    session: Session,
  ): Promise<Set<string>> {
    const found = await collection
      .find(
        {
          ...{ accountId, webhookId },
          subjectId: { $in: some.map(({ subjectId }) => subjectId) },
          eventId: { $in: some.map(({ _id }) => _id) },
          status: { $in: ['PENDING', 'DELIVERED', 'FAILED'] },
        },
        { session, projection: { eventId: 1, endedAt: 1, createdAt: 1, status: 1, replayId: 1 } },
      )
      .toArray();
    return new Set(
      found
        .filter(
          (each) =>
            each.status === 'PENDING' || each.replayId === replayId || (each.endedAt ?? each.createdAt) > askedAt,
        )
        .map(({ eventId }) => eventId),
    );
  },
});

const STATUSES = deliveryStatusSchema.options;
export type DeliveryStatus = (typeof STATUSES)[number];

// One delivery for each webhook and event, and for each replay; it also finds the deliveries of one
// kind about a subject.
const KEY = { accountId: 1, webhookId: 1, subjectId: 1, eventType: 1, eventId: 1, replayId: 1 } as const;
// The account, which follows from the webhook, lets lists be counted from the index alone.
const LIST_INDEX = { webhookId: 1, accountId: 1, status: 1, _id: -1 } as const;

const DELIVERIES = define(
  'deliveries',
  {
    _id: String,
    accountId: String,
    webhookId: String,
    eventId: String,
    eventType: text<EventType>(),
    subjectId: String,
    /** 1, 2, 3 … for each webhook, without holes. */
    sequence: Number,
    status: text<DeliveryStatus>(),
    attemptCount: Number,
    /** The latest 50, oldest first. */
    attempts: [{ at: Date, durationMs: Number, responseStatus: nullable(Number), error: nullable(String) }],
    nextAttemptAt: nullable(Date),
    lastResponseStatus: nullable(Number),
    lastError: nullable(String),
    createdAt: Date,
    /** When it became DELIVERED, FAILED or CANCELLED; null while it is PENDING. */
    endedAt: nullable(Date),
    /** The replay that opened it; empty for the first delivery of an event to a webhook. */
    replayId: String,
    /** Made due by a replay; fresh deliveries go first. */
    isReplayed: Boolean,
  },
  [
    { key: KEY, unique: true },
    // Due deliveries, fresh ones before replayed ones.
    {
      key: { webhookId: 1, isReplayed: 1, nextAttemptAt: 1, _id: 1 },
      partialFilterExpression: { nextAttemptAt: { $gte: EPOCH } },
    },
    // Retries by when they are due.
    {
      key: { nextAttemptAt: 1 },
      partialFilterExpression: { attemptCount: { $gt: 0 }, nextAttemptAt: { $gte: EPOCH } },
    },
    { key: LIST_INDEX },
    // Deliveries by when they ended.
    {
      key: { webhookId: 1, accountId: 1, status: 1, endedAt: -1 },
      partialFilterExpression: { endedAt: { $gte: EPOCH } },
    },
  ],
);

export interface DeliveryDoc extends DocOf<typeof DELIVERIES> {}

export type Attempt = DeliveryDoc['attempts'][number];

/** What works across accounts: for the sequencer, the replayer and the dispatchers. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>['system'];

export function createDeliveryStore(
  connection: mongoose.Connection,
  { newId, clock }: { newId: NewId; clock: Clock },
  countSegments = createCountSegments(connection),
) {
  const collection = openCollection<DeliveryDoc>(connection, DELIVERIES);
  const opened = { page: createPages(collection), collection, countSegments, newId, clock };
  const replays = createReplayedDeliveries(collection, clock);
  return {
    forAccount: (accountId: string) => ({ ...ofAccount(opened, accountId), ...replays.forAccount(accountId) }),
    system: {
      ...ofAllAccounts(opened),
      ...replays.system,
      ...createDueDeliveries(connection, collection),
    },
  };
}

interface Opened {
  page: ReturnType<typeof createPages<DeliveryDoc>>;
  collection: Deliveries;
  countSegments: CountSegments;
  newId: NewId;
  clock: Clock;
}

/** The deliveries of an account as one list of the count segments. */
const listOf = (accountId: string) => `deliveries:${accountId}`;

const ofAccount = (opened: Opened, accountId: string) => ({
  byId: (id: string) => opened.collection.findOne({ _id: id, accountId }),
  list: (webhookId: string, { status }: { status?: DeliveryStatus }, request: PageRequest) =>
    status
      ? listWithStatus(opened, { webhookId, accountId }, status, request)
      : listAll(opened, { webhookId, accountId }, request),
  /** Makes it due at once, whatever its status; attempts keep counting. Null when it was cancelled
   *  or does not exist. */
  redeliver: (id: string, session?: Session): Promise<DeliveryDoc | null> =>
    opened.collection.findOneAndUpdate(
      { _id: id, accountId, status: { $ne: 'CANCELLED' } },
      { $set: { status: 'PENDING', nextAttemptAt: opened.clock.now(), endedAt: null } },
      { returnDocument: 'after', session },
    ),
  /** Makes the pending deliveries of a webhook due at once, before it is made ACTIVE again. */
  async expedite(webhookId: string): Promise<void> {
    const now = opened.clock.now();
    await opened.collection.updateMany(
      { webhookId, accountId, status: 'PENDING', nextAttemptAt: { $gt: now } },
      { $set: { nextAttemptAt: now } },
    );
  },
  /** @param since deliveries that ended before are not counted */
  health: (webhookId: string, since: Date, session: Session) =>
    readHealth(opened.collection, { webhookId, accountId }, since, session),
  /** For a webhook that was deleted. */
  cancelPending: (webhookId: string) => cancelPending(opened, { webhookId, accountId }),
});

const ofAllAccounts = (opened: Opened) => ({
  /** For webhooks that were deleted. */
  cancelPending: (webhookIds: readonly string[]) => cancelPending(opened, { webhookId: { $in: [...webhookIds] } }),
  /** Call in the transaction that moves `openedTo` of the webhooks, or of a replay. Deliveries to
   *  PAUSED webhooks wait. */
  async open(planned: OpeningPlan['deliveries'], session: Session, replayId = ''): Promise<void> {
    if (planned.length === 0) return;
    const { newId, clock, collection, countSegments } = opened;
    const now = clock.now();
    const docs = planned.map((each) => ({ ...toDelivery(newId('dlv'), each, now), ...replayed(replayId) }));
    await collection.insertMany(docs, { session });
    await countSegments.touchAll(docs, (delivery) => listOf(delivery.accountId), session);
  },
});

interface OfWebhook {
  webhookId: string;
  accountId: string;
}

const listAll = ({ countSegments, collection }: Opened, ofWebhook: OfWebhook, request: PageRequest) =>
  countSegments.page<DeliveryDoc>(
    listOf(ofWebhook.accountId),
    collection,
    { ...ofWebhook, status: { $in: STATUSES } },
    { ...request, direction: -1, hint: LIST_INDEX },
  );

/** Statuses change with every attempt, so their counts are not remembered. DELIVERED, the most
 *  common, is counted as all minus the others. */
function listWithStatus(opened: Opened, ofWebhook: OfWebhook, status: DeliveryStatus, request: PageRequest) {
  const { collection, page } = opened;
  const { signal } = request;
  const listed = { ...ofWebhook, status };
  if (status !== 'DELIVERED') return page(listed, request);
  return pageOfKnown<DeliveryDoc>(collection, listed, request, async () => {
    const others = { ...ofWebhook, status: { $in: STATUSES.filter((each) => each !== status) } };
    const [{ meta }, count] = await Promise.all([
      listAll(opened, ofWebhook, { page: 1, pageSize: 1, signal }),
      collection.countDocuments(others, { signal }),
    ]);
    return Math.max(0, meta.total - count);
  });
}

async function cancelPending(
  { collection, clock }: Opened,
  ofWebhooks: { webhookId: string | { $in: string[] }; accountId?: string },
): Promise<void> {
  await collection.updateMany(
    { ...ofWebhooks, status: 'PENDING' },
    { $set: { status: 'CANCELLED', nextAttemptAt: null, endedAt: clock.now() } },
  );
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
