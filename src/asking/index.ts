/** The room's entrance: what payers and tenants ask of a ledger. */
export { createDestinationCheck, type DestinationCheck } from './destination-check.js';
export { createLedgerStamper, type LedgerStamper } from './ledger-stamper.js';
export {
  arrivingBy,
  assetSentBy,
  buildPayment,
  type Detour,
  faultOf,
  type Payable,
  parseTransaction,
} from './pay-transaction.js';
export {
  createPayerLedger,
  createReadWalletAssets,
  type NotNow,
  type PayerLedger,
  type ReadWalletAssets,
} from './payer-ways.js';
