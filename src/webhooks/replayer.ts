/** Makes the deliveries of replays due, a batch of one replay in each round, so that fresh events are numbered and opened between two of them. A replay's
 *  progress moves in the transaction that makes its deliveries due, so that after a crash none is lost or made due twice. Dispatchers send what is fresh
 *  first, however many deliveries of replays are due. */

import type { Logger } from 'pino';
import { CounterConflict, type EventStore } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import type { Database, Session } from '../kit/database.js';
import type { DeliveryStore } from './delivery-store.js';
import type { ReplayDoc, ReplayStore } from './replay-store.js';
import type { WebhookStore } from './webhook-store.js';

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
