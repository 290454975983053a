/** Ledgers of a network that exists in a test alone: transactions and results made by the Stellar
 *  SDK, hashed, chained and signed as the network does, in an archive's files. */
import { createHash } from 'node:crypto';
import { type FeeBumpTransaction, Keypair, type Transaction, xdr } from '@stellar/stellar-sdk/base';
import { concat, uint32 } from '../encoding.js';
import type { CheckpointFiles } from '../index.js';
import type { Bytes } from '../xdr.js';

export const PASSPHRASE = 'Proofs of a test ; November 2026';
/** The payment's ledger; one before and three after it are in the files. */
export const LEDGER = 1_000;
export const CLOSED_AT = 1_795_694_400;

/** Three organisations of three, one and two nodes. */
export const ORGANISATIONS = [3, 1, 2].map((count, index) => ({
  name: `Organisation ${index}`,
  homeDomain: `${index}.example`,
  keys: Array.from({ length: count }, () => Keypair.random()),
}));
export const VALIDATORS = ORGANISATIONS.map(({ keys, ...each }) => ({
  ...each,
  nodes: keys.map((key) => key.publicKey()),
}));

export const sha = (...parts: readonly Uint8Array[]): Bytes =>
  new Uint8Array(createHash('sha256').update(Buffer.concat(parts)).digest());
export const NETWORK_ID = sha(Buffer.from(PASSPHRASE));

export interface Applied {
  transaction: Transaction | FeeBumpTransaction;
  results: xdr.OperationResult[];
  /** Whether the whole transaction failed: a failed one has results too. */
  isFailed?: boolean;
}

/** How validators write a value: before protocol 30 without milliseconds. */
export type Era = 'signed' | 'basic' | 'milliseconds' | 'emptySet' | 'unknown';

function resultOf({ transaction, results, isFailed = false }: Applied): xdr.TransactionResult {
  const inner = 'innerTransaction' in transaction ? transaction.innerTransaction : null;
  const ext = xdr.TransactionResultExt.v0();
  const feeCharged = 100n;
  if (!inner) {
    const result = xdr.TransactionResultResult[isFailed ? 'txFailed' : 'txSuccess'](results);
    return new xdr.TransactionResult({ feeCharged, result, ext });
  }
  const pair = new xdr.InnerTransactionResultPair({
    transactionHash: inner.hash(),
    result: new xdr.InnerTransactionResult({
      feeCharged,
      result: xdr.InnerTransactionResultResult[isFailed ? 'txFailed' : 'txSuccess'](results),
      ext: xdr.InnerTransactionResultExt.v0(),
    }),
  });
  const result = xdr.TransactionResultResult[isFailed ? 'txFeeBumpInnerFailed' : 'txFeeBumpInnerSuccess'](pair);
  return new xdr.TransactionResult({ feeCharged, result, ext });
}

const record = (...parts: readonly Uint8Array[]): Bytes => {
  const body = concat(...parts.map((part) => new Uint8Array(part)));
  return concat(uint32((0x8000_0000 + body.length) >>> 0), body);
};

const uint64 = (value: number): Bytes => concat(uint32(Math.floor(value / 2 ** 32)), uint32(value % 2 ** 32));

/** The value that validators agree on, as bytes: the SDK has no arms of protocol 30. */
function valueBytes(era: Era, txSetHash: Bytes, previous: Bytes, closeTime: number): Bytes {
  const isEmpty = era === 'emptySet';
  const start = concat(isEmpty ? new Uint8Array(32) : txSetHash, uint64(closeTime), uint32(0));
  const key = ORGANISATIONS[0]!.keys[0]!;
  const signature = concat(uint32(0), new Uint8Array(key.rawPublicKey()), uint32(64), new Uint8Array(64).fill(7));
  const milliseconds = uint64(closeTime * 1000 + 250);
  const ends: Record<Era, Bytes[]> = {
    basic: [uint32(0)],
    signed: [uint32(1), signature],
    milliseconds: [uint32(3), milliseconds, signature],
    emptySet: [uint32(4), milliseconds, txSetHash, previous, uint32(29), signature],
    unknown: [uint32(5), milliseconds, signature],
  };
  return concat(start, ...ends[era]);
}

interface Header {
  sequence: number;
  value: Bytes;
  previous: Bytes;
  resultSetHash: Bytes;
}

const headerBytes = ({ sequence, value, previous, resultSetHash }: Header): Bytes =>
  concat(
    ...[uint32(30), previous, value, resultSetHash, sha(uint32(sequence)), uint32(sequence)],
    ...[uint64(10 ** 15), uint64(sequence), uint32(0), uint64(7), uint32(100), uint32(5_000_000), uint32(1_000)],
    ...[new Uint8Array(128), uint32(0)],
  );

/** A set of today; `null` transactions are a parallel phase without any. */
function txSetBytes(previous: Bytes, transactions: readonly Uint8Array[]): Bytes {
  const envelopes = concat(uint32(transactions.length), ...transactions.map((each) => new Uint8Array(each)));
  const component = concat(uint32(0), uint32(0), envelopes);
  const classic = transactions.length === 0 ? [uint32(0), uint32(0)] : [uint32(0), uint32(1), component];
  return concat(uint32(1), previous, uint32(2), ...classic, uint32(1), uint32(0), uint32(0));
}

/** Signs a value for a ledger. */
export function decisionOf(
  key: Keypair,
  sequence: number,
  value: Bytes,
  kind: 'EXTERNALIZE' | 'CONFIRM' | 'PREPARE' = 'EXTERNALIZE',
): Bytes {
  const ballot = concat(uint32(1), uint32(value.length), value, new Uint8Array(-value.length & 3));
  const quorumSet = new Uint8Array(32).fill(9);
  const pledges = {
    PREPARE: concat(uint32(0), quorumSet, ballot, uint32(0), uint32(0), uint32(1), uint32(1)),
    CONFIRM: concat(uint32(1), ballot, uint32(1), uint32(1), uint32(1), quorumSet),
    EXTERNALIZE: concat(uint32(2), ballot, uint32(1), quorumSet),
  }[kind];
  const statement = concat(uint32(0), new Uint8Array(key.rawPublicKey()), uint64(sequence), pledges);
  const signature = key.sign(Buffer.from(concat(NETWORK_ID, uint32(1), statement)));
  return concat(statement, uint32(64), new Uint8Array(signature));
}

export interface Ledgers {
  files: CheckpointFiles;
  headers: Bytes[];
  /** What validators agreed on for the ledger after the payment's. */
  value: Bytes;
}

/** Five ledgers, of which the second has the transactions. */
export function ledgersOf(applied: readonly Applied[], era: Era = 'signed'): Ledgers {
  const files: Record<'ledger' | 'results' | 'transactions' | 'scp', Bytes[]> = {
    ledger: [],
    results: [],
    transactions: [],
    scp: [],
  };
  const headers: Bytes[] = [];
  const values: Bytes[] = [];
  let previous: Bytes = sha(Buffer.from('the ledger before'));
  for (let sequence = LEDGER - 1; sequence <= LEDGER + 3; sequence++) {
    const own = sequence === LEDGER ? applied : [];
    const pairs = own.map((each) =>
      concat(new Uint8Array(each.transaction.hash()), new Uint8Array(resultOf(each).toXdr())),
    );
    const resultSet = concat(uint32(pairs.length), ...pairs);
    const envelopes = own.map(({ transaction }) => transaction.toEnvelope().toXdr());
    const txSet = txSetBytes(previous, envelopes);
    // A ledger with transactions has a set.
    const valueEra = era === 'emptySet' && sequence === LEDGER ? 'milliseconds' : era;
    const value = valueBytes(valueEra, sha(txSet), previous, CLOSED_AT + 5 * (sequence - LEDGER));
    const header = headerBytes({ sequence, value, previous, resultSetHash: sha(resultSet) });
    if (own.length > 0) {
      files.results.push(record(uint32(sequence), resultSet, uint32(0)));
      files.transactions.push(record(uint32(sequence), previous, uint32(0), uint32(1), txSet));
    }
    const keys = ORGANISATIONS.flatMap((each) => each.keys);
    const messages = keys.map((key, index) =>
      decisionOf(key, sequence, value, index === 1 ? 'CONFIRM' : 'EXTERNALIZE'),
    );
    files.scp.push(record(uint32(0), uint32(0), uint32(sequence), uint32(messages.length), ...messages));
    previous = sha(header);
    files.ledger.push(record(previous, header, uint32(0)));
    headers.push(header);
    values.push(value);
  }
  const joined = Object.fromEntries(Object.entries(files).map(([name, records]) => [name, concat(...records)]));
  return { files: joined as unknown as CheckpointFiles, headers, value: values[2]! };
}
