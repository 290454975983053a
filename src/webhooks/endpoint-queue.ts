/** The queue of one webhook while a dispatcher has its lease: deliveries that are loaded and not
 *  recorded yet, in sending order. A delivery never starts before the first attempt of its
 *  predecessor (the earlier event about the same subject) is over. */
import { EVENT_TYPES, type EventType, predecessorOf } from '../../contracts/event-kinds.js';
import type { FailureStreak } from '../domain/retry.js';
import type { DueDelivery } from './due-deliveries.js';
import type { WebhookDoc } from './webhook-store.js';

/** A due delivery in memory. */
export interface LoadedDelivery {
  delivery: DueDelivery;
  /** The same bytes on every attempt. Null for a large body, which is read when the
   *  attempt begins. */
  body: Buffer | null;
}

const PREDECESSORS: ReadonlySet<EventType | null> = new Set(EVENT_TYPES.map(predecessorOf));

/** The key of a predecessor that deliveries wait for. */
const keyOf = (subjectId: string, type: EventType) => `${subjectId} ${type}`;

/** Only first attempts are ordered: an event's retry does not delay another event. */
const isFirst = (delivery: DueDelivery) => delivery.attemptCount === 0;

/** The event kind that must go before this delivery; null if none. */
export const predecessorOfDelivery = (delivery: DueDelivery): EventType | null =>
  isFirst(delivery) ? predecessorOf(delivery.eventType) : null;

/** Whether other deliveries may have to wait for this one. */
export const isPredecessor = (delivery: DueDelivery): boolean =>
  isFirst(delivery) && PREDECESSORS.has(delivery.eventType);

/** Fresh and replayed deliveries are queued separately, so that neither takes the other's room. */
export class Lane {
  readonly ready: LoadedDelivery[] = [];
  /** Deliveries that wait for a predecessor. */
  waiting = 0;
  inFlight = 0;
  /** More may be due than was loaded. */
  hasMore = false;

  /** Deliveries that have not started. */
  get queued(): number {
    return this.ready.length + this.waiting;
  }
}

export class EndpointQueue {
  /** Starts no more deliveries: the webhook is paused, deleted or leased by another dispatcher.
   *  Requests in flight end as usual. */
  stopped = false;
  readonly fresh = new Lane();
  /** Replayed deliveries start when no fresh one is ready, and never take all slots. */
  readonly replays = new Lane();
  /** Number of the read that returned `webhook`; 0 for the claim. */
  lastRead = 0;
  /** Failed attempts since the last success; written with the next records. */
  failures: FailureStreak | null;

  /** Deliveries that wait for a predecessor, by its key. */
  readonly #waiting = new Map<string, LoadedDelivery[]>();
  /** Keys of queued predecessors whose first attempt is not over. */
  readonly #awaited = new Set<string>();
  readonly #held = new Set<string>();
  readonly #recordedSinceLook = new Set<string>();

  /** @param heldSinceMs by the monotonic clock, as is the next
   *  @param leaseEndsMs earlier than the database's end of the lease */
  constructor(
    public webhook: WebhookDoc,
    readonly heldSinceMs: number,
    public leaseEndsMs: number,
  ) {
    const { failingSince: since, failedAttempts: attempts = 0 } = webhook;
    this.failures = since && { since, attempts };
  }

  /** Deliveries that are queued, in flight or not recorded yet. */
  get size(): number {
    return this.#held.size;
  }

  get inFlight(): number {
    return this.fresh.inFlight + this.replays.inFlight;
  }

  /** Deliveries wait for nothing but a free slot. */
  get hasReady(): boolean {
    return this.fresh.ready.length + this.replays.ready.length > 0;
  }

  /** Ids of the deliveries that `size` counts. */
  get held(): ReadonlySet<string> {
    return this.#held;
  }

  /** Call before querying due deliveries. @param lanes the lanes to load */
  look(lanes: readonly Lane[]): void {
    for (const lane of lanes) lane.hasMore = false;
    this.#recordedSinceLook.clear();
  }

  /** True when the delivery is here, or was at the last query, whose answer about it may be
   *  outdated. */
  holds(deliveryId: string): boolean {
    return this.#held.has(deliveryId) || this.#recordedSinceLook.has(deliveryId);
  }

  /** True while a predecessor of this kind about this subject is queued and its first attempt is
   *  not over. */
  awaits(subjectId: string, type: EventType): boolean {
    return this.#awaited.has(keyOf(subjectId, type));
  }

  /** Adds a delivery in order; ignores one that is already here. */
  offer(loaded: LoadedDelivery): void {
    const { delivery } = loaded;
    if (this.holds(delivery._id) || this.stopped) return;
    this.#held.add(delivery._id);
    if (isPredecessor(delivery)) this.#awaited.add(keyOf(delivery.subjectId, delivery.eventType));
    const before = predecessorOfDelivery(delivery);
    const key = before && keyOf(delivery.subjectId, before);
    if (key === null || !this.#awaited.has(key)) {
      this.#laneOf(loaded).ready.push(loaded);
      return;
    }
    this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), loaded]);
    this.#laneOf(loaded).waiting += 1;
  }

  #laneOf({ delivery }: LoadedDelivery): Lane {
    return delivery.isReplayed ? this.replays : this.fresh;
  }

  /** The next delivery to start, if any. @param slots how many may be in flight; with more than
   *  one, one of them never goes to a replay */
  take(slots: number): LoadedDelivery | undefined {
    const mayReplay = this.replays.inFlight < Math.max(1, slots - 1);
    const loaded = this.fresh.ready.shift() ?? (mayReplay ? this.replays.ready.shift() : undefined);
    if (loaded) this.#laneOf(loaded).inFlight += 1;
    return loaded;
  }

  /** Call when the attempt is over: deliveries that waited for it may start. */
  ended(loaded: LoadedDelivery): void {
    this.#laneOf(loaded).inFlight -= 1;
    this.unblock(loaded.delivery);
  }

  /** Releases the deliveries that wait for its first attempt, which is over or will never
   *  be made. */
  unblock(delivery: DueDelivery): void {
    if (!isPredecessor(delivery)) return;
    const key = keyOf(delivery.subjectId, delivery.eventType);
    this.#awaited.delete(key);
    const successors = this.#waiting.get(key);
    if (!successors) return;
    this.#waiting.delete(key);
    for (const loaded of successors.toReversed()) {
      this.#laneOf(loaded).waiting -= 1;
      this.#laneOf(loaded).ready.unshift(loaded);
    }
  }

  /** Drops a delivery that was taken but not attempted: it is loaded again, and its successors
   *  keep waiting. */
  putBack(loaded: LoadedDelivery): void {
    this.#laneOf(loaded).inFlight -= 1;
    this.#held.delete(loaded.delivery._id);
  }

  /** Call when its result is stored: the database's answers about it are up to date from now on. */
  recorded(deliveryId: string): void {
    this.#held.delete(deliveryId);
    this.#recordedSinceLook.add(deliveryId);
  }

  stop(): void {
    this.stopped = true;
    const all = [...this.fresh.ready, ...this.replays.ready, ...[...this.#waiting.values()].flat()];
    for (const { delivery } of all) this.#held.delete(delivery._id);
    for (const lane of [this.fresh, this.replays]) {
      lane.ready.length = 0;
      lane.waiting = 0;
    }
    this.#waiting.clear();
  }
}
