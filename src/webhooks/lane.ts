/** The lane of one webhook while a dispatcher holds it: what was loaded and is not recorded yet, in the order in which it may go.
 *  A payment's `payment.completed` never starts before the first attempt of its `payment.received` is over. */
import type { DueDelivery } from '../stores/deliveries.js';
import type { WebhookDoc } from '../stores/webhooks.js';

export interface Job {
  delivery: DueDelivery;
  /** The same bytes on every attempt. */
  body: Buffer;
}

const isFirst = ({ delivery }: Job, type: DueDelivery['eventType']) =>
  delivery.eventType === type && delivery.attemptCount === 0;

/** True when something else may have to go before it. */
export const mayHavePredecessor = (delivery: DueDelivery): boolean =>
  delivery.eventType === 'payment.completed' && delivery.attemptCount === 0;

export class Lane {
  /** Nothing more is started: paused, deleted or taken by somebody else. What is in flight ends as usual. */
  stopped = false;
  /** There may be more due than was loaded. */
  hasMore = false;
  inFlight = 0;
  /** Since the last delivery; in memory first, written with the next records. */
  failingSince: Date | null;

  readonly #ready: Job[] = [];
  /** By payment: waits for that payment's `payment.received`. */
  readonly #successors = new Map<string, Job>();
  /** Payments whose `payment.received` is here, and its first attempt not over. */
  readonly #receiving = new Set<string>();
  readonly #held = new Set<string>();
  readonly #recordedSinceLook = new Set<string>();

  /** @param leaseEndsMs by `monotonicMs`; earlier than the database thinks */
  constructor(
    public webhook: WebhookDoc,
    public leaseEndsMs: number,
  ) {
    this.failingSince = webhook.failingSince;
  }

  /** Deliveries that are here, in flight or on their way to being recorded. */
  get size(): number {
    return this.#held.size;
  }

  /** Of those, the ones that have not started. */
  get queued(): number {
    return this.#ready.length + this.#successors.size;
  }

  /** Called before the database is asked what is due. */
  look(): void {
    this.#recordedSinceLook.clear();
  }

  /** True when it is here, or was when the database was last asked: what that answered of it may be out of date. */
  holds(deliveryId: string): boolean {
    return this.#held.has(deliveryId) || this.#recordedSinceLook.has(deliveryId);
  }

  isReceiving(paymentId: string): boolean {
    return this.#receiving.has(paymentId);
  }

  /** Puts a job in its place; one that is here already is ignored. */
  offer(job: Job): void {
    const { _id, paymentId } = job.delivery;
    if (this.holds(_id) || this.stopped) return;
    this.#held.add(_id);
    if (isFirst(job, 'payment.received')) this.#receiving.add(paymentId);
    if (isFirst(job, 'payment.completed') && this.#receiving.has(paymentId)) this.#successors.set(paymentId, job);
    else this.#ready.push(job);
  }

  /** The next job to start, if any. */
  take(): Job | undefined {
    const job = this.#ready.shift();
    if (job) this.inFlight += 1;
    return job;
  }

  /** Its attempt is over: what waited for it may go. */
  ended(job: Job): void {
    this.inFlight -= 1;
    const { paymentId } = job.delivery;
    if (!isFirst(job, 'payment.received')) return;
    this.#receiving.delete(paymentId);
    const successor = this.#successors.get(paymentId);
    if (!successor) return;
    this.#successors.delete(paymentId);
    this.#ready.unshift(successor);
  }

  /** Its result is in the database: what is read there from now on is right. */
  recorded(deliveryId: string): void {
    this.#held.delete(deliveryId);
    this.#recordedSinceLook.add(deliveryId);
  }

  stop(): void {
    this.stopped = true;
    for (const { delivery } of [...this.#ready, ...this.#successors.values()]) this.#held.delete(delivery._id);
    this.#ready.length = 0;
    this.#successors.clear();
  }
}
