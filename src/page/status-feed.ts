/** News of payments for all open pages of this process, from one change stream, or from their accounts' events where change streams lag. Reports when it is out
 *  of service. */

import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';
import { createFollower } from '../kit/follower.js';
import type { PaymentChanges } from '../payments/index.js';
import { type AccountEvents, createPaymentNews, MARGIN_MS } from './payment-news.js';
import { PAYMENTS_SHOWN, type PagePayment, type StatusFeed } from './types.js';

const LINKS_PER_QUERY = 100;

interface PaymentFields {
  paymentLinkId: string | null;
  checkoutId?: string | null;
  createdAt: Date;
}

interface StatusFeedDeps<Payment extends PaymentFields> {
  payments: PaymentChanges<Payment>;
  /** Null where the change stream is fast enough. */
  events: AccountEvents | null;
  /** Null for a payment that no page shows. */
  toPagePayment: (payment: Payment) => PagePayment | null;
  clock: Clock;
  log: Logger;
}

type ClosableStatusFeed = StatusFeed & { close(): Promise<void> };

/** Starts following at once, even before the database is available. */
export function createStatusFeed<Payment extends PaymentFields>(deps: StatusFeedDeps<Payment>): ClosableStatusFeed {
  const { payments, events, toPagePayment, clock, log } = deps;
  const listeners = new Map<string, Set<(payment: PagePayment) => void>>();

  function tell(payment: Payment): void {
    const owner = payment.paymentLinkId ?? payment.checkoutId;
    const subscribed = owner ? listeners.get(owner) : undefined;
    const shown = subscribed && toPagePayment(payment);
    if (!shown) return;
    for (const listener of subscribed) listener(shown);
  }

  async function catchUp(sinceMs: number): Promise<void> {
    const since = new Date(sinceMs - MARGIN_MS);
    const linkIds = [...listeners.keys()];
    for (let from = 0; from < linkIds.length; from += LINKS_PER_QUERY) {
      const some = linkIds.slice(from, from + LINKS_PER_QUERY);
      for await (const payment of payments.ofLinksSince(some, since)) tell(payment);
    }
  }

  const changes = createFollower({
    what: 'payments for open pages',
    open: payments.watch,
    catchUp,
    onChange: tell,
    clock,
    log,
  });
  changes.start();
  const news = events && createPaymentNews({ ...events, paymentsOf: payments.ofAccount, tell, clock, log });

  return {
    subscribe({ accountId, linkId }, listener) {
      const subscribed = listeners.get(linkId) ?? new Set();
      listeners.set(linkId, subscribed.add(listener));
      const unfollow = news?.follow(accountId);
      return () => {
        unfollow?.();
        subscribed.delete(listener);
        if (subscribed.size === 0 && listeners.get(linkId) === subscribed) listeners.delete(linkId);
      };
    },
    async since({ accountId, linkId }, since) {
      const found = await payments.newestOfLink(accountId, linkId, since, PAYMENTS_SHOWN);
      return found.flatMap((payment) => toPagePayment(payment) ?? []);
    },
    live: changes.isLive,
    async close() {
      listeners.clear();
      await changes.close();
    },
  };
}
