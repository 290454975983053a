/** Audits and statements leave most of a network's request budget to the reading of payments. */
import type { LedgerSession } from '../ledger/network-ledger.js';

/** A session that spends before each of its requests. @param spend waits, or throws LedgerUnavailable when the share is used up */
export function sparing(session: LedgerSession, spend: () => Promise<void>): LedgerSession {
  const after =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await spend();
      return call(...args);
    };
  const { history } = session;
  return {
    ...session,
    server: session.server,
    requests: session.requests,
    tip: after(session.tip),
    complete: after(session.complete),
    accountPayments: after(session.accountPayments),
    ledgerAtOrBefore: after(session.ledgerAtOrBefore),
    history: {
      holdings: after(history.holdings),
      effects: after(history.effects),
      operations: after(history.operations),
      operation: after(history.operation),
      fees: after(history.fees),
    },
  };
}
