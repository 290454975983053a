/** Replays: requested and counted in the API, stored, and opened as deliveries by the workers. */
import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import type { EventType } from '../../contracts/event-kinds.js';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Commit } from '../accounts/index.js';
import { CounterConflict, type EventStore } from '../events/index.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import { type Database, orAlreadyMade, type Session } from '../kit/database.js';
import { firstIdOf, type NewId } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import type { DeliveryStore } from './delivery-store.js';
import type { WebhookDoc, WebhookStore } from './webhook-store.js';

/** The ids of its events, as a condition. */
export const idRangeOf = ({ fromId, toId }: Pick<ReplayDoc, 'fromId' | 'toId'>) => ({
  $gte: fromId,
  ...(toId === null ? {} : { $lt: toId }),
});

// Replays in preparation: the deliveries that an account asked to be sent again, and how far they
// are made due. A webhook has one at a time.

const REPLAYS = define(
  'replays',
  {
    _id: String,
    accountId: String,
    webhookId: String,
    status: text<'FAILED' | 'ALL'>(),
    types: [text<EventType>()],
    /** Ids of events: from this one on. */
    fromId: String,
    /** Up to this one, exclusive; null for no end. */
    toId: nullable(String),
    /** `sequence` of the last event that is not fresh. */
    upTo: Number,
    /** When it was requested: deliveries that had not ended by then are skipped. */
    createdAt: Date,
    /** Id of the last delivery (FAILED) or event (ALL) dealt with. */
    cursor: String,
    /** Number of deliveries it will send. */
    count: Number,
    /** Number of those made due so far. */
    made: Number,
  },
  [{ key: { webhookId: 1, _id: 1 } }],
);

export interface ReplayDoc extends DocOf<typeof REPLAYS> {}

type ReplayStore = ReturnType<typeof createReplayStore>['system'];

export function createReplayStore(connection: mongoose.Connection) {
  const collection = openCollection<ReplayDoc>(connection, REPLAYS);

  return {
    forAccount: (accountId: string) => ({
      /** Stores it as this account's, in the transaction that counts it at its webhook. */
      async insert(replay: ReplayDoc, session: Session): Promise<void> {
        await orAlreadyMade(collection.insertOne({ ...replay, accountId }, { session }));
      },
      /** The webhook's oldest replay. */
      ofWebhook: (webhookId: string, session?: Session): Promise<ReplayDoc | null> =>
        collection.findOne({ webhookId, accountId }, { sort: { _id: 1 }, session }),
    }),

    system: {
      /** The next replay by id. */
      after: (id: string): Promise<ReplayDoc | null> => collection.findOne({ _id: { $gt: id } }, { sort: { _id: 1 } }),
      /** Call in the transaction that makes `made` more deliveries due. @returns false when another
       *  process moved it since it was read */
      async advance(
        { _id, cursor: from }: ReplayDoc,
        { cursor, made }: { cursor: string; made: number },
        session: Session,
      ): Promise<boolean> {
        const { modifiedCount } = await collection.updateOne(
          { _id, cursor: from },
          { $set: { cursor }, $inc: { made } },
          { session },
        );
        return modifiedCount === 1;
      },
      async remove(id: string): Promise<void> {
        await collection.deleteOne({ _id: id });
      },
    },
  };
}

// Makes the deliveries of replays due, a batch of one replay in each round, so that fresh events
// are numbered and opened between two of them. A replay's progress moves in the transaction that
// makes its deliveries due, so that after a crash none is lost or made due twice. Dispatchers send
// what is fresh first, however many deliveries of replays are due.

/** Deliveries that one transaction makes due at most. */
const BATCH = 500;

interface ReplayerDeps {
  replays: ReplayStore;
  events: Pick<EventStore, 'replayed'>;
  webhooks: Pick<WebhookStore, 'byId' | 'countDeliveries'>;
  deliveries: Pick<DeliveryStore, 'open' | 'failed' | 'replayFailed' | 'unfinished'>;
  transaction: Database['transaction'];
  clock: Clock;
  log: Logger;
  /** Called when deliveries have become due. */
  deliveriesDue: () => void;
}

export interface ReplayRound {
  /** There are replays that are not prepared. */
  isOpen: boolean;
  /** At least one replay advanced. */
  isBusy: boolean;
}

export function createReplayer(deps: ReplayerDeps) {
  const { replays, log, deliveriesDue } = deps;
  let last = '';

  /** The one after that of the last round, so that each has its turn. */
  async function next(): Promise<ReplayDoc | null> {
    const replay = (await replays.after(last)) ?? (last === '' ? null : await replays.after(''));
    last = replay?._id ?? '';
    return replay;
  }

  return {
    async round(): Promise<ReplayRound> {
      const replay = await next();
      if (!replay) return { isOpen: false, isBusy: false };
      try {
        await replayBatch(deps, replay);
        deliveriesDue();
        return { isOpen: true, isBusy: true };
      } catch (err) {
        if (!(err instanceof CounterConflict)) log.error({ err, replayId: replay._id }, 'replay continues later');
        return { isOpen: true, isBusy: false };
      }
    },
  };
}

async function replayBatch(deps: ReplayerDeps, replay: ReplayDoc): Promise<void> {
  const { replays } = deps;
  const found = await (replay.status === 'FAILED' ? failedOf(deps, replay) : eventsOf(deps, replay));
  const cursor = found.ids.at(-1);
  if (cursor === undefined) return replays.remove(replay._id);
  await deps.transaction(async (session) => {
    const made = await found.makeDue(session);
    if (!(await replays.advance(replay, { cursor, made }, session))) throw new CounterConflict();
  });
}

interface Batch {
  /** Its deliveries or events, in order. */
  ids: string[];
  /** @returns how many deliveries were made due */
  makeDue(session: Session): Promise<number>;
}

async function failedOf({ deliveries }: ReplayerDeps, replay: ReplayDoc): Promise<Batch> {
  const found = await deliveries.failed(replay, BATCH);
  const ids = found.map(({ _id }) => _id);
  return { ids, makeDue: (session) => deliveries.replayFailed(replay, ids, session) };
}

async function eventsOf({ events, webhooks, deliveries }: ReplayerDeps, replay: ReplayDoc): Promise<Batch> {
  const { _id, webhookId } = replay;
  const found = await events.replayed(replay, BATCH);
  return {
    ids: found.map((event) => event._id),
    async makeDue(session) {
      const webhook = await webhooks.byId(webhookId, session);
      // The webhook was deleted: skip through the rest without sending.
      if (!webhook) return 0;
      const unfinished = await deliveries.unfinished(replay, found, session);
      const again = found.filter((event) => !unfinished.has(event._id));
      const from = webhook.deliverySequence;
      const planned = again.map((event, index) => ({ webhookId, event, sequence: from + index + 1 }));
      if (planned.length === 0) return 0;
      await deliveries.open(planned, session, _id);
      if (!(await webhooks.countDeliveries(webhookId, from, planned.length, session))) throw new CounterConflict();
      return planned.length;
    },
  };
}

/** How long a request waits for the preparation of the previous replay, which makes some
 *  thousands of deliveries due each second. */
const WAIT_MS = 5000;
const LOOK_MS = 50;

type Replay = Contract['webhooks']['replay'];
type Asked = ParsedInputOf<Replay>;

export function createReplay(deps: {
  forAccount: ForAccount<'webhooks' | 'events' | 'deliveries' | 'replays'>;
  commit: Commit;
  clock: Clock;
  newId: NewId;
  /** Called when a replay was stored. */
  eventsStored: () => void;
}) {
  const { forAccount, commit, clock, newId, eventsStored } = deps;

  /** The number of deliveries it will send, while no other replay of the webhook is
   *  in preparation. */
  async function countOf(replay: ReplayDoc, { deliverySequence }: WebhookDoc): Promise<number> {
    const { events, deliveries } = forAccount(replay.accountId);
    if (replay.status === 'FAILED') return deliveries.countFailed(replay);
    const [all, unfinished] = await Promise.all([
      events.countReplayed(replay),
      deliveries.countUnfinished(replay, deliverySequence),
    ]);
    return Math.max(0, all - unfinished);
  }

  /** @returns false when another replay was stored since the webhook was read, so that the count
   *  may be wrong */
  const store = async (caller: Caller, replay: ReplayDoc, webhook: WebhookDoc): Promise<boolean> => {
    const { webhooks, replays } = forAccount(replay.accountId);
    const [refusal] = await commit.all([{ caller, subjectId: webhook._id }], async (session) => {
      if (!(await webhooks.countReplay(webhook, session))) return [overtaken()];
      await replays.insert(replay, session);
      return [null];
    });
    return refusal === null;
  };

  /** @throws ApiError `conflict` while another replay of this webhook is in preparation */
  return async (caller: Caller, { id, ...asked }: Asked): Promise<OutputOf<Replay>> => {
    const { accountId, reservedId } = caller;
    const { webhooks, replays } = forAccount(accountId);
    const _id = (reservedId ?? newId)('rpl');
    const giveUpAtMs = clock.nowMs() + WAIT_MS;
    for (;;) {
      const webhook = await webhooks.byId(id);
      if (!webhook) throw notFound('webhook');
      const before = await replays.ofWebhook(id);
      // Already stored by a run of this request that died before it answered.
      if (before?._id === _id) return { replayed: before.count };
      if (!before) {
        const replay = toReplay(_id, webhook, asked, clock.now());
        const count = await countOf(replay, webhook);
        if (count === 0) return { replayed: 0 };
        if (await store(caller, { ...replay, count }, webhook)) {
          eventsStored();
          return { replayed: count };
        }
      }
      if (clock.nowMs() >= giveUpAtMs) throw overtaken();
      await clock.sleep(LOOK_MS);
    }
  };
}

const overtaken = () => conflict('Another replay of this webhook is being prepared: try again in a moment.');

const toReplay = (
  _id: string,
  webhook: WebhookDoc,
  { from, to, status, types }: Omit<Asked, 'id'>,
  createdAt: Date,
): ReplayDoc => ({
  _id,
  accountId: webhook.accountId,
  webhookId: webhook._id,
  status,
  types: webhook.events.filter((type) => types?.includes(type) ?? true),
  fromId: firstIdOf('evt', from === undefined ? new Date(0) : new Date(from)),
  toId: to === undefined ? null : firstIdOf('evt', new Date(to)),
  // Later events were not considered for this webhook yet: they are fresh.
  upTo: webhook.openedTo,
  createdAt,
  cursor: '',
  count: 0,
  made: 0,
});
