/** Event counters: one document for each account, with the number of its latest event. Numbering
 *  events, marking an account as done and making a webhook all write this document in their
 *  transaction, so that no two of them overlap. */
import type mongoose from 'mongoose';
import { type Collection, type DocOf, define, openCollection } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { type ChangeStream, openChangeStream } from '../kit/follower.js';
import { CounterConflict } from './event-numbers.js';

/** The counter of an account that has no event yet. */
const NEW = { last: 0, opened: 0, isBehind: false, webhooksMade: 0 };

const EVENT_COUNTERS = define(
  'eventCounters',
  {
    /** The account's id. */
    _id: String,
    /** `sequence` of its latest event. */
    last: Number,
    /** Deliveries of the events up to this number are opened for every webhook. */
    opened: Number,
    /** True while `opened` is less than `last`: accounts with work are found by it. */
    isBehind: Boolean,
    /** Number of webhooks ever made. */
    webhooksMade: Number,
  },
  [{ key: { isBehind: 1, _id: 1 }, partialFilterExpression: { isBehind: true } }],
);

export interface EventCounterDoc extends DocOf<typeof EVENT_COUNTERS> {}

/** An account with its new latest number. */
export interface Numbering {
  accountId: string;
  last: number;
}

const NUMBERING = [
  {
    $match: {
      $or: [
        { operationType: 'insert' },
        { operationType: 'update', 'updateDescription.updatedFields.last': { $exists: true } },
      ],
    },
  },
  {
    $project: {
      accountId: '$documentKey._id',
      last: { $ifNull: ['$updateDescription.updatedFields.last', '$fullDocument.last'] },
    },
  },
];

export type EventCounterStore = ReturnType<typeof createEventCounterStore>['system'];

export function createEventCounterStore(connection: mongoose.Connection) {
  const collection = openCollection<EventCounterDoc>(connection, EVENT_COUNTERS);
  return {
    forAccount: (accountId: string) => ofAccount(collection, accountId),
    system: { ...readingOf(collection), ...numberingOf(collection) },
  };
}

type Counters = Collection<EventCounterDoc>;

const ofAccount = (collection: Counters, accountId: string) => ({
  /** The number of the account's latest event; 0 when there is none. */
  last: async (): Promise<number> => (await collection.findOne({ _id: accountId }))?.last ?? 0,

  /** Called in the transaction that makes a webhook: its deliveries begin after the number that
   *  this returns. */
  async countWebhook(session?: Session): Promise<number> {
    const { webhooksMade: _, ...fresh } = NEW;
    const counter = await collection.findOneAndUpdate(
      { _id: accountId },
      { $inc: { webhooksMade: 1 }, $setOnInsert: fresh },
      { upsert: true, returnDocument: 'after', session },
    );
    return counter!.last;
  },
});

const readingOf = (collection: Counters) => ({
  /** Follows the numbering of all accounts, from `position` or from now. */
  watch: (position: unknown): ChangeStream<Numbering> =>
    openChangeStream(collection, NUMBERING, {
      position,
      toChange: ({ accountId, last }) => ({ accountId, last }),
    }),
  /** The latest number of each of these accounts, leaving out those without events. */
  async lastOf(accountIds: readonly string[]): Promise<Numbering[]> {
    const found = await collection.find({ _id: { $in: [...accountIds] } }, { projection: { last: 1 } }).toArray();
    return found.map(({ _id, last }) => ({ accountId: _id, last }));
  },
  byAccounts: (accountIds: readonly string[], session: Session): Promise<EventCounterDoc[]> =>
    collection.find({ _id: { $in: [...accountIds] } }, { session }).toArray(),
});

const numberingOf = (collection: Counters) => ({
  /** Moves the accounts' latest numbers. @throws CounterConflict when one is no longer `from` */
  async advance(moves: readonly { accountId: string; from: number; to: number }[], session: Session): Promise<void> {
    const { upsertedCount, modifiedCount } = await collection.bulkWrite(
      moves.map(({ accountId, from, to }) => ({
        updateOne: {
          filter: { _id: accountId, last: from },
          update: { $set: { last: to, isBehind: true }, $setOnInsert: { opened: 0, webhooksMade: 0 } },
          // Concurrent inserts of one counter collide in its `_id`.
          upsert: from === 0,
        },
      })),
      { session },
    );
    if (upsertedCount + modifiedCount !== moves.length) throw new CounterConflict();
  },

  /** Accounts with deliveries left to open, after this one in the order of their ids. */
  behind: (after: string, limit: number): Promise<EventCounterDoc[]> =>
    collection
      .find({ isBehind: true, _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),

  /** Marks deliveries as opened for every webhook of these accounts. */
  async markOpened(done: readonly EventCounterDoc[], session: Session): Promise<void> {
    if (done.length === 0) return;
    await collection.bulkWrite(
      done.map(({ _id, last }) => ({
        updateOne: { filter: { _id, last }, update: { $set: { opened: last, isBehind: false } } },
      })),
      { session },
    );
  },
});
