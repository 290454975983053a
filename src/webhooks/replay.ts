/** Requests a replay: counts what it will send and stores it for the workers. */

import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Commit } from '../accounts/index.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { firstIdOf, type NewId } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import type { ReplayDoc } from './replay-store.js';
import type { WebhookDoc } from './webhook-store.js';

/** How long a request waits for the preparation of the previous replay, which makes some thousands of deliveries due each second. */
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

  /** The number of deliveries it will send, while no other replay of the webhook is in preparation. */
  async function countOf(replay: ReplayDoc, { deliverySequence }: WebhookDoc): Promise<number> {
    const { events, deliveries } = forAccount(replay.accountId);
    if (replay.status === 'FAILED') return deliveries.countFailed(replay);
    const [all, unfinished] = await Promise.all([
      events.countReplayed(replay),
      deliveries.countUnfinished(replay, deliverySequence),
    ]);
    return Math.max(0, all - unfinished);
  }

  /** @returns false when another replay was stored since the webhook was read, so that the count may be wrong */
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
      if (before?._id === _id) return { replayed: before.count ?? 0 };
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
