/** How many requests may be sent to a network's ledger. Every request names what it is for: each purpose has a share of the budget. */

/** What requests are for, and of those that outsiders or tenants cause, on whose behalf: within a share they take turns.
 *  `by` is a client address or an account's id. */
export type Asker =
  | { purpose: 'watching' | 'parked' | 'audits' }
  | { purpose: 'pages' | 'payers' | 'tenants'; by: string };

/** Asked before each request. */
export interface RequestBudget {
  /** @returns milliseconds to wait before asking again; 0 when one request is granted. */
  take(): Promise<number>;
}

/** The budget of one network. */
export interface LedgerBudget {
  /** What has to grant each request of one session, in this order. */
  allowancesOf(asker: Asker): readonly RequestBudget[];
  /** Requests that others were seen to have sent since this was last called, by what the watcher's requests found of the budget. */
  othersSpent(): number;
}
