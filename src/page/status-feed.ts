/** News of payments for all open pages of this process, from one change stream. What it may have missed it fetches before it goes on;
 *  while it knows nothing, it says so. */
import type { Logger } from 'pino';
import { type Clock, within } from '../clock.js';
import type { PaymentChanges } from '../stores/payment-changes.js';
import { PAYMENTS_SHOWN, type PagePayment, type StatusFeed } from './types.js';

/** An idle stream answers every second; this long without an answer, it is dead. */
const SILENCE_MS = 10_000;
const refuseSilence = () => {
  throw new Error(`the change stream has been silent for ${SILENCE_MS} ms`);
};
const RETRY_MS = 1_000;
const LINKS_PER_QUERY = 100;
/** A payment may be stored this much later than it says, because clocks differ and transactions take time. */
const MARGIN_MS = 60_000;

export interface PaymentFields {
  paymentLinkId: string | null;
  checkoutId?: string | null;
}

export interface StatusFeedDeps<Payment extends PaymentFields> {
  payments: PaymentChanges<Payment>;
  /** Whether a stream that broke may go on from its position. */
  isResumable: (error: unknown) => boolean;
  /** Null for a payment that no page may show. */
  toPagePayment: (payment: Payment) => PagePayment | null;
  clock: Clock;
  log: Logger;
}

export type ClosableStatusFeed = StatusFeed & { close(): Promise<void> };

/** Starts following at once; the database need not be there yet. */
export function createStatusFeed<Payment extends PaymentFields>(deps: StatusFeedDeps<Payment>): ClosableStatusFeed {
  const { payments, isResumable, toPagePayment, clock, log } = deps;
  const listeners = new Map<string, Set<(payment: PagePayment) => void>>();
  const closing = new AbortController();
  /** Hoped at first: whoever subscribes before the stream begins is told what it missed. */
  let live = true;
  let position: unknown;
  let answeredMs = clock.nowMs();
  let stream: { close(): Promise<void> } | undefined;

  function tell(payment: Payment | null): void {
    const owner = payment?.paymentLinkId ?? payment?.checkoutId;
    const subscribed = owner ? listeners.get(owner) : undefined;
    const shown = payment && subscribed && toPagePayment(payment);
    if (!shown) return;
    for (const listener of subscribed) listener(shown);
  }

  /** Tells the pages what came since the stream was last known to tell it. */
  async function catchUp(): Promise<void> {
    const since = new Date(answeredMs - MARGIN_MS);
    const linkIds = [...listeners.keys()];
    for (let from = 0; from < linkIds.length; from += LINKS_PER_QUERY) {
      const some = linkIds.slice(from, from + LINKS_PER_QUERY);
      for await (const payment of payments.ofLinksSince(some, since)) tell(payment);
    }
  }

  async function follow(): Promise<void> {
    const resumed = position !== undefined;
    const changes = payments.watch(position);
    stream = changes;
    let following = false;
    try {
      while (!closing.signal.aborted) {
        const payment = await within(clock, SILENCE_MS, changes.next(), refuseSilence);
        if (!following) {
          // From here on the stream tells everything; what came before it began, only a query does.
          if (!resumed) await catchUp();
          following = live = true;
          log.info({ resumed }, 'following payments for open pages');
        }
        tell(payment);
        position = changes.position();
        answeredMs = clock.nowMs();
      }
    } finally {
      live = false;
      await changes.close().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await follow();
      } catch (error) {
        if (closing.signal.aborted) break;
        log.warn(
          { err: error, subscribed: listeners.size },
          'payments cannot be followed for open pages; trying again',
        );
        if (!isResumable(error)) position = undefined;
        await clock.sleep(RETRY_MS, closing.signal);
      }
    }
  }
  const running = run();

  return {
    subscribe(linkId, listener) {
      const subscribed = listeners.get(linkId) ?? new Set();
      listeners.set(linkId, subscribed.add(listener));
      return () => {
        subscribed.delete(listener);
        if (subscribed.size === 0 && listeners.get(linkId) === subscribed) listeners.delete(linkId);
      };
    },
    async since(linkId, since) {
      const found = await payments.newestOfLink(linkId, since, PAYMENTS_SHOWN);
      return found.flatMap((payment) => toPagePayment(payment) ?? []);
    },
    live: () => live,
    async close() {
      closing.abort();
      listeners.clear();
      await stream?.close().catch(() => undefined);
      await running;
    },
  };
}
