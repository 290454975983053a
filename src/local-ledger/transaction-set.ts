/** Transaction sets and result sets as validators hash them. */
import { createHash } from 'node:crypto';
import type { SetHashes } from './headers.js';
import type { TransactionDocument } from './records.js';

/** A transaction of a ledger, in the order of its application: contract calls come last. */
export interface AppliedTransaction {
  phase: 'classic' | 'call';
  /** Hexadecimal. */
  hash: string;
  /** Base64. */
  envelopeXdr: string;
  resultXdr: string;
}

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const [ZERO, ONE, TWO] = [uint32(0), uint32(1), uint32(2)];

/** `TransactionResultSet`. */
export const resultSet = (applied: readonly AppliedTransaction[]): Buffer =>
  Buffer.concat([
    uint32(applied.length),
    ...applied.flatMap(({ hash, resultXdr }) => [Buffer.from(hash, 'hex'), Buffer.from(resultXdr, 'base64')]),
  ]);

const hexHash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Hash of the results of a ledger without transactions. */
export const NO_RESULTS = hexHash(resultSet([]));

/** `GeneralizedTransactionSet`: a classic phase of one component, and a parallel phase of one stage
 *  with one cluster. */
export function transactionSet(previousHash: Buffer, applied: readonly AppliedTransaction[]): Buffer {
  const envelopesOf = (wanted: AppliedTransaction['phase']) =>
    applied.flatMap(({ phase, envelopeXdr }) => (phase === wanted ? [Buffer.from(envelopeXdr, 'base64')] : []));
  const [classic, calls] = [envelopesOf('classic'), envelopesOf('call')];
  const components = classic.length === 0 ? [ZERO] : [ONE, ZERO, ZERO, uint32(classic.length), ...classic];
  const stages = calls.length === 0 ? [ZERO] : [ONE, ONE, uint32(calls.length), ...calls];
  return Buffer.concat([ONE, previousHash, TWO, ZERO, ...components, ONE, ZERO, ...stages]);
}

export const emptyTxSet = (previousHash: Buffer): Buffer => transactionSet(previousHash, []);

/** Those of a ledger's transactions that its hashes cover. */
export const appliedOf = (documents: readonly TransactionDocument[]): AppliedTransaction[] =>
  documents.flatMap(({ phase, hash, record }) =>
    phase ? [{ phase, hash, envelopeXdr: String(record.envelope_xdr), resultXdr: String(record.result_xdr) }] : [],
  );

export const hashesOf = (previousHash: Buffer, applied: readonly AppliedTransaction[]): SetHashes => ({
  transactions: hexHash(transactionSet(previousHash, applied)),
  results: hexHash(resultSet(applied)),
});
