/** Compact ledger headers. A run of empty ledgers at a steady interval is one document, a span; a
 *  ledger with transactions is a span of its own. Every header can be derived from its span: a span
 *  stores the hash before its first ledger, and each header's hash leads to the next. */
import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk/base';
import { BASE_FEE, BASE_RESERVE, TOTAL_COINS, toAmount } from './stroops.js';
import { ledgerStart } from './toid.js';
import { emptyTxSet, NO_RESULTS } from './transaction-set.js';

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
  /** Hash of the ledger before its first, hexadecimal. Older releases did not chain ledgers: theirs
   *  have none. */
  previousHash?: string;
  /** The hashes of a ledger with transactions; an empty one's follow from the ledger before it. */
  hashes: SetHashes | null;
}

/** Hexadecimal. */
export interface SetHashes {
  transactions: string;
  results: string;
}

/** A longer span takes too long to hash from its first ledger to its last. */
const MAX_SPAN = 1024;

/** The span extended by the next ledger, or null if a new span must begin. @param last the span's
 *  newest ledger */
export function extendSpan(span: Span, last: number, atMs: number): Span | null {
  if (span.counts !== null || span.previousHash === undefined || last + 1 - span._id >= MAX_SPAN) return null;
  if (last === span._id) return { ...span, stepMs: atMs - span.atMs };
  return span.atMs + (last + 1 - span._id) * span.stepMs === atMs ? span : null;
}

export const closedAtMs = (span: Span, sequence: number): number => span.atMs + (sequence - span._id) * span.stepMs;

/** Whole seconds, rounded down as validators do: ledgers in quick succession share one. */
export const toCloseTime = (atMs: number): number => Math.floor(atMs / 1000);

/** Seconds since the epoch in Horizon's form, `2025-12-01T08:35:09Z`. */
export const toTimestamp = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

export interface Header {
  sequence: number;
  hash: Buffer;
  /** `LedgerHeader`. */
  bytes: Buffer;
  previousHash: Buffer;
}

export const NO_HASH = '0'.repeat(64);

export const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** Where the fields that differ within a span lie in a header with a basic value and
 *  without upgrades. */
const AT = { previousHash: 4, txSetHash: 36, closeTime: 68, sequence: 148 } as const;

/** How many spans are remembered as far as they were hashed. */
const MAX_KNOWN = 64;

/** Derives headers from spans, and remembers how far, so that the newest is hashed once. */
export function createHeaders() {
  const known = new Map<string, Header>();

  /** The headers of these ledgers of one span, in order. */
  return (chain: string, span: Span, from: number, to: number): Header[] => {
    const key = `${chain}:${span._id}:${span.previousHash}`;
    const start = known.get(key);
    const bytes = headerBytes(chain, span);
    if (span.previousHash === undefined) return unchained(chain, bytes, span, from, to);
    let previousHash: Buffer = Buffer.from(span.previousHash, 'hex');
    let sequence = span._id;
    if (start && start.sequence <= from) ({ previousHash, sequence } = start);
    const headers: Header[] = [];
    for (; sequence <= to; sequence++) {
      const header = headerAt(bytes, span, sequence, previousHash);
      if (sequence >= from) headers.push(header);
      previousHash = header.hash;
    }
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, headers.at(-1)!);
    return headers;
  };
}

export type Headers = ReturnType<typeof createHeaders>;

function headerAt(template: Buffer, span: Span, sequence: number, previousHash: Buffer): Header {
  const bytes = Buffer.from(template);
  previousHash.copy(bytes, AT.previousHash);
  if (span.hashes === null) sha256(emptyTxSet(previousHash)).copy(bytes, AT.txSetHash);
  bytes.writeBigUInt64BE(BigInt(toCloseTime(closedAtMs(span, sequence))), AT.closeTime);
  bytes.writeUInt32BE(sequence, AT.sequence);
  return { sequence, bytes, previousHash, hash: sha256(bytes) };
}

/** Headers of an older release. Their hashes stay what its clients saw, so that they take the
 *  ledger for the same one. */
function unchained(chain: string, template: Buffer, span: Span, from: number, to: number): Header[] {
  const hashOf = (sequence: number) => (sequence < 1 ? Buffer.alloc(32) : sha256(Buffer.from(`${chain}:${sequence}`)));
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => {
    const sequence = from + index;
    return { ...headerAt(template, span, sequence, hashOf(sequence - 1)), hash: hashOf(sequence) };
  });
}

/** Horizon's ledger record without links. */
export function ledgerRecord(span: Span, header: Header): Record<string, unknown> {
  const { sequence } = header;
  const hash = header.hash.toString('hex');
  const closeTime = toCloseTime(closedAtMs(span, sequence));
  const counts = span.counts ?? { successful: 0, failed: 0, operations: 0, setOperations: 0 };
  return {
    id: hash,
    paging_token: ledgerStart(sequence).toString(),
    hash,
    prev_hash: header.previousHash.toString('hex'),
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
    header_xdr: header.bytes.toString('base64'),
  };
}

/** A span's header without what differs within it. The chain stands in for the state of all
 *  entries, which this ledger does not hash. */
function headerBytes(chain: string, span: Span): Buffer {
  const nothing = Buffer.alloc(32);
  const { transactions, results } = span.hashes ?? { transactions: NO_HASH, results: NO_RESULTS };
  const header = new xdr.LedgerHeader({
    ledgerVersion: PROTOCOL_VERSION,
    previousLedgerHash: nothing,
    scpValue: new xdr.StellarValue({
      txSetHash: Buffer.from(transactions, 'hex'),
      closeTime: 0n,
      upgrades: [],
      ext: xdr.StellarValueExt.stellarValueBasic(),
    }),
    txSetResultHash: Buffer.from(results, 'hex'),
    bucketListHash: sha256(Buffer.from(chain)),
    ledgerSeq: span._id,
    totalCoins: TOTAL_COINS,
    feePool: span.feePool,
    inflationSeq: 0,
    idPool: 0n,
    baseFee: Number(BASE_FEE),
    baseReserve: Number(BASE_RESERVE),
    maxTxSetSize: MAX_OPERATIONS,
    skipList: [nothing, nothing, nothing, nothing],
    ext: xdr.LedgerHeaderExt.v0(),
  });
  return Buffer.from(header.toXdr());
}
