/** The room's entrance: keeps reading the ledgers of all wallets, and hands over what came.
 *  Wallets, gaps and parked records are here too. */

export { type CursorDoc, type CursorStore, createCursorStore, type Progress } from './cursors.js';
export { createFlagGap, createGapStore } from './gap-store.js';
export { createMendGaps, type MendDeps, type MendOutcome } from './mend-gap.js';
export {
  type ClockBound,
  createClockBound,
  createNetworkStateStore,
  likelyBound,
  type NetworkStateDoc,
  type NetworkStateStore,
} from './network-states.js';
export { createParkedRetries, type ParkedRetry, retryParked } from './parked.js';
export { ANY_WALLET, createParkedRecordStore, type ParkedRecordDoc, type ParkedRecordStore } from './parked-store.js';
export { createPollScheduler } from './poll-scheduler.js';
export { readRecords } from './reading.js';
export { type BookByHash, createBookByHash } from './refund-by-hash.js';
export { createRequestBudgetStore } from './request-budgets.js';
export { createWalletStore, type WalletDoc, type WalletStore } from './wallet-store.js';
export { createWalletService, type MendGaps, toWalletSummary } from './wallets.js';
export { type WatchDeps, watch } from './watch.js';
export { createReadSync } from './watched-wallets.js';
export { createWatcher, type WatcherDeps, type WatcherMetrics } from './watcher.js';
