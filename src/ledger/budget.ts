/** The request budget of a network's ledger. Every request names its purpose, and each purpose has a share of the budget. */

/** The purpose of requests. Those caused by outsiders or tenants also name on whose behalf, and take turns within their share.
 *  `by` is a client address or an account's id. */
export type Asker =
  | { purpose: 'watching' | 'parked' | 'audits' | 'proofs' }
  | { purpose: 'pages' | 'payers' | 'tenants'; by: string };

/** Asked before each request. */
export interface RequestBudget {
  /** @returns milliseconds to wait before asking again; 0 when one request is granted */
  take(): Promise<number>;
}

/** The budget of one network. */
export interface LedgerBudget {
  /** The budgets that must grant each request of a session, in this order. */
  allowancesOf(asker: Asker): readonly RequestBudget[];
  /** Requests that others have sent since the last call, as the watcher's requests found the shared budget. */
  othersSpent(): number;
}
