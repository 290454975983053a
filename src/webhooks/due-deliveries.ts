/** The dispatchers' part of the delivery store: queries for due deliveries, and their
 *  attempts. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { EPOCH } from '../kit/collection.js';
import { accountsOf } from '../kit/owners.js';
import type { Attempt, DeliveryDoc, DeliveryStatus } from './delivery-store.js';

/** The fields needed for sending. */
export type DueDelivery = Pick<
  DeliveryDoc,
  '_id' | 'accountId' | 'webhookId' | 'eventId' | 'eventType' | 'subjectId' | 'sequence' | 'attemptCount' | 'isReplayed'
>;
const DUE_FIELDS = {
  accountId: 1,
  webhookId: 1,
  eventId: 1,
  eventType: 1,
  subjectId: 1,
  sequence: 1,
  attemptCount: 1,
  isReplayed: 1,
} as const;

/** The result of one attempt. */
export interface AttemptRecord {
  id: string;
  accountId: string;
  /** The count before the attempt. A record of an older state is ignored. */
  attemptCount: number;
  attempt: Attempt;
  status: DeliveryStatus;
  nextAttemptAt: Date | null;
}

/** A webhook, deliveries to leave out, and whether to include replayed ones. */
interface WantedDue {
  webhookId: string;
  known: ReadonlySet<string>;
  replayed: boolean;
}

const MAX_ATTEMPTS_KEPT = 50;
/** Up to this many webhooks get a query each. */
const ASKED_ALONE = 8;
/** Many webhooks usually have little due: one read of this many deliveries returns all of it. */
const READ_THROUGH = 4096;

const IN_ORDER = { isReplayed: 1, nextAttemptAt: 1, _id: 1 } as const;
const dueBy = (now: Date) => ({ nextAttemptAt: { $gte: EPOCH, $lte: now } });

const DISTINCT_TOO_BIG = 17217;
/** One document cannot hold some 400,000 ids. */
const isTooLong = (error: unknown) =>
  error instanceof mongoose.mongo.MongoServerError && error.code === DISTINCT_TOO_BIG;

type Collection = mongoose.mongo.Collection<DeliveryDoc>;

export const createDueDeliveries = (connection: mongoose.Connection, collection: Collection) => ({
  /** Ids of the webhooks with due deliveries: one index seek for each, however much is due. */
  dueWebhooks: (now: Date): Promise<string[]> => dueWebhooks(collection, now),

  /** Deliveries to be retried.
   *  @returns how many of them are due, counted up to `limit`, and when the next one will be */
  async retries(now: Date, limit: number): Promise<{ due: number; nextAt: Date | null }> {
    const retried = { attemptCount: { $gt: 0 } };
    const [due, next] = await Promise.all([
      collection.countDocuments({ ...retried, ...dueBy(now) }, { limit }),
      collection.findOne(
        { ...retried, nextAttemptAt: { $gt: now } },
        { sort: { nextAttemptAt: 1 }, projection: { nextAttemptAt: 1 } },
      ),
    ]);
    return { due, nextAt: next?.nextAttemptAt ?? null };
  },

  /** The wanted due deliveries to each of these webhooks: fresh ones first, then the oldest. Fewer
   *  than `limit` for one means that no more are due. */
  dueOf: (wanted: readonly WantedDue[], now: Date, limit: number): Promise<DueDelivery[]> =>
    wanted.length <= ASKED_ALONE
      ? dueOfFew(collection, wanted, now, limit)
      : dueOfMany(connection, collection, wanted, now, limit),

  /** Deliveries of one kind about these subjects to these webhooks that were never attempted. */
  unattempted: (
    accountIds: readonly string[],
    webhookIds: readonly string[],
    subjectIds: readonly string[],
    eventType: EventType,
  ): Promise<DueDelivery[]> =>
    collection
      .find(
        {
          accountId: { $in: [...accountIds] },
          webhookId: { $in: [...webhookIds] },
          subjectId: { $in: [...subjectIds] },
          eventType,
          status: 'PENDING',
          attemptCount: 0,
        },
        { projection: DUE_FIELDS },
      )
      .toArray(),

  /** @returns how many records were written: a cancellation or another dispatcher overtook
   *  the rest */
  async record(records: readonly AttemptRecord[]): Promise<number> {
    const byCount = new Map<number, AttemptRecord[]>();
    for (const each of records) {
      const some = byCount.get(each.attemptCount);
      if (some) some.push(each);
      else byCount.set(each.attemptCount, [each]);
    }
    const { modifiedCount } = await collection.bulkWrite(
      [...byCount].map(([attemptCount, some]) => ({ updateMany: updateAll(attemptCount, some) })),
      { ordered: false },
    );
    return modifiedCount;
  },
});

async function dueWebhooks(collection: Collection, now: Date): Promise<string[]> {
  // Without a condition on the first field the planner would read the whole index.
  const due = { webhookId: { $gt: '' }, ...dueBy(now) };
  try {
    return await collection.distinct('webhookId', due);
  } catch (error) {
    if (!isTooLong(error)) throw error;
    // Up to three times slower, but not limited to one document.
    const found = await collection
      .aggregate<{ _id: string }>([{ $match: due }, { $group: { _id: '$webhookId' } }, { $sort: { _id: 1 } }])
      .toArray();
    return found.map(({ _id }) => _id);
  }
}

/** One query for each webhook: MongoDB leaves out known deliveries, perhaps half of those due. */
async function dueOfFew(collection: Collection, wanted: readonly WantedDue[], now: Date, limit: number) {
  const dueOfOne = ({ webhookId, known, replayed }: WantedDue) =>
    collection
      .find<DueDelivery>(
        { webhookId, ...(replayed ? {} : { isReplayed: false }), ...dueBy(now), _id: { $nin: [...known] } },
        { projection: DUE_FIELDS, batchSize: limit + 1 },
      )
      .sort(IN_ORDER)
      .limit(limit)
      .toArray();
  return (await Promise.all(wanted.map(dueOfOne))).flat();
}

/** One index scan for all webhooks, then queries for those that it did not reach. Few deliveries
 *  are known; they are filtered here. */
async function dueOfMany(
  connection: mongoose.Connection,
  collection: Collection,
  wanted: readonly WantedDue[],
  now: Date,
  limit: number,
) {
  const read = await readThrough(collection, wanted, now);
  const last = read.length < READ_THROUGH ? null : read.at(-1)!.webhookId;
  const unread = last === null ? [] : wanted.filter(({ webhookId }) => webhookId >= last);
  const found = [
    ...read.filter(({ webhookId }) => last === null || webhookId < last),
    ...(await lookUp(connection.db!, collection, unread, now, limit)),
  ];
  const wantedOf = new Map(wanted.map((each) => [each.webhookId, each]));
  const taken = new Map<string, number>();
  return found.filter(({ _id, webhookId, isReplayed }) => {
    const count = taken.get(webhookId) ?? 0;
    const { known, replayed } = wantedOf.get(webhookId)!;
    if (count >= limit || known.has(_id) || (isReplayed && !replayed)) return false;
    taken.set(webhookId, count + 1);
    return true;
  });
}

/** Due deliveries by webhook, as far as one index scan goes. */
const readThrough = (collection: Collection, wanted: readonly WantedDue[], now: Date): Promise<DueDelivery[]> =>
  collection
    .find<DueDelivery>(
      { webhookId: { $in: wanted.map(({ webhookId }) => webhookId) }, ...dueBy(now) },
      { projection: DUE_FIELDS, batchSize: READ_THROUGH + 1 },
    )
    .sort({ webhookId: 1, ...IN_ORDER })
    .limit(READ_THROUGH)
    .toArray();

/** Some due deliveries of each webhook, however many there are: 0.1 ms each. */
async function lookUp(
  db: mongoose.mongo.Db,
  collection: Collection,
  wanted: readonly WantedDue[],
  now: Date,
  limit: number,
): Promise<DueDelivery[]> {
  if (wanted.length === 0) return [];
  const mostKnown = Math.max(...wanted.map(({ known }) => known.size));
  const pipeline = [
    { $match: dueBy(now) },
    { $sort: IN_ORDER },
    { $limit: limit + mostKnown },
    { $project: DUE_FIELDS },
  ];
  return db
    .aggregate<DueDelivery>([
      { $documents: wanted.map(({ webhookId: _id }) => ({ _id })) },
      {
        $lookup: {
          from: collection.collectionName,
          localField: '_id',
          foreignField: 'webhookId',
          pipeline,
          as: 'due',
        },
      },
      { $unwind: '$due' },
      { $replaceRoot: { newRoot: '$due' } },
    ])
    .toArray();
}

/** One update of many deliveries, each with its own record: less than half the work of
 *  single updates. */
function updateAll(attemptCount: number, records: readonly AttemptRecord[]) {
  const ids = records.map(({ id }) => id);
  const changes = records.map(({ attempt, status, nextAttemptAt }) => ({
    status,
    nextAttemptAt,
    attemptCount: attemptCount + 1,
    lastResponseStatus: attempt.responseStatus,
    lastError: attempt.error,
    endedAt: status === 'PENDING' ? null : new Date(attempt.at.getTime() + attempt.durationMs),
  }));
  const attempts = records.map(({ attempt }) => [attempt]);
  // MongoDB hashes an array of constants, so this is no linear search.
  const nth = { $indexOfArray: [{ $literal: ids }, '$_id'] };
  const own = (values: readonly unknown[]) => ({ $arrayElemAt: [{ $literal: values }, nth] });
  const log = { $slice: [{ $concatArrays: ['$attempts', own(attempts)] }, -MAX_ATTEMPTS_KEPT] };
  return {
    filter: { _id: { $in: ids }, accountId: { $in: accountsOf(records) }, attemptCount, status: 'PENDING' as const },
    update: [{ $replaceWith: { $mergeObjects: ['$$ROOT', own(changes), { attempts: log }] } }],
  };
}
