/** News of payments from an account's events, for where change streams lag: every visible change of a payment has an event. */
import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';

const AT_ONCE = 100;
/** A payment may be stored this much later than it says, because clocks differ and transactions take time. */
export const MARGIN_MS = 60_000;
const LONG_AGO = new Date(0);

export interface AccountEvents {
  /** Calls `moved` whenever the account's latest event number rises. @returns a function that ends it */
  follow(accountId: string, follower: { moved(last: number): void; ended(): void }): () => void;
  /** Kinds and subjects of the events after a number, oldest first. */
  subjectsAfter(accountId: string, sequence: number, limit: number): Promise<{ sequence: number; subjectId: string }[]>;
}

interface PaymentNewsDeps<Payment> extends AccountEvents {
  paymentsOf: (accountId: string, ids: readonly string[]) => Promise<Payment[]>;
  tell: (payment: Payment) => void;
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

export function createPaymentNews<Payment extends { createdAt: Date }>(deps: PaymentNewsDeps<Payment>) {
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
        // The first number may include events from between the page's reading and the start of following.
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
