/** Compact ledger headers. A run of empty ledgers at a steady interval is one document, a span; a ledger with transactions is a span of its own.
 *  Every header can be derived from its span. */
import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk/base';
import { BASE_FEE, BASE_RESERVE, TOTAL_COINS, toAmount } from './stroops.js';
import { ledgerStart } from './toid.js';

export const PROTOCOL_VERSION = 23;
/** The most operations in one ledger. */
export const MAX_OPERATIONS = 1000;

export interface LedgerCounts {
  successful: number;
  failed: number;
  operations: number;
  /** Includes the operations of failed transactions. */
  setOperations: number;
}

export interface Span {
  /** Sequence of its first ledger. */
  _id: number;
  /** Close of its first ledger, and the interval between ledgers, in milliseconds. */
  atMs: number;
  stepMs: number;
  /** All fees so far, including this ledger's. */
  feePool: bigint;
  /** Null for empty ledgers. */
  counts: LedgerCounts | null;
}

/** The span extended by the next ledger, or null if a new span must begin. @param last the span's newest ledger */
export function extendSpan(span: Span, last: number, atMs: number): Span | null {
  if (span.counts !== null) return null;
  if (last === span._id) return { ...span, stepMs: atMs - span.atMs };
  return span.atMs + (last + 1 - span._id) * span.stepMs === atMs ? span : null;
}

export const closedAtMs = (span: Span, sequence: number): number => span.atMs + (sequence - span._id) * span.stepMs;

/** Whole seconds, rounded down as validators do: ledgers in quick succession share one. */
export const toCloseTime = (atMs: number): number => Math.floor(atMs / 1000);

/** Seconds since the epoch in Horizon's form, `2025-12-01T08:35:09Z`. */
export const toTimestamp = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/** The hash of a ledger. Without a bucket list it is derived from chain and sequence, which makes it unique across chains. */
export const ledgerHash = (chain: string, sequence: number): Buffer =>
  sequence < 1 ? Buffer.alloc(32) : createHash('sha256').update(`${chain}:${sequence}`).digest();

/** Horizon's ledger record without links. */
export function ledgerRecord(chain: string, span: Span, sequence: number): Record<string, unknown> {
  const hash = ledgerHash(chain, sequence).toString('hex');
  const closeTime = toCloseTime(closedAtMs(span, sequence));
  const counts = span.counts ?? { successful: 0, failed: 0, operations: 0, setOperations: 0 };
  return {
    id: hash,
    paging_token: ledgerStart(sequence).toString(),
    hash,
    prev_hash: ledgerHash(chain, sequence - 1).toString('hex'),
    sequence,
    successful_transaction_count: counts.successful,
    failed_transaction_count: counts.failed,
    operation_count: counts.operations,
    tx_set_operation_count: counts.setOperations,
    closed_at: toTimestamp(closeTime),
    total_coins: toAmount(TOTAL_COINS),
    fee_pool: toAmount(span.feePool),
    base_fee_in_stroops: Number(BASE_FEE),
    base_reserve_in_stroops: Number(BASE_RESERVE),
    max_tx_set_size: MAX_OPERATIONS,
    protocol_version: PROTOCOL_VERSION,
    header_xdr: headerXdr(chain, sequence, closeTime, span.feePool),
  };
}

function headerXdr(chain: string, sequence: number, closeTime: number, feePool: bigint): string {
  const nothing = Buffer.alloc(32);
  return new xdr.LedgerHeader({
    ledgerVersion: PROTOCOL_VERSION,
    previousLedgerHash: ledgerHash(chain, sequence - 1),
    scpValue: new xdr.StellarValue({
      txSetHash: nothing,
      closeTime: BigInt(closeTime),
      upgrades: [],
      ext: xdr.StellarValueExt.stellarValueBasic(),
    }),
    txSetResultHash: nothing,
    bucketListHash: nothing,
    ledgerSeq: sequence,
    totalCoins: TOTAL_COINS,
    feePool,
    inflationSeq: 0,
    idPool: 0n,
    baseFee: Number(BASE_FEE),
    baseReserve: Number(BASE_RESERVE),
    maxTxSetSize: MAX_OPERATIONS,
    skipList: [nothing, nothing, nothing, nothing],
    ext: xdr.LedgerHeaderExt.v0(),
  }).toXdr('base64');
}
