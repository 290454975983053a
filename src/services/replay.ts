/** Asking for a replay: counts what it will send and stores it for the workers. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Clock } from '../clock.js';
import { conflict } from '../domain/api-error.js';
import { firstIdOf, type NewId } from '../domain/ids.js';
import type { ForAccount } from '../stores/index.js';
import type { ReplayDoc } from '../stores/replays.js';
import type { WebhookDoc } from '../stores/webhooks.js';
import type { Caller } from './caller.js';

/** Of one webhook, not done yet. */
const MAX_WAITING = 10;

type Replay = Contract['webhooks']['replay'];

export function createReplay(deps: {
  forAccount: ForAccount<'events' | 'deliveries' | 'replays'>;
  clock: Clock;
  newId: NewId;
  /** Called when a replay was stored. */
  replayStored: () => void;
}) {
  const { forAccount, clock, newId, replayStored } = deps;

  /** @throws ApiError `conflict` when too many replays of this webhook are not done yet */
  return async (
    { accountId, reservedId }: Caller,
    webhook: WebhookDoc,
    { from, to, status, types }: Omit<ParsedInputOf<Replay>, 'id'>,
  ): Promise<OutputOf<Replay>> => {
    const { events, deliveries, replays } = forAccount(accountId);
    const replay: ReplayDoc = {
      _id: (reservedId ?? newId)('rpl'),
      accountId,
      webhookId: webhook._id,
      status,
      types: webhook.events.filter((type) => types?.includes(type) ?? true),
      fromId: firstIdOf('evt', from === undefined ? new Date(0) : new Date(from)),
      toId: to === undefined ? null : firstIdOf('evt', new Date(to)),
      // What comes after it was not considered for this webhook yet: it is fresh.
      upTo: webhook.openedTo,
      createdAt: clock.now(),
      cursor: '',
    };
    const replayed =
      status === 'FAILED'
        ? await deliveries.countFailed(replay)
        : (await events.countReplayed(replay)) - (await deliveries.countPending(replay));
    if (replayed <= 0) return { replayed: 0 };
    if ((await replays.count(webhook._id, MAX_WAITING)) >= MAX_WAITING) {
      throw conflict('This webhook has too many replays that are not done yet: wait until they are.');
    }
    await replays.insert(replay);
    replayStored();
    return { replayed };
  };
}
