/** Methods about the server, its network and its progress. */
import { z } from 'zod';
import { feeDistribution } from '../fee-stats.js';
import type { Ledger } from '../ledger.js';
import { ledgerFields, readLedger } from './get-transactions.js';
import { formatSchema } from './piece.js';
import { ledgerRange } from './range.js';

const VERSION = 'local-ledger-1.0.0';
/** Seven days of ledgers closing every five seconds: a server's default. */
const RETENTION_WINDOW = 120_960;
/** Ledgers covered by the fee statistics. */
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

/** @param base the address that the client used */
export async function getNetwork(ledger: Ledger, base: string) {
  const fault = ledger.faults.hit({ method: 'POST', path: '/rpc/getNetwork' }, ['wrong_passphrase']);
  return {
    friendbotUrl: `${base}/friendbot`,
    passphrase: fault?.passphrase ?? ledger.passphrase,
    protocolVersion: ledger.faults.protocol('rpc'),
  };
}

export async function getVersionInfo(ledger: Ledger) {
  return {
    version: VERSION,
    commitHash: '',
    buildTimestamp: '',
    captiveCoreVersion: VERSION,
    protocolVersion: ledger.faults.protocol('rpc'),
  };
}

export const getLatestLedgerParams = z.object({ xdrFormat: formatSchema });

export async function getLatestLedger(ledger: Ledger, { xdrFormat }: z.output<typeof getLatestLedgerParams>) {
  const { latest } = ledger.rpcHistory.visible();
  const { hash, closeTime, header, metadata } = await readLedger(ledger, latest, xdrFormat);
  return {
    id: hash,
    protocolVersion: ledger.faults.protocol('rpc'),
    sequence: latest,
    closeTime: String(closeTime),
    ...ledgerFields(xdrFormat, { header, metadata }),
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
    // Contract calls are only made up here, without an inclusion fee of their own.
    sorobanInclusionFee: distribution([]),
    inclusionFee: distribution(fees.map(({ charged }) => charged)),
    latestLedger: latest,
  };
}
