/** The room's entrance: `createLedger` reads a network from the servers that it is given. */
export { SHORTEST_LEDGER_MS } from './failover.js';
export type { AccountEffect, AccountFee, AccountHistory, AccountOperation, HistoryPage, ListEnd } from './history.js';
export { createLedger, type LedgerSession, type NetworkLedger, type ServerTip } from './network-ledger.js';
export {
  type Credit,
  cursorAfter,
  isAfter,
  type LedgerRecord,
  ledgerOfCursor,
  mayPayIssuer,
  operationOrderOf,
  parseRecord,
  partiesOf,
  placeOf,
  type RecordOutcome,
  transactionOf,
} from './records.js';
export {
  type Asker,
  createRequester,
  endpointOf,
  type Fetch,
  type LedgerBudget,
  labelsOf,
  type RequestBudget,
} from './request.js';
export {
  BlindServer,
  BudgetUsedUp,
  type BytesSoFar,
  type Holding,
  type Holdings,
  type LedgerBytes,
  type LedgerTip,
  LedgerUnavailable,
  MOST_AMONG,
  MOST_ASSETS,
  MOST_WAYS,
  noBytes,
  type Page,
  SourceError,
  type Submission,
  UnfitServer,
  UnsureHistory,
  type Way,
  WrongNetwork,
} from './source.js';
