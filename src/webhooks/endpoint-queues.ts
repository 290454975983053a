/** The endpoint queues of one dispatcher, one for each webhook whose lease it holds. Nothing starts
 *  that could outlast the lease. Dispatchers share the webhooks: each takes half of the free ones
 *  at a time; one with nothing to send marks half of the others' leases as wanted, and their
 *  holders release them. */
import { type MonotonicClock, monotonicClock } from '../kit/clock.js';
import type { DeliveryStore } from './delivery-store.js';
import { EndpointQueue } from './endpoint-queue.js';
import type { WebhookStore } from './webhook-store.js';

/** Leases held at once. */
const MAX_QUEUES = 1024;
/** Leases taken in one query: a larger one would answer too late. */
const CLAIM_BATCH = 500;
/** A busy webhook keeps its lease this long before another dispatcher, or a webhook without a
 *  lease, has its turn. */
const TURN_MS = 5000;
/** Longer than another dispatcher needs to find a released lease. */
const LEFT_MS = 600;
/** Interval of checks whether a paused webhook, whose deliveries stay due, is ACTIVE again. */
const PAUSED_LOOK_MS = 2000;
/** Requests in flight: shared out over the queues, within the bounds for one endpoint, so that no
 *  endpoint can use up another's share. */
const SLOTS = 256;
const MIN_SLOTS = 2;
const MAX_SLOTS = 32;

interface EndpointQueuesDeps {
  webhooks: Pick<WebhookStore, 'takeLeases' | 'renewLeases' | 'wantLeases' | 'byIds' | 'releaseLeases'>;
  deliveries: Pick<DeliveryStore, 'cancelPending'>;
  holder: string;
  /** The longest that one attempt takes. */
  timeoutMs: number;
  /** Lease time beyond one attempt. */
  marginMs: number;
  /** Leases held at once. Default 1024. */
  maxQueues?: number | undefined;
  /** Measures leases, whatever the host's clock is set to; simulations pass their own. */
  monotonic?: MonotonicClock;
}

export class EndpointQueues {
  /** By webhook, longest held first. */
  readonly #queues = new Map<string, EndpointQueue>();
  /** Earliest claim of webhooks that were paused or released to other dispatchers. */
  readonly #claimableMs = new Map<string, number>();
  readonly #deps: EndpointQueuesDeps;
  readonly #maxQueues: number;
  readonly #monotonic: MonotonicClock;
  readonly #leaseMs: number;
  /** The last webhook requested: the next claim begins after it. */
  #lastAsked = '';
  /** Earliest next end of turns. */
  #turnsEndMs = Number.NEGATIVE_INFINITY;
  /** More webhooks have due deliveries than leases fit. */
  #isCrowded = false;
  /** Counts the reads of webhooks. */
  #reads = 0;

  constructor(deps: EndpointQueuesDeps) {
    this.#deps = deps;
    this.#maxQueues = deps.maxQueues ?? MAX_QUEUES;
    this.#monotonic = deps.monotonic ?? monotonicClock;
    this.#leaseMs = deps.timeoutMs + deps.marginMs;
  }

  all(): EndpointQueue[] {
    return [...this.#queues.values()];
  }

  of(webhookId: string): EndpointQueue | undefined {
    return this.#queues.get(webhookId);
  }

  get count(): number {
    return this.#queues.size;
  }

  /** How many requests may be in flight to one endpoint. */
  get slots(): number {
    return Math.max(MIN_SLOTS, Math.min(MAX_SLOTS, Math.floor(SLOTS / this.#queues.size)));
  }

  /** True while an attempt that starts now ends before another dispatcher can take the lease. */
  mayStart({ leaseEndsMs }: EndpointQueue): boolean {
    const { timeoutMs, marginMs } = this.#deps;
    return leaseEndsMs - this.#monotonic.nowMs() >= timeoutMs + marginMs / 4;
  }

  /** Milliseconds until the next webhook becomes claimable; Infinity if none is waiting. */
  untilClaimableMs(): number {
    const nowMs = this.#monotonic.nowMs();
    let firstMs = Number.POSITIVE_INFINITY;
    for (const atMs of this.#claimableMs.values()) if (atMs > nowMs) firstMs = Math.min(firstMs, atMs - nowMs);
    return firstMs;
  }

  /** Takes the leases of half of these webhooks, or of the other half if other dispatchers hold
   *  the first.
   *  @returns whether there may be more to take */
  async claim(webhookIds: readonly string[]): Promise<boolean> {
    const held = this.#queues.size;
    const ids = this.#claimable(webhookIds);
    const atOnce = Math.min(CLAIM_BATCH, Math.ceil(ids.length / 2), this.#maxQueues - held);
    let next = 0;
    for (; atOnce > 0 && next < ids.length && this.#queues.size === held; next += atOnce)
      await this.#claimAll(ids.slice(next, next + atOnce));
    const wanted = this.#queues.size === 0 ? ids.filter((_, index) => index % 2 === 1) : [];
    if (wanted.length > 0) await this.#deps.webhooks.wantLeases(wanted);
    const hasMore = next < ids.length;
    this.#isCrowded = hasMore && this.#queues.size === this.#maxQueues;
    return hasMore && !this.#isCrowded;
  }

  /** The claimable ones of these webhooks, beginning after the last one requested. */
  #claimable(webhookIds: readonly string[]): string[] {
    const nowMs = this.#monotonic.nowMs();
    for (const [id, atMs] of this.#claimableMs) if (atMs <= nowMs) this.#claimableMs.delete(id);
    const ids = webhookIds.filter((id) => !this.#queues.has(id) && !this.#claimableMs.has(id));
    const next = ids.findIndex((id) => id > this.#lastAsked);
    return next < 0 ? ids : [...ids.slice(next), ...ids.slice(0, next)];
  }

  async #claimAll(ids: readonly string[]): Promise<void> {
    const { webhooks, deliveries, holder } = this.#deps;
    const askedMs = this.#monotonic.nowMs();
    await webhooks.takeLeases(ids, holder, this.#leaseMs);
    const found = await webhooks.byIds(ids);
    for (const webhook of found) {
      const { _id: id, status, lease } = webhook;
      if (status === 'PAUSED') this.#claimableMs.set(id, askedMs + PAUSED_LOOK_MS);
      else if (lease?.holder === holder)
        this.#queues.set(id, new EndpointQueue(webhook, askedMs, askedMs + this.#leaseMs));
    }
    this.#lastAsked = ids.at(-1)!;
    const known = new Set(found.map(({ _id }) => _id));
    const gone = ids.filter((id) => !known.has(id));
    // The webhook was deleted after its deliveries were opened.
    if (gone.length > 0) await deliveries.cancelPending(gone);
  }

  /** Reads the webhooks of these queues again, and stops the queues of those that are paused,
   *  deleted or leased by another dispatcher. */
  async refresh(some: readonly EndpointQueue[]): Promise<void> {
    this.#reads += 1;
    const read = this.#reads;
    const found = await this.#deps.webhooks.byIds(idsOf(some));
    const held = found.filter(({ lease }) => lease?.holder === this.#deps.holder);
    const heldById = new Map(held.map((webhook) => [webhook._id, webhook]));
    for (const queue of some) {
      // A later read has answered first.
      if (queue.lastRead > read) continue;
      queue.lastRead = read;
      const webhook = heldById.get(queue.webhook._id);
      if (webhook?.status !== 'ACTIVE') queue.stop();
      if (!webhook) continue;
      if (webhook.starts !== queue.webhook.starts) queue.failures = null;
      queue.webhook = webhook;
    }
  }

  /** Renews the leases of all queues. */
  async renew(): Promise<void> {
    if (this.#queues.size === 0) return;
    const renewed = this.all();
    const askedMs = this.#monotonic.nowMs();
    await this.#deps.webhooks.renewLeases(idsOf(renewed), this.#deps.holder, this.#leaseMs);
    await this.refresh(renewed);
    for (const queue of renewed) if (!queue.stopped) queue.leaseEndsMs = askedMs + this.#leaseMs;
  }

  /** Ends turns of at most half of the queues every five seconds: any while webhooks wait for a
   *  lease, else those whose lease another dispatcher wants, if deliveries are ready: a stopped
   *  queue starts nothing more until its last request in flight is recorded, so that a request that
   *  hangs would hold it up for nothing. */
  endTurns(): void {
    const nowMs = this.#monotonic.nowMs();
    if (nowMs < this.#turnsEndMs) return;
    const ending = this.all()
      .filter(({ stopped, heldSinceMs, hasReady, webhook: { lease } }) => {
        const isOver = nowMs - heldSinceMs >= TURN_MS && (this.#isCrowded || (lease?.isWanted && hasReady));
        return isOver && !stopped;
      })
      .slice(0, Math.ceil(this.#queues.size / 2));
    if (ending.length === 0) return;
    this.#turnsEndMs = nowMs + TURN_MS;
    for (const queue of ending) queue.stop();
  }

  /** Releases the leases. This dispatcher does not reclaim those of stopped queues at once: other
   *  dispatchers come first. */
  async release(done: readonly EndpointQueue[]): Promise<void> {
    if (done.length === 0) return;
    for (const id of idsOf(done)) this.#queues.delete(id);
    await this.#deps.webhooks.releaseLeases(idsOf(done), this.#deps.holder);
    const claimableMs = this.#monotonic.nowMs() + LEFT_MS;
    for (const { stopped, webhook } of done) if (stopped) this.#claimableMs.set(webhook._id, claimableMs);
  }
}

const idsOf = (queues: readonly EndpointQueue[]) => queues.map(({ webhook }) => webhook._id);
