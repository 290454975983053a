/** Webhooks, and the lease of each: which dispatcher sends its deliveries now. A lease ends by the database's clock. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import type { OpeningPlan, Subscriber } from '../domain/sequence.js';
import { inOneBatch, makeIndexes, orAlreadyMade, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { EPOCH } from './due-deliveries.js';
import { createFailingWebhooks } from './failing-webhooks.js';
import { createPages, type PageRequest } from './paging.js';

export interface WebhookDoc {
  _id: string;
  accountId: string;
  name: string;
  url: string;
  events: EventType[];
  status: 'ACTIVE' | 'PAUSED';
  secretMasked: string;
  /** Newest first, sealed for this webhook; `until` is null for the current one, else when it stops to sign. */
  secrets: { sealed: string; until: Date | null }[];
  /** First failed attempt since the last delivery. */
  failingSince: Date | null;
  /** Failed attempts since the last delivery; absent for none. */
  failedAttempts?: number;
  /** How often it was started anew: what failed before the last time does not count. Absent for never. */
  starts?: number | null;
  /** Of the last attempt that failed; absent when none did. */
  lastFailure?: LastFailure | null;
  /** `failingSince` of the failures that its account was told of last. Absent for none. */
  toldFailing?: Date | null;
  /** `sequence` of the last event that was considered for it. */
  openedTo: number;
  /** Number of its latest delivery. */
  deliverySequence: number;
  /** How many replays it has had. Absent for none. */
  replays?: number;
  /** Which dispatcher sends its deliveries now. `lastsMs`: how long the lease lasted when it was taken or renewed. `askedBy`: another one, which gets the lease next. */
  lease: { holder: string; until: Date; lastsMs?: number; askedBy?: string } | null;
  createdAt: Date;
}

export interface LastFailure {
  at: Date;
  error: string | null;
}

export type WebhookChanges = Partial<Pick<WebhookDoc, 'name' | 'url' | 'events' | 'status'>>;

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
    lease: {
      type: new mongoose.Schema(
        {
          holder: String,
          until: Date,
          lastsMs: { type: Number, required: false },
          askedBy: { type: String, required: false },
        },
        PART_OPTIONS,
      ),
      default: null,
    },
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
const LONG_AGO = new Date(0);
/** For leases of before there was `lastsMs`: longer than any. */
const LONGEST_LEASE_MS = 15 * 60_000;
const CLOCK_DOUBT_MS = 10_000;
/** A lease that nobody holds: it has ended, or lasts so long that the clock was set back since. */
const FREE = {
  $expr: {
    $or: [
      { $lte: [{ $ifNull: ['$lease.until', LONG_AGO] }, '$$NOW'] },
      {
        $gt: ['$lease.until', { $add: ['$$NOW', { $ifNull: ['$lease.lastsMs', LONGEST_LEASE_MS] }, CLOCK_DOUBT_MS] }],
      },
    ],
  },
};
/** Bounds a command. */
const LOOKED_AT_ONCE = 10_000;

/** What works across accounts: for the watcher and the dispatchers. */
export type WebhookStore = ReturnType<typeof createWebhookStore>['system'];

export function createWebhookStore(connection: mongoose.Connection) {
  const webhooks = connection.model<WebhookDoc>('Webhook', webhookSchema);
  const page = createPages(webhooks);
  const collection = webhooks.collection as unknown as mongoose.mongo.Collection<WebhookDoc>;

  return {
    ensureIndexes: () => makeIndexes(webhooks),

    forAccount: (accountId: string) => ({
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
      /** Null when there is no such webhook. One that is made ACTIVE again has its waiting deliveries expedited before. */
      update(id: string, changes: WebhookChanges, session?: Session): Promise<WebhookDoc | null> {
        // A new address or a new start is not blamed for what failed before.
        const update =
          changes.status === 'ACTIVE' || changes.url !== undefined
            ? { $set: { ...changes, failingSince: null, failedAttempts: 0 }, $inc: { starts: 1 } }
            : { $set: changes };
        return collection.findOneAndUpdate({ _id: id, accountId }, update, { returnDocument: 'after', session });
      },
      /** The secrets so far go on signing for 24 h. Null when there is no such webhook. */
      rotate: (id: string, secret: { sealed: string; masked: string }, now: Date, session?: Session) =>
        collection.findOneAndUpdate(
          { _id: id, accountId },
          [
            {
              $set: {
                secretMasked: { $literal: secret.masked },
                secrets: {
                  $concatArrays: [
                    [{ sealed: { $literal: secret.sealed }, until: null }],
                    {
                      $filter: {
                        input: {
                          $map: {
                            input: '$secrets',
                            in: {
                              sealed: '$$this.sealed',
                              until: { $ifNull: ['$$this.until', new Date(now.getTime() + ROTATION_MS)] },
                            },
                          },
                        },
                        cond: { $gt: ['$$this.until', now] },
                      },
                    },
                  ],
                },
              },
            },
          ],
          { returnDocument: 'after', session },
        ),
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
      /** What was pending for it is to be cancelled after this. */
      async remove(id: string, session?: Session): Promise<boolean> {
        const { deletedCount } = await collection.deleteOne({ _id: id, accountId }, { session });
        return deletedCount === 1;
      },
    }),

    system: {
      ...createFailingWebhooks(collection),
      /** Which of these accounts have one. */
      ownersAmong: (accountIds: readonly string[]): Promise<string[]> =>
        collection.distinct('accountId', { accountId: { $in: [...accountIds] } }),
      /** Whoever may be told of these accounts' events, in the order of their ids. */
      subscribed: (accountIds: readonly string[], session: Session): Promise<Subscriber[]> =>
        collection
          .find(
            { accountId: { $in: [...accountIds] } },
            { session, projection: { accountId: 1, events: 1, openedTo: 1, deliverySequence: 1 } },
          )
          .sort({ accountId: 1, _id: 1 })
          .toArray() as Promise<Subscriber[]>,
      /** As it is in this transaction. */
      byId: (id: string, session: Session): Promise<WebhookDoc | null> => collection.findOne({ _id: id }, { session }),
      /** Gives the next numbers to deliveries of a replay. @returns false when others were given meanwhile */
      async countDeliveries(id: string, from: number, count: number, session: Session): Promise<boolean> {
        const { modifiedCount } = await collection.updateOne(
          { _id: id, deliverySequence: from },
          { $set: { deliverySequence: from + count } },
          { session },
        );
        return modifiedCount === 1;
      },
      /** Moves the webhooks behind the events for which their deliveries are opened. @returns false when one was moved meanwhile */
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

      /** Takes the leases of those ACTIVE webhooks whose lease nobody holds. `paused`: ids of PAUSED ones. `gone`: ids of no webhook.
       *  `leased`: ids of those whose leases others hold, by holder. */
      async claimLeases(
        ids: readonly string[],
        holder: string,
        leaseMs: number,
      ): Promise<{ held: WebhookDoc[]; paused: string[]; gone: string[]; leased: Map<string, string[]> }> {
        await collection.updateMany(
          {
            _id: { $in: [...ids] },
            status: 'ACTIVE',
            $or: [{ 'lease.holder': holder }, FREE],
          },
          [withLease({ holder: { $literal: holder }, until: fromNow(leaseMs), lastsMs: leaseMs })],
        );
        const found = await collection.find({ _id: { $in: [...ids] } }, inOneBatch(ids)).toArray();
        const known = new Set(found.map(({ _id }) => _id));
        const held = found.filter(({ lease, status }) => lease?.holder === holder && status === 'ACTIVE');
        const paused = found.filter(({ status }) => status === 'PAUSED').map(({ _id }) => _id);
        const leased = new Map<string, string[]>();
        for (const { _id, lease, status } of found) {
          if (status !== 'ACTIVE' || !lease || lease.holder === holder) continue;
          const theirs = leased.get(lease.holder);
          if (theirs) theirs.push(_id);
          else leased.set(lease.holder, [_id]);
        }
        return { held, paused, gone: ids.filter((id) => !known.has(id)), leased };
      },
      /** How many of these webhooks are ACTIVE and have a lease that nobody holds, counted up to `limit`. */
      async countClaimable(ids: readonly string[], limit: number): Promise<number> {
        let count = 0;
        for (let from = 0; from < ids.length && count < limit; from += LOOKED_AT_ONCE) {
          const some = ids.slice(from, from + LOOKED_AT_ONCE);
          count += await collection.countDocuments(
            { _id: { $in: some }, status: 'ACTIVE', ...FREE },
            { limit: limit - count },
          );
        }
        return count;
      },
      async renewLeases(ids: readonly string[], holder: string, leaseMs: number): Promise<void> {
        await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, [
          withLease({ $mergeObjects: ['$lease', { until: fromNow(leaseMs), lastsMs: leaseMs }] }),
        ]);
      },
      /** Those of these webhooks whose lease `holder` has, as they are now. */
      heldBy: (holder: string, ids: readonly string[]): Promise<WebhookDoc[]> =>
        collection.find({ _id: { $in: [...ids] }, 'lease.holder': holder }, inOneBatch(ids)).toArray(),
      /** Asks `from` to hand these leases over. */
      async askForLeases(ids: readonly string[], from: string, holder: string): Promise<void> {
        await collection.updateMany(
          { _id: { $in: [...ids] }, 'lease.holder': from },
          { $set: { 'lease.askedBy': holder } },
        );
      },
      /** Which of these leases of `holder` somebody asks for. */
      async askedFor(ids: readonly string[], holder: string): Promise<string[]> {
        const found = await collection
          .find(
            { _id: { $in: [...ids] }, 'lease.holder': holder, 'lease.askedBy': { $gt: '' } },
            { projection: { _id: 1 }, ...inOneBatch(ids) },
          )
          .toArray();
        return found.map(({ _id }) => _id);
      },
      /** Gives these leases to who asked for them, for a moment in which they can be taken up, or to anybody. */
      async releaseLeases(ids: readonly string[], holder: string): Promise<void> {
        const handedOver = { holder: '$lease.askedBy', until: fromNow(HANDED_OVER_MS), lastsMs: HANDED_OVER_MS };
        await collection.updateMany({ _id: { $in: [...ids] }, 'lease.holder': holder }, [
          withLease({ $cond: [{ $ifNull: ['$lease.askedBy', false] }, handedOver, null] }),
        ]);
      },
      /** Each only while `holder` has its lease, and unless it was started anew since. */
      async recordHealth(changes: readonly FailureState[], holder: string): Promise<void> {
        if (changes.length === 0) return;
        await collection.bulkWrite(
          changes.map((change) => ({
            updateOne: { filter: asKnown(change, holder), update: { $set: failureFields(change) } },
          })),
          { ordered: false },
        );
      },
      /** Only while it is ACTIVE and `holder` has its lease, and unless it was started anew since; null otherwise. */
      pause: (state: FailureState, holder: string, session: Session) =>
        collection.findOneAndUpdate(
          { ...asKnown(state, holder), status: 'ACTIVE' },
          { $set: { status: 'PAUSED', ...failureFields(state) } },
          { returnDocument: 'after', session },
        ),
    },
  };
}

/** Failed attempts in a row at a webhook. */
export interface FailureState {
  id: string;
  /** Of the webhook when it failed. */
  starts: number | null | undefined;
  failingSince: Date | null;
  failedAttempts: number;
  /** Absent when it did not fail. */
  lastFailure?: LastFailure;
}

const asKnown = ({ id, starts }: FailureState, holder: string) => ({
  _id: id,
  'lease.holder': holder,
  starts: starts ?? null,
});

const failureFields = ({ failingSince, failedAttempts, lastFailure }: FailureState) => ({
  failingSince,
  failedAttempts,
  ...(lastFailure ? { lastFailure } : {}),
});

/** What an attempt says of its webhook. */
export interface WebhookHealth extends FailureState {
  status?: 'PAUSED';
  /** Only with PAUSED: the endpoint answered 410, or failed for days. */
  pausedBecause?: 'gone' | 'failing';
}

/** Who asked for a lease and does not take it up for so long is gone. */
const HANDED_OVER_MS = 2000;

/** By the database's clock, because those of several workers differ. */
const fromNow = (ms: number) => ({ $add: ['$$NOW', ms] });

/** $set would leave what was in the old lease in the new one. */
const withLease = (lease: object) => ({ $replaceWith: { $mergeObjects: ['$$ROOT', { lease }] } });
