/** News of payments for all open pages of this process, from one change stream, or from their
 *  accounts' events where change streams lag. Reports when it is out of service. */
import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';
import { createFollower } from '../kit/follower.js';
import type { PaymentChanges, PaymentDoc } from '../payments/index.js';
import { PAYMENTS_SHOWN, type PagePayment, type StatusFeed } from './types.js';

// News of payments from an account's events, for where change streams lag: every visible change of
// a payment has an event.

const AT_ONCE = 100;
/** A payment may be stored this much later than it says, because clocks differ and transactions
 *  take time. */
const MARGIN_MS = 60_000;
const LONG_AGO = new Date(0);

interface AccountEvents {
  /** Calls `moved` whenever the account's latest event number rises. @returns a function that
   *  ends it */
  follow(accountId: string, follower: { moved(last: number): void; ended(): void }): () => void;
  /** Kinds and subjects of the events after a number, oldest first. */
  subjectsAfter(accountId: string, sequence: number, limit: number): Promise<{ sequence: number; subjectId: string }[]>;
}

interface PaymentNewsDeps extends AccountEvents {
  paymentsOf: (accountId: string, ids: readonly string[]) => Promise<PaymentDoc[]>;
  tell: (payment: PaymentDoc) => void;
  clock: Clock;
  log: Logger;
}

interface Followed {
  viewers: number;
  /** Number of the account's latest event. */
  last: number;
  /** Events up to this number were reported; null before any. */
  toldTo: number | null;
  /** Older payments are skipped: pages know them. */
  since: Date;
  isReading: boolean;
  unfollow: () => void;
}

function createPaymentNews(deps: PaymentNewsDeps) {
  const { follow, subjectsAfter, paymentsOf, tell, clock, log } = deps;
  const accounts = new Map<string, Followed>();

  async function read(accountId: string, account: Followed): Promise<void> {
    if (account.isReading) return;
    account.isReading = true;
    try {
      while (account.toldTo !== null && account.toldTo < account.last && account.viewers > 0) {
        const events = await subjectsAfter(accountId, account.toldTo, AT_ONCE);
        const ids = new Set(events.map(({ subjectId }) => subjectId));
        for (const payment of await paymentsOf(accountId, [...ids]))
          if (payment.createdAt >= account.since) tell(payment);
        account.toldTo = events.at(-1)?.sequence ?? account.last;
      }
      account.since = LONG_AGO;
    } catch (err) {
      log.warn({ err, accountId }, 'payments not read for open pages; the change stream will report them');
    }
    account.isReading = false;
  }

  function begin(accountId: string): Followed {
    const since = new Date(clock.nowMs() - MARGIN_MS);
    const account: Followed = {
      ...{ viewers: 0, last: 0, toldTo: null, since, isReading: false },
      unfollow: () => undefined,
    };
    accounts.set(accountId, account);
    account.unfollow = follow(accountId, {
      moved(last) {
        account.last = last;
        // The first number may include events from between the page's reading and this
        // following.
        account.toldTo ??= Math.max(0, last - AT_ONCE);
        void read(accountId, account);
      },
      ended: () => undefined,
    });
    return account;
  }

  return {
    /** Reports the account's payments from now on. @returns a function that ends it */
    follow(accountId: string): () => void {
      const account = accounts.get(accountId) ?? begin(accountId);
      account.viewers += 1;
      return () => {
        account.viewers -= 1;
        if (account.viewers > 0) return;
        account.unfollow();
        accounts.delete(accountId);
      };
    },
  };
}

const LINKS_PER_QUERY = 100;

interface StatusFeedDeps {
  payments: PaymentChanges;
  /** Null where the change stream is fast enough. */
  events: AccountEvents | null;
  /** Null for a payment that no page shows. */
  toPagePayment: (payment: PaymentDoc) => PagePayment | null;
  clock: Clock;
  log: Logger;
}

type ClosableStatusFeed = StatusFeed & { close(): Promise<void> };

/** Starts following at once, even before the database is available. */
export function createStatusFeed(deps: StatusFeedDeps): ClosableStatusFeed {
  const { payments, events, toPagePayment, clock, log } = deps;
  const listeners = new Map<string, Set<(payment: PagePayment) => void>>();

  function tell(payment: PaymentDoc): void {
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
      for await (const payment of payments.ofPayablesSince(some, since)) tell(payment);
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
      const found = await payments.newestOfPayable(accountId, linkId, since, PAYMENTS_SHOWN);
      return found.flatMap((payment) => toPagePayment(payment) ?? []);
    },
    live: changes.isLive,
    async close() {
      listeners.clear();
      await changes.close();
    },
  };
}
