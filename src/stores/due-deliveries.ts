/** What dispatchers ask about deliveries that are due, and what they record of their attempts. Part of the delivery store. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { accountsOf } from '../domain/owners.js';
import type { Attempt, DeliveryDoc, DeliveryStatus } from './deliveries.js';

/** What sending needs of a delivery. */
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

/** What one attempt made of a delivery. */
export interface AttemptRecord {
  id: string;
  accountId: string;
  /** Before the attempt. A record that tells of an older state is ignored. */
  attemptCount: number;
  attempt: Attempt;
  status: DeliveryStatus;
  nextAttemptAt: Date | null;
}

/** A webhook, the deliveries to it that are not wanted, and whether any of a replay are. */
interface WantedDue {
  webhookId: string;
  known: ReadonlySet<string>;
  replayed: boolean;
}

const MAX_ATTEMPTS_KEPT = 50;
/** Up to so many webhooks are asked for one by one. */
const ASKED_ALONE = 8;
/** Many webhooks mostly have little due: one read of so many deliveries brings all of it. */
const READ_THROUGH = 4096;

/** Before any date: the condition of the partial index, which every query that uses it has to repeat. */
export const EPOCH = new Date(0);

const IN_ORDER = { isReplayed: 1, nextAttemptAt: 1, _id: 1 } as const;
const dueBy = (now: Date) => ({ nextAttemptAt: { $gte: EPOCH, $lte: now } });

const DISTINCT_TOO_BIG = 17217;
/** Some 400,000 ids are more than one document holds. */
const isTooLong = (error: unknown) =>
  error instanceof mongoose.mongo.MongoServerError && error.code === DISTINCT_TOO_BIG;

type Collection = mongoose.mongo.Collection<DeliveryDoc>;

export const createDueDeliveries = (connection: mongoose.Connection, collection: Collection) => ({
  /** Ids of the webhooks for which something is due: one look into the index for each, however much is due. */
  dueWebhooks: (now: Date): Promise<string[]> => dueWebhooks(collection, now),

  /** Deliveries that were attempted before and are to be attempted again.
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

  /** The due deliveries to each of these webhooks that are wanted: fresh ones first, then the oldest. Fewer than `limit` for one only where no more are. */
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

  /** @returns how many of the records were written: a cancellation or another dispatcher overtook the others */
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
    // Takes up to three times as long, but is not answered in one document.
    const found = await collection
      .aggregate<{ _id: string }>([{ $match: due }, { $group: { _id: '$webhookId' } }, { $sort: { _id: 1 } }])
      .toArray();
    return found.map(({ _id }) => _id);
  }
}

/** One query for each webhook: MongoDB leaves out what is known, which may be half of what is due. */
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

/** One read through the index for all, and a look-up of those webhooks for which it ended too early. Little of each webhook is known, and is left out here. */
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

/** All that is due for these webhooks, one after the other, as far as one read of the index goes. */
const readThrough = (collection: Collection, wanted: readonly WantedDue[], now: Date): Promise<DueDelivery[]> =>
  collection
    .find<DueDelivery>(
      { webhookId: { $in: wanted.map(({ webhookId }) => webhookId) }, ...dueBy(now) },
      { projection: DUE_FIELDS, batchSize: READ_THROUGH + 1 },
    )
    .sort({ webhookId: 1, ...IN_ORDER })
    .limit(READ_THROUGH)
    .toArray();

/** Some of what is due for each of these webhooks, however much it is: 0.1 ms each. */
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

/** One update of many deliveries, to each its own record: MongoDB has less than half the work of as many updates of one. */
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
  // MongoDB hashes an array of constants: this is no search.
  const nth = { $indexOfArray: [{ $literal: ids }, '$_id'] };
  const own = (values: readonly unknown[]) => ({ $arrayElemAt: [{ $literal: values }, nth] });
  const log = { $slice: [{ $concatArrays: ['$attempts', own(attempts)] }, -MAX_ATTEMPTS_KEPT] };
  return {
    filter: { _id: { $in: ids }, accountId: { $in: accountsOf(records) }, attemptCount, status: 'PENDING' as const },
    update: [{ $replaceWith: { $mergeObjects: ['$$ROOT', own(changes), { attempts: log }] } }],
  };
}
