/** Makes proofs from the files of a history archive, or from what a Horizon or RPC server shows.
 *  Nothing of it is believed: what comes out is for `verifyProof`. */
import { type Header, readDecision, readHeader, readTxSet, scpRecord } from './chain.js';
import { type Invocation, shownBy } from './claim.js';
import { sha256 } from './crypto.js';
import { concat, isSame, strkey, toBase64, toHex, uint32 } from './encoding.js';
import { type Anchor, type Bundle, type Claim, FORMAT, MAX_BYTES } from './format.js';
import { envelope, generalizedSet, oldSet, resultPair } from './ledger-types.js';
import { KNOWN_VALIDATORS, type Validator } from './validators.js';
import { agreedOf } from './verify.js';
import { type Bytes, Invalid, list, newAllowance, Reader, type Union, Unknown } from './xdr.js';

/** Files of one checkpoint, unpacked. */
export interface CheckpointFiles {
  ledger: Bytes;
  results: Bytes;
  transactions: Bytes;
  /** Null where the archive has none: the proof has no signatures. */
  scp: Bytes | null;
}

export interface ProofRequest {
  networkPassphrase: string;
  ledger: number;
  /** Hexadecimal; of a fee bump the outer one. */
  transactionHash: string;
  /** From 0. */
  operationIndex: number;
  /** `InvokeHostFunctionSuccessPreImage` of a contract call. A function is called only where a
   *  contract was, with the SHA-256 that the invocation has to have. */
  invocation?: Invocation;
  /** Fields that tell which movement of a contract call is meant. */
  like?: Partial<Claim>;
  /** Whose signatures are wanted; by default those that the verifier trusts. */
  validators?: readonly Validator[];
}

/** A record is of one ledger. A checkpoint has 64, and a proof needs two checkpoints at most. */
const MAX_RECORDS = 128;

/** The records of a file: each has its length before it, with the highest bit set.
 *  @throws Invalid */
export function* recordsOf(file: Bytes): Generator<Bytes> {
  const reader = new Reader(file);
  for (let count = 1; reader.at < file.length; count++) {
    if (count > MAX_RECORDS) throw new Invalid('a file has more records than ledgers');
    yield reader.take(reader.u32() & 0x7fff_ffff);
  }
}

const ledgerOf = (record: Bytes): number => new Reader(record).u32();

function recordOf(file: Bytes, ledger: number): Bytes | null {
  for (const record of recordsOf(file)) if (ledgerOf(record) === ledger) return record;
  return null;
}

/** The headers of a file, without what the archive adds to them. */
const headersOf = (file: Bytes): Bytes[] => [...recordsOf(file)].map((record) => record.subarray(32, -4));

/** A set of today has an empty one of the old kind before it. */
const EMPTY_OLD_SET_LENGTH = 36;

/** The set of a record of `transactions-`. */
function txSetOf(record: Bytes): Bytes {
  const isOld = isSame(record.subarray(-4), uint32(0)) && !isSame(record.subarray(36, 44), uint64(1));
  return isOld ? record.subarray(4, -4) : record.subarray(4 + EMPTY_OLD_SET_LENGTH + 4);
}

/** The count of an empty set, 0, and the arm of the set after it, 1. */
const uint64 = (value: number): Bytes => concat(uint32(0), uint32(value));

const ZERO = uint32(0);
const ONE = uint32(1);
const PHASE = concat(ZERO, ZERO);
const PARALLEL_PHASE = concat(ONE, ZERO, ZERO);

/** Sets without a transaction, which archives leave out: before protocol 20, from 20, and
 *  from 23. */
const emptySets = (previous: Bytes): Bytes[] => [
  concat(previous, ZERO),
  concat(ONE, previous, uint32(2), PHASE, PHASE),
  concat(ONE, previous, uint32(2), PHASE, PARALLEL_PHASE),
];

type EnvelopeValue = Union & { value: { transaction: { bytes: Bytes } } };

/** What a transaction's hash covers, without the network's id. */
function taggedOf({ arm, value }: EnvelopeValue): Bytes {
  const { bytes } = value.transaction;
  // The oldest kind is hashed as one of today, whose source is told by its kind.
  return arm === 0 ? concat(uint32(2), ZERO, bytes) : concat(uint32(arm), bytes);
}

/** The part of a `TransactionEnvelope` that its hash covers, without the network's id: no
 *  signatures. @throws Invalid, Unknown */
export const signedPartOf = (bytes: Bytes): Bytes => taggedOf(Reader.whole(bytes, envelope) as EnvelopeValue);

/** The transactions of a set, in any of its forms. */
function envelopesOf(txSet: Bytes): EnvelopeValue[] {
  if (!isSame(txSet.subarray(0, 4), ONE)) return Reader.whole(txSet, oldSet).transactions as EnvelopeValue[];
  const { phases } = Reader.whole(txSet, generalizedSet).value as { phases: Union[] };
  return phases.flatMap(({ arm, value }) =>
    arm === 0
      ? (value as { value: { transactions: EnvelopeValue[] } }[]).flatMap((component) => component.value.transactions)
      : (value as { stages: EnvelopeValue[][][] }).stages.flat(2),
  );
}

/** The parts of a proof that sources give. */
export interface ProofParts {
  networkPassphrase: string;
  /** What the hash of the payment's transaction covers: see `signedPartOf`. */
  transaction: Bytes;
  /** `TransactionResultSet` of its ledger. */
  resultSet: Bytes;
  /** The header of the payment's ledger, and those up to the anchor. */
  headers: readonly Bytes[];
  anchor: Anchor | null;
  operationIndex: number;
  invocation?: Invocation;
  like?: Partial<Claim>;
}

/** The proof would be larger than a verifier takes, as far as its ledger's header can tell. */
export class TooLarge extends Unknown {}

/** The ledger that the files show, which may be of another network, has no such transaction. */
export class NoTransaction extends Invalid {}

/** Bytes of which a verifier takes the base64. */
const MOST_BYTES = (MAX_BYTES / 4) * 3;

const totalOf = (parts: readonly Bytes[]): number => parts.reduce((sum, { length }) => sum + length, 0);

/** Puts a proof together. @throws Invalid when the parts do not fit; Unknown when they are
 *  not understood */
export async function assembleProof(parts: ProofParts): Promise<Bundle> {
  const { networkPassphrase, resultSet, headers, anchor, operationIndex, like = {} } = parts;
  const header = await readHeader(headers[0]!);
  if (totalOf([parts.transaction, resultSet, ...headers]) > MOST_BYTES) {
    const isOwn = isSame(await sha256(resultSet), header.resultSetHash);
    throw new (isOwn ? TooLarge : Invalid)('the proof would be larger than a verifier takes');
  }
  const networkId = await sha256(new TextEncoder().encode(networkPassphrase));
  const hash = await sha256(concat(networkId, parts.transaction));
  const pairs = Reader.whole(resultSet, list(resultPair));
  const resultIndex = pairs.findIndex(({ transactionHash }) => isSame(transactionHash, hash));
  if (resultIndex < 0) throw new Invalid('the ledger has no result of the transaction');
  const pair = pairs[resultIndex]!;
  const shown = await shownBy(networkId, parts.transaction, pair, operationIndex, parts.invocation ?? null);
  const fits = (claim: Partial<Claim>) =>
    Object.entries(like).every(([field, value]) => claim[field as keyof Claim] === value);
  const claim = shown.claims.find(fits);
  if (!claim) throw new Invalid('the operation has no such movement');
  const closedAt = new Date(Number(header.closeTime) * 1000).toISOString();
  return {
    format: FORMAT,
    networkPassphrase,
    claim: { ledger: header.ledger, closedAt, ...claim },
    transaction: toBase64(parts.transaction),
    resultIndex,
    resultSet: toBase64(resultSet),
    invocation: shown.invocation && toBase64(shown.invocation),
    headers: headers.map(toBase64),
    anchor,
    statement: null,
  };
}

/** Makes a proof from a checkpoint's files. @throws Invalid when they do not have it; Unknown when
 *  they are not understood */
export async function makeProof(files: CheckpointFiles, request: ProofRequest): Promise<Bundle> {
  const { networkPassphrase, ledger, transactionHash, ...others } = request;
  const headers = await Promise.all(
    headersOf(files.ledger).map(async (bytes) => ({ bytes, ...(await readHeader(bytes)) })),
  );
  const first = headers.findIndex((header) => header.ledger === ledger);
  const [results, transactions] = [recordOf(files.results, ledger), recordOf(files.transactions, ledger)];
  const own = headers[first];
  const txSet = transactions && txSetOf(transactions);
  if (own && !txSet && (await isOneOf(emptySets(own.previous), own.txSetHash))) throw new NoTransaction(NONE_SUCH);
  if (!own || !results || !txSet) throw new Invalid(`the files do not have ledger ${ledger}`);
  const networkId = await sha256(new TextEncoder().encode(networkPassphrase));
  const transaction = await transactionWith(transactionHash, txSet, networkId);
  if (!transaction) throw new ((await isOneOf([txSet], own.txSetHash)) ? NoTransaction : Invalid)(NONE_SUCH);
  const validators = request.validators ?? KNOWN_VALIDATORS[networkPassphrase] ?? [];
  const anchored = files.scp && (await anchorOf(files, headers.slice(first), validators));
  const used = headers.slice(first, first + (anchored ? anchored.ledger - ledger : 1));
  return assembleProof({
    ...others,
    networkPassphrase,
    transaction,
    resultSet: results.subarray(4, -4),
    headers: used.map(({ bytes }) => bytes),
    anchor: anchored,
  });
}

const NONE_SUCH = 'the ledger does not have the transaction';

async function isOneOf(txSets: readonly Bytes[], hash: Bytes): Promise<boolean> {
  const read = await Promise.all(txSets.map(readTxSet));
  return read.some((txSet) => isSame(txSet.hash, hash));
}

/** In a ledger the network has some thousand at most. Each is hashed. */
const MAX_TRANSACTIONS = 20_000;

async function transactionWith(hash: string, txSet: Bytes, networkId: Bytes): Promise<Bytes | null> {
  const envelopes = envelopesOf(txSet);
  if (envelopes.length > MAX_TRANSACTIONS) throw new Unknown('there are more transactions than a ledger has');
  for (const each of envelopes) {
    const tagged = taggedOf(each);
    if (toHex(await sha256(concat(networkId, tagged))) === hash) return tagged;
  }
  return null;
}

type ReadHeader = Header & { bytes: Bytes };

/** A header takes this much of a proof, for each ledger between the payment and its anchor. */
const HEADER_BYTES = 428;

/** The anchor that makes the smallest proof among those that enough validators signed; without such
 *  a one, among those that most of them signed.
 *  @param headers from the payment's on */
async function anchorOf(
  { transactions, scp }: CheckpointFiles,
  headers: readonly ReadHeader[],
  validators: readonly Validator[],
): Promise<Anchor | null> {
  const sets = new Map([...recordsOf(transactions)].map((record) => [ledgerOf(record), txSetOf(record)]));
  const decisions = await decisionsOf(scp!);
  let best: { ledger: number; txSet: Bytes | null; signed: Bytes[]; agreed: number; bytes: number } | null = null;
  for (const [distance, header] of headers.entries()) {
    const found = decisions.get(header.ledger);
    const previous = headers[distance - 1];
    if (!previous || !found) continue;
    const signed = [...found.values()];
    const given = sets.get(header.ledger);
    if (totalOf([...signed, ...(given ? [given] : [])]) > MOST_BYTES) continue;
    const txSet = await txSetOfHeader(header, previous, given);
    if (txSet === undefined) continue;
    const agreed = agreedOf(validators, new Set(found.keys())).length;
    const bytes = (txSet?.length ?? 0) + HEADER_BYTES * distance;
    if (best && (best.agreed > agreed || (best.agreed === agreed && best.bytes <= bytes))) continue;
    best = { ledger: header.ledger, txSet, signed, agreed, bytes };
  }
  return best && { ledger: best.ledger, txSet: best.txSet && toBase64(best.txSet), scp: best.signed.map(toBase64) };
}

/** One decision of each node for each ledger. */
async function decisionsOf(scp: Bytes): Promise<Map<number, Map<string, Bytes>>> {
  const found = new Map<number, Map<string, Bytes>>();
  const allowance = newAllowance();
  for (const record of recordsOf(scp)) {
    // A file with all that is allowed takes seconds: others have their turn after each record.
    await new Promise((resolve) => setTimeout(resolve));
    const { messages } = Reader.whole(record, scpRecord, allowance).value as { messages: { bytes: Bytes }[] };
    for (const { bytes } of messages) {
      const decision = readDecision(bytes);
      if (!decision) continue;
      const ledger = Number(decision.slot);
      if (!found.has(ledger)) found.set(ledger, new Map());
      found.get(ledger)!.set(strkey('G', decision.node), bytes);
    }
  }
  return found;
}

/** The set that a header names and that names the header before it; null for a header that needs
 *  none, undefined when it is not there. */
async function txSetOfHeader(
  header: Header,
  previous: Header,
  given: Bytes | undefined,
): Promise<Bytes | null | undefined> {
  if (header.txSetHash.every((byte) => byte === 0)) return null;
  for (const txSet of given ? [given] : emptySets(previous.hash)) {
    const read = await readTxSet(txSet);
    if (isSame(read.hash, header.txSetHash) && isSame(read.previous, previous.hash)) return txSet;
  }
  return undefined;
}
