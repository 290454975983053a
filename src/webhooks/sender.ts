/** Sends from the endpoint queues: read → sign → post → record, with as many concurrent requests to an endpoint as it has slots. */

import type { KeyObject } from 'node:crypto';
import type { EventStore } from '../events/index.js';
import { type AttemptDeps, attempt, type Signers } from './attempt.js';
import type { AttemptRecorder } from './attempt-recorder.js';
import type { AttemptRecord } from './due-deliveries.js';
import type { EndpointQueue, LoadedDelivery } from './endpoint-queue.js';
import type { EndpointQueues } from './endpoint-queues.js';
import { lackingMore } from './load.js';
import { toBody } from './request.js';
import type { Throttles } from './throttles.js';

/** This many drained queues justify a query at once, for webhooks that wait for a lease. */
const ENOUGH_EMPTIED = 256;

interface Read {
  keys: readonly KeyObject[];
  body: Buffer;
}

interface SenderDeps extends AttemptDeps {
  queues: EndpointQueues;
  recorder: AttemptRecorder;
  throttles: Throttles;
  events: Pick<EventStore, 'byId'>;
  signers?: Signers;
  onAttempt?: (record: AttemptRecord) => void;
  /** Called when there is room for due deliveries or queues. */
  onRoom: () => void;
}

export class Sender {
  readonly #deps: SenderDeps;
  readonly #sending = new Set<Promise<void>>();
  #stopping = false;
  #attempts = 0;
  #emptied = 0;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Number of recorded attempts. */
  get attempts(): number {
    return this.#attempts;
  }

  get isIdle(): boolean {
    return this.#sending.size === 0;
  }

  /** Starts the ready deliveries of this queue. */
  fill(queue: EndpointQueue): void {
    const { queues, throttles } = this.#deps;
    const slots = throttles.slots(queue.webhook._id, queues.slots);
    while (queue.inFlight < slots && this.#mayStart(queue)) {
      const loaded = queue.take(slots);
      if (!loaded) return;
      this.#loadMore(queue);
      const sent = this.#readAndSend(queue, loaded).then(() => {
        this.#sending.delete(sent);
        this.fill(queue);
      });
      this.#sending.add(sent);
    }
  }

  /** Starts no more deliveries. Resolves when everything in flight is recorded. */
  async finish(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#sending);
    await this.#deps.recorder.settled();
  }

  #mayStart(queue: EndpointQueue): boolean {
    return !this.#stopping && !queue.stopped && this.#deps.queues.mayStart(queue);
  }

  /** Reading the body may fail or take too long: then no attempt was made, and the endpoint is not blamed. */
  async #readAndSend(queue: EndpointQueue, loaded: LoadedDelivery): Promise<void> {
    const read = await this.#readFor(loaded).catch((err) => {
      this.#deps.log.error({ err, deliveryId: loaded.delivery._id }, 'what a webhook delivery needs not read yet');
      return null;
    });
    if (read && this.#mayStart(queue)) await this.#send(queue, loaded, read);
    else queue.putBack(loaded);
  }

  /** Null when the event is gone. */
  async #readFor({ delivery, body }: LoadedDelivery): Promise<Read | null> {
    const { signers, events, clock } = this.#deps;
    const keys = (await signers?.(clock.now())) ?? [];
    if (body) return { keys, body };
    const event = await events.byId(delivery.accountId, delivery.eventId);
    return event && { keys, body: toBody(event) };
  }

  async #send(queue: EndpointQueue, loaded: LoadedDelivery, { keys, body }: Read): Promise<void> {
    const { throttles, queues, recorder } = this.#deps;
    const { record, health } = await attempt(queue, { delivery: loaded.delivery, body, keys }, this.#deps);
    queue.ended(loaded);
    const { _id: webhookId } = queue.webhook;
    throttles.answered(webhookId, record.attempt, queues.slots);
    recorder.add({ webhookId, record, onRecorded: () => this.#recorded(queue, record) }, health);
  }

  #recorded(queue: EndpointQueue, record: AttemptRecord): void {
    const { onAttempt, onRoom } = this.#deps;
    this.#attempts += 1;
    queue.recorded(record.id);
    onAttempt?.(record);
    this.#loadMore(queue);
    if (queue.size > 0) return;
    this.#emptied += 1;
    if (!queue.stopped && this.#emptied < ENOUGH_EMPTIED) return;
    this.#emptied = 0;
    onRoom();
  }

  #loadMore(queue: EndpointQueue): void {
    const lanes = lackingMore(queue, this.#deps.queues);
    for (const lane of lanes) lane.hasMore = false;
    if (lanes.length > 0) this.#deps.onRoom();
  }
}
