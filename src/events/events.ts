/** Events in the API: reading them and waiting for them. */
import type { Event, WebhookPayload } from '../../contracts/events.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import { notFound } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { pageOf } from '../kit/paging.js';
import type { ForAccount } from '../stores.js';
import type { AccountEvents, EventDoc } from './event-store.js';
import type { EventTail } from './event-tail.js';

// Stored events → what the API answers, and the body that webhooks and streams carry.

const toEvent = (event: EventDoc): Event =>
  ({
    id: event._id,
    type: event.type,
    sequence: event.sequence,
    createdAt: event.createdAt.toISOString(),
    data: JSON.parse(event.data),
  }) satisfies Record<keyof Event, unknown> as Event;

/** As much of an event as its body shows; the sample event of a test has no number. */
export type SentEvent = Pick<EventDoc, '_id' | 'type' | 'createdAt' | 'data'> & { sequence: number | null };

/** JSON on one line: the same text whenever it is called for the same event. */
export function toEventBody(event: SentEvent): string {
  const { _id: id, type, sequence, createdAt, data } = event;
  const head = JSON.stringify({ id, type, sequence, timestamp: createdAt.toISOString() } satisfies Omit<
    WebhookPayload,
    'data'
  >);
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** How long a reader waits at most for pending events to be numbered. */
const NUMBERING_MS = 1000;
const NUMBERING_POLL_MS = 20;

type ListInput = ParsedInputOf<Contract['events']['list']>;

type Service = ServiceOf<Contract['events']>;

interface EventServiceDeps {
  forAccount: ForAccount<'events' | 'eventCounters'>;
  tail: EventTail;
  /** Wakes the sequencer of this process, if it has one. */
  eventsStored: () => void;
  clock: Clock;
}

export function createEventService(deps: EventServiceDeps): Service {
  return {
    list: list(deps),
    stream: stream(deps),
    get: get(deps),
  };
}

/** Characters of events in an answer. An event of an order with very many payments has more than
 *  a million. */
const PAGE_BYTES = 8_388_608;

/** Waits until pending events are numbered, because lists show only numbered ones: a caller that
 *  has seen a payment must find its events, too. */
async function numbered({ eventsStored, clock }: EventServiceDeps, events: AccountEvents): Promise<void> {
  const newest = await events.newestUnnumbered();
  if (newest === null) return;
  eventsStored();
  const giveUpMs = clock.nowMs() + NUMBERING_MS;
  do await clock.sleep(NUMBERING_POLL_MS);
  while ((await events.newestUnnumbered(newest)) !== null && clock.nowMs() < giveUpMs);
}

async function listAfter(
  deps: EventServiceDeps,
  caller: Caller,
  after: number,
  { wait = 0, pageSize, type, paymentId }: ListInput,
) {
  const { events } = deps.forAccount(caller.accountId);
  const read = () => events.after(after, pageSize + 1, { type, subjectId: paymentId, maxBytes: PAGE_BYTES });
  if (wait === 0) await numbered(deps, events);
  const found = wait === 0 ? await read() : await waitFor(deps, caller, after, wait, read);
  // The last one read only tells that there is more.
  const isCut = found.length > 1 && found.reduce((sum, { data }) => sum + data.length, 0) >= PAGE_BYTES;
  const items = found.slice(0, isCut ? Math.min(pageSize, found.length - 1) : pageSize).map(toEvent);
  return { items, meta: { after: items.at(-1)?.sequence ?? after, hasMore: found.length > items.length } };
}

/** Reads again on every new event of the account, until one matches, the time is up or the caller
 *  hangs up. */
async function waitFor(
  { tail, clock }: EventServiceDeps,
  caller: Caller,
  after: number,
  seconds: number,
  read: () => Promise<EventDoc[]>,
) {
  const waiter = tail.enter(caller);
  const done = new AbortController();
  let isLate = false;
  void clock.sleep(seconds * 1000, done.signal).then(() => {
    isLate = true;
    waiter.wake();
  });
  try {
    for (let seen = after; ; ) {
      const known = waiter.known();
      const found = await read();
      waiter.throwIfKeyEnded();
      if (found.length > 0 || isLate || waiter.isOver()) return found;
      seen = Math.max(seen, known);
      await waiter.until(seen);
    }
  } finally {
    done.abort();
    waiter.leave();
  }
}

const list =
  (deps: EventServiceDeps): Service['list'] =>
  async (caller, input) => {
    // See the type of the meta in the contract's `events.list`.
    if (input.after !== undefined) return listAfter(deps, caller, input.after, input) as never;
    const { page = 1, pageSize, paymentId, createdFrom, createdTo, type, order = 'desc' } = input;
    const { events } = deps.forAccount(caller.accountId);
    await numbered(deps, events);
    const { items, meta } = await events.list(
      {
        type,
        order,
        subjectId: paymentId,
        createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
        createdTo: createdTo === undefined ? undefined : new Date(createdTo),
      },
      pageOf(caller, { page, pageSize }),
    );
    return { items: items.map(toEvent), meta };
  };

const stream =
  ({ forAccount, tail }: EventServiceDeps): Service['stream'] =>
  async (caller, { after, lastEventId = '' }) => {
    const from =
      lastEventId === '' ? (after ?? (await forAccount(caller.accountId).eventCounters.last())) : Number(lastEventId);
    return tail.stream(caller, from);
  };

const get =
  ({ forAccount }: EventServiceDeps): Service['get'] =>
  async ({ accountId }, { id }) => {
    const event = await forAccount(accountId).events.byId(id);
    if (!event) throw notFound('event');
    return toEvent(event);
  };
