/** Makes the deliveries of a replay due: a few at a time, and no more until those are sent, so that fresh deliveries never wait behind many. The
 *  replay's progress moves in the transaction that makes them due, so that after a crash none is lost or made due twice. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { CounterConflict } from '../domain/sequence.js';
import type { Database, Session } from '../stores/database.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { EventStore } from '../stores/events.js';
import type { ReplayDoc, ReplayStore } from '../stores/replays.js';
import type { WebhookStore } from '../stores/webhooks.js';

/** Less than a dispatcher loads at once for an endpoint, so that fresh deliveries are always loaded too. */
const MAX_DUE = 12;
/** In one round. */
const REPLAYS = 50;

export interface ReplayerDeps {
  replays: ReplayStore;
  events: Pick<EventStore, 'replayed'>;
  webhooks: Pick<WebhookStore, 'byId' | 'countDeliveries'>;
  deliveries: Pick<DeliveryStore, 'open' | 'failed' | 'replayFailed' | 'unfinished' | 'countDueReplays'>;
  transaction: Database['transaction'];
  clock: Clock;
  log: Logger;
  /** Called when deliveries have become due. */
  deliveriesDue: () => void;
}

export interface ReplayRound {
  /** There are replays that have not ended. */
  isOpen: boolean;
  /** Deliveries were made due. */
  isBusy: boolean;
}

export type Replayer = ReturnType<typeof createReplayer>;

export function createReplayer(deps: ReplayerDeps) {
  const { replays, log, deliveriesDue } = deps;
  let last = '';

  /** The next replays, beginning after those of the last round, so that each has its turn. */
  async function next(): Promise<ReplayDoc[]> {
    let batch = await replays.after(last, REPLAYS);
    if (batch.length === 0 && last !== '') batch = await replays.after('', REPLAYS);
    last = batch.at(-1)?._id ?? '';
    return batch;
  }

  return {
    async round(): Promise<ReplayRound> {
      let isBusy = false;
      const batch = await next();
      for (const replay of batch) {
        try {
          if (!(await replays.hasOlder(replay)) && (await replayBatch(deps, replay))) isBusy = true;
        } catch (err) {
          if (!(err instanceof CounterConflict)) log.error({ err, replayId: replay._id }, 'replay goes on later');
        }
      }
      if (isBusy) deliveriesDue();
      return { isOpen: batch.length > 0, isBusy };
    },
  };
}

/** @returns whether deliveries were made due */
async function replayBatch(deps: ReplayerDeps, replay: ReplayDoc): Promise<boolean> {
  const { replays, deliveries, clock } = deps;
  const due = await deliveries.countDueReplays(replay.webhookId, clock.now());
  if (due === null || due >= MAX_DUE) return false;
  const room = MAX_DUE - due;
  const found = await (replay.status === 'FAILED' ? failedOf(deps, replay, room) : eventsOf(deps, replay, room));
  const lastId = found.ids.at(-1);
  if (lastId === undefined) {
    await replays.remove(replay._id);
    return false;
  }
  return deps.transaction(async (session) => {
    if (!(await replays.advance(replay, lastId, session))) throw new CounterConflict();
    return found.makeDue(session);
  });
}

interface Batch {
  /** What is dealt with by it, in order. */
  ids: string[];
  /** @returns whether deliveries were made due */
  makeDue(session: Session): Promise<boolean>;
}

async function failedOf({ deliveries }: ReplayerDeps, replay: ReplayDoc, limit: number): Promise<Batch> {
  const found = await deliveries.failed(replay, limit);
  const ids = found.map(({ _id }) => _id);
  return {
    ids,
    async makeDue(session) {
      await deliveries.replayFailed(ids, session);
      return true;
    },
  };
}

async function eventsOf(
  { events, webhooks, deliveries }: ReplayerDeps,
  replay: ReplayDoc,
  limit: number,
): Promise<Batch> {
  const { _id, webhookId } = replay;
  const found = await events.replayed(replay, limit);
  return {
    ids: found.map((event) => event._id),
    async makeDue(session) {
      const webhook = await webhooks.byId(webhookId, session);
      // Deleted: what is left is walked through, and nothing is sent.
      if (!webhook) return false;
      const unfinished = await deliveries.unfinished(replay, found, session);
      const again = found.filter((event) => !unfinished.has(event._id));
      const from = webhook.deliverySequence;
      const planned = again.map((event, index) => ({ webhookId, event, sequence: from + index + 1 }));
      if (planned.length === 0) return false;
      await deliveries.open(planned, session, _id);
      if (!(await webhooks.countDeliveries(webhookId, from, planned.length, session))) throw new CounterConflict();
      return true;
    },
  };
}
