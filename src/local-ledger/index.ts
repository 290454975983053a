/** The package's entrance: a Stellar network on one machine, for development and tests. */
export { registerLedgerCommands } from './cli.js';
export {
  createLedgerClient,
  type LedgerClient,
  type LedgerClientOptions,
  muxedAddress,
  type PayRequest,
  type TestAccount,
} from './client.js';
export type { Clock } from './clock.js';
export { madeUpContract } from './contract-call.js';
export type { FaultInput } from './faults.js';
export { createLocalLedger, type LocalLedger } from './local-ledger.js';
export { type MuxedContract, muxedContract } from './muxed-contract.js';
export { PASSPHRASE } from './passphrase.js';
export { LedgerRefusedError } from './refusal.js';
export { checkAddress, ListenError, type ServedLedger, serveLocalLedger } from './serve.js';
export { type StartedLedger, type StartOptions, startLocalLedger } from './start.js';
