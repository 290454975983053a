/** Methods that say what server and network this is, and how far it is. */
import { feeDistribution } from '../fee-stats.js';
import { PROTOCOL_VERSION } from '../headers.js';
import type { Ledger } from '../ledger.js';
import { readLedger } from './get-transactions.js';
import { ledgerRange } from './range.js';

const VERSION = 'local-ledger-1.0.0';
/** Seven days of ledgers that close every five seconds: what a server keeps by default. */
const RETENTION_WINDOW = 120_960;
/** Ledgers that the statistics of fees cover. */
const FEE_LEDGERS = 5;

export async function getHealth(ledger: Ledger) {
  const range = await ledgerRange(ledger);
  return {
    status: 'healthy',
    latestLedger: range.latest,
    oldestLedger: range.oldest,
    ledgerRetentionWindow: RETENTION_WINDOW,
    latestLedgerCloseTime: String(range.latestCloseTime),
    oldestLedgerCloseTime: String(range.oldestCloseTime),
  };
}

/** `base` is the address that the client used. */
export async function getNetwork(ledger: Ledger, base: string) {
  const fault = ledger.faults.hit({ method: 'POST', path: '/rpc/getNetwork' }, ['wrong_passphrase']);
  return {
    friendbotUrl: `${base}/friendbot`,
    passphrase: fault?.passphrase ?? ledger.passphrase,
    protocolVersion: PROTOCOL_VERSION,
  };
}

export async function getVersionInfo() {
  return {
    version: VERSION,
    commitHash: '',
    buildTimestamp: '',
    captiveCoreVersion: VERSION,
    protocolVersion: PROTOCOL_VERSION,
  };
}

export async function getLatestLedger(ledger: Ledger) {
  const { latest } = ledger.rpcHistory.visible();
  const { hash, closeTime, headerXdr, metadataXdr } = await readLedger(ledger, latest);
  return {
    id: hash,
    protocolVersion: PROTOCOL_VERSION,
    sequence: latest,
    closeTime: String(closeTime),
    headerXdr,
    metadataXdr,
  };
}

export async function getFeeStats(ledger: Ledger) {
  const { latest } = ledger.rpcHistory.visible();
  const fees = await ledger.rpcHistory.recentFees(latest);
  const distribution = (charged: number[]) => ({
    ...feeDistribution(charged),
    transactionCount: String(charged.length),
    ledgerCount: FEE_LEDGERS,
  });
  return {
    // Contract calls are only made up here and pay no inclusion fee of their own.
    sorobanInclusionFee: distribution([]),
    inclusionFee: distribution(fees.map(({ charged }) => charged)),
    latestLedger: latest,
  };
}
