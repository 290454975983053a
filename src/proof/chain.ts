/** Headers: how one names the one before it, and what validators sign about it. */
import { sha256 } from './crypto.js';
import { concat, isSame, toHex, uint32 } from './encoding.js';
import { MAX_ENVELOPES } from './format.js';
import { publicKey } from './ledger-types.js';
import {
  type Bytes,
  bytes,
  hash,
  Invalid,
  lazy,
  list,
  nothing,
  option,
  Reader,
  sliced,
  struct,
  type Type,
  type Union,
  u32,
  u64,
  union,
} from './xdr.js';

const closeSignature = struct({ node: publicKey, signature: bytes });
const emptySet = { txSetHash: hash, previous: hash, previousVersion: u32, signature: closeSignature };
/** As the network bounds them. */
const MAX_UPGRADES = 6;
/** What validators agree on for a ledger. Arms 3 and 4 come with protocol 30: they begin with the
 *  time in milliseconds. */
const stellarValue = struct({
  txSetHash: hash,
  closeTime: u64,
  upgrades: list(bytes, MAX_UPGRADES),
  ext: union({
    0: nothing,
    1: closeSignature,
    2: struct(emptySet),
    3: struct({ milliseconds: u64, signature: closeSignature }),
    4: struct({ milliseconds: u64, ...emptySet }),
  }),
});
/** The beginning of a header; what follows its number proves nothing about a payment. */
const headerStart = struct({
  version: u32,
  previous: hash,
  value: stellarValue,
  resultSetHash: hash,
  bucketsHash: hash,
  ledger: u32,
});

export interface Header {
  hash: Bytes;
  ledger: number;
  protocol: number;
  previous: Bytes;
  resultSetHash: Bytes;
  txSetHash: Bytes;
  /** Seconds since 1970. */
  closeTime: bigint;
}

export async function readHeader(bytes: Bytes): Promise<Header> {
  const { version, previous, value, resultSetHash, ledger } = headerStart(new Reader(bytes));
  const { txSetHash, closeTime } = value;
  return { hash: await sha256(bytes), ledger, protocol: version, previous, resultSetHash, txSetHash, closeTime };
}

/** Reads headers that follow each other. The links are checked before anything else is read, by
 *  their place. @throws Invalid */
export async function readChain(headers: readonly Bytes[]): Promise<Header[]> {
  const hashes = await Promise.all(headers.map(sha256));
  for (const [index, header] of headers.entries())
    if (index > 0 && !isSame(header.subarray(4, 36), hashes[index - 1]!))
      throw new Invalid(`headers[${index}] does not follow the one before it`);
  const chain = await Promise.all(headers.map(readHeader));
  if (chain.some(({ ledger }, index) => ledger !== chain[0]!.ledger + index))
    throw new Invalid('the numbers of the headers do not follow each other');
  return chain;
}

/** The first bytes of a set of today: the arm of its union. */
const GENERALIZED = uint32(1);

/** What a transaction set says: the hash that validators sign, and the header that it
 *  builds upon. */
export async function readTxSet(txSet: Bytes): Promise<{ hash: Bytes; previous: Bytes }> {
  if (isSame(txSet.subarray(0, 4), GENERALIZED)) return { hash: await sha256(txSet), previous: txSet.subarray(4, 36) };
  if (txSet.length < 36) throw new Invalid('the transaction set ends too early');
  // Before protocol 20 the hash did not cover how many transactions there are.
  const covered = concat(txSet.subarray(0, 32), txSet.subarray(36));
  return { hash: await sha256(covered), previous: txSet.subarray(0, 32) };
}

const ballot = struct({ counter: u32, value: bytes });
/** A validator has decided by a CONFIRM (1) or an EXTERNALIZE (2); in a PREPARE or a nomination it
 *  has not. */
const pledges = union({
  0: struct({ quorumSet: hash, ballot, prepared: option(ballot), other: option(ballot), commit: u32, high: u32 }),
  1: struct({ ballot, prepared: u32, commit: u32, high: u32, quorumSet: hash }),
  2: struct({ ballot, high: u32, quorumSet: hash }),
  3: struct({ quorumSet: hash, votes: list(bytes), accepted: list(bytes) }),
});
const envelope = struct({
  statement: sliced(struct({ node: publicKey, slot: u64, pledges })),
  signature: bytes,
});
const quorumSet: Type = lazy(() => quorumSetStruct);
const quorumSetStruct = struct({ threshold: u32, validators: list(publicKey), inner: list(quorumSet) });
/** A record of an archive's `scp-`. Of more messages an anchor would have too many envelopes. */
export const scpRecord = union({
  0: struct({ quorumSets: list(quorumSet), ledger: u32, messages: list(sliced(envelope), MAX_ENVELOPES) }),
});

export interface Decision {
  /** The validator's key. */
  node: Bytes;
  slot: bigint;
  /** What it decided on. */
  value: Bytes;
  signed: Bytes;
  signature: Bytes;
}

/** A validator's decision; null for any other message, and for one that cannot be read. */
export function readDecision(bytes: Bytes | null): Decision | null {
  try {
    if (!bytes) return null;
    const { statement, signature } = Reader.whole(bytes, envelope);
    const { node, slot, pledges } = statement.value;
    if (pledges.arm !== 1 && pledges.arm !== 2) return null;
    const { value } = (pledges.value as { ballot: { value: Bytes } }).ballot;
    return { node: node.value as Bytes, slot, value, signed: statement.bytes, signature };
  } catch {
    return null;
  }
}

const NO_SET = new Uint8Array(32);

/** Whether the value that a validator decided on builds upon this header.
 *  @param txSetHash of the set that names the header; null without one */
export function buildsUpon(value: Bytes, txSetHash: Bytes | null, header: Header): boolean {
  const first = value.subarray(0, 32);
  if (txSetHash !== null) return isSame(first, txSetHash);
  if (!isSame(first, NO_SET)) return false;
  const { arm, value: proposed } = Reader.whole(value, stellarValue).ext as Union;
  return (arm === 2 || arm === 4) && isSame((proposed as { previous: Bytes }).previous, header.hash);
}

export const nameOf = ({ ledger, hash }: Header): string => `ledger ${ledger} with the hash ${toHex(hash)}`;
