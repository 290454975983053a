/** Numbers events and deliveries. Pure. */
import { type EventType, predecessorOf } from '../../contracts/event-kinds.js';

/** Another process has numbered these events or opened these deliveries. */
export class CounterConflict extends Error {
  override readonly name = 'CounterConflict';
}

export interface UnnumberedEvent {
  _id: string;
  accountId: string;
  type: EventType;
  subjectId: string;
}

export interface NumberedEvent extends UnnumberedEvent {
  sequence: number;
}

/** Gives each account's events the numbers after `last`, in the order of their ids. An event always follows its predecessor, even if the clocks of
 *  two processes ordered the ids otherwise.
 *  @param last the latest number of each account; absent for 0 */
export function numberEvents(events: readonly UnnumberedEvent[], last: ReadonlyMap<string, number>): NumberedEvent[] {
  const sorted = events.toSorted((a, b) => (a._id < b._id ? -1 : 1));
  const byKey = new Map(sorted.map((event) => [keyOf(event.subjectId, event.type), event]));
  const next = new Map(last);
  const numbered = new Map<string, NumberedEvent>();
  const number = (event: UnnumberedEvent): void => {
    if (numbered.has(event._id)) return;
    const before = predecessorOf(event.type);
    const predecessor = before && byKey.get(keyOf(event.subjectId, before));
    if (predecessor) number(predecessor);
    const sequence = (next.get(event.accountId) ?? 0) + 1;
    next.set(event.accountId, sequence);
    numbered.set(event._id, { ...event, sequence });
  };
  for (const event of sorted) number(event);
  return [...numbered.values()];
}

const keyOf = (subjectId: string, type: EventType) => `${subjectId} ${type}`;

/** The part of a webhook that opening its deliveries needs. */
export interface Subscriber {
  _id: string;
  accountId: string;
  events: readonly EventType[];
  /** `sequence` of the last event that was considered for it. */
  openedTo: number;
  /** Number of its latest delivery. */
  deliverySequence: number;
}

export interface OpeningPlan {
  /** In the order of each webhook's numbers. */
  deliveries: { webhookId: string; event: NumberedEvent; sequence: number }[];
  moves: { webhookId: string; from: number; openedTo: number; deliverySequence: number }[];
}

/** Plans the deliveries to open: for each webhook those of the events after `openedTo`, numbered without holes.
 *  @param events all events of the webhooks' accounts after the lowest `openedTo`, up to some number, in order
 *  @param limits the most deliveries to open, for each account and in all */
export function planOpening(
  subscribers: readonly Subscriber[],
  events: readonly NumberedEvent[],
  limits: { perAccount: number; inAll: number },
): OpeningPlan {
  const plan: OpeningPlan = { deliveries: [], moves: [] };
  const openedBy = new Map<string, number>();
  for (const { _id: webhookId, accountId, events: types, openedTo: from, deliverySequence } of subscribers) {
    let [openedTo, sequence] = [from, deliverySequence];
    for (const event of events) {
      if (event.accountId !== accountId || event.sequence <= openedTo) continue;
      // A webhook receives no events about itself.
      if (types.includes(event.type) && event.subjectId !== webhookId) {
        const opened = openedBy.get(accountId) ?? 0;
        if (opened >= limits.perAccount || plan.deliveries.length >= limits.inAll) break;
        openedBy.set(accountId, opened + 1);
        sequence += 1;
        plan.deliveries.push({ webhookId, event, sequence });
      }
      openedTo = event.sequence;
    }
    if (openedTo !== from) plan.moves.push({ webhookId, from, openedTo, deliverySequence: sequence });
  }
  return plan;
}
