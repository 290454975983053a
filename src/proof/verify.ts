/** Verifies a proof of a payment: everything is recomputed from bytes that the ledger's hash
 *  covers, and trust is the verifier's own. */
import { buildsUpon, type Decision, type Header, nameOf, readChain, readDecision, readTxSet } from './chain.js';
import { shownBy } from './claim.js';
import { isSignedBy, sha256 } from './crypto.js';
import { concat, fromBase64, isSame, keyOf, strkey, toHex, uint32 } from './encoding.js';
import { type Claim, isIndex, isObject, type Parts, parseBundle, partsOf, type Statement } from './format.js';
import { resultPair } from './ledger-types.js';
import { KNOWN_VALIDATORS, VALIDATORS_DATE, type Validator } from './validators.js';
import { type Bytes, Invalid, Reader, Unknown } from './xdr.js';

export interface VerifyOptions {
  /** The network's, where it is neither the public one nor the test network. */
  passphrase?: string;
  /** Hashes of ledgers that you know from a source of your own, in hexadecimal. */
  hashes?: readonly { ledger: number; hash: string }[];
  /** Whose signatures count, in place of the list that comes with this program. */
  validators?: readonly Validator[];
  /** `whpk_…` of who signed the statement, by key id. */
  statementKeys?: Readonly<Record<string, string>>;
}

/**
 * SIGNED: more than two thirds of the organisations that you trust have built upon this ledger.
 * ANCHORED: a hash that you gave is the ledger's, or of one that follows it in the proof.
 * CONSISTENT: true if the network's ledger has the hash that the result names. INVALID: the proof
 * contradicts itself or what you gave. UNKNOWN: this program cannot tell.
 */
export type Verdict = 'SIGNED' | 'ANCHORED' | 'CONSISTENT' | 'INVALID' | 'UNKNOWN';

export interface Verification {
  verdict: Verdict;
  /** As the bytes show it, never as the proof says; null unless the verdict is SIGNED, ANCHORED
   *  or CONSISTENT. */
  claim: Claim | null;
  /** The payment's ledger, and the hash that it has if the proof is true. */
  ledger: number | null;
  hash: string | null;
  /** Sentences: what holds, or the first fault. */
  reasons: string[];
  /** `valid` is null without a key for it. It never changes the verdict. */
  statement: { body: string; valid: boolean | null } | null;
}

interface Trust {
  verdict: 'SIGNED' | 'ANCHORED' | 'CONSISTENT';
  reasons: string[];
}

/**
 * Verifies a proof without asking anyone.
 * @param bundle the parsed JSON, or its text
 * @returns never throws for a bundle, whatever it is
 * @throws TypeError for options that are malformed
 */
export async function verifyProof(bundle: unknown, options: VerifyOptions = {}): Promise<Verification> {
  const trusted = trustedBy(options);
  let statement: Verification['statement'] = null;
  try {
    const parts = partsOf(typeof bundle === 'string' ? parseBundle(bundle) : bundle);
    statement = parts.statement && (await statementOf(parts.statement, options.statementKeys ?? {}));
    const { claim, chain } = await provenClaim(parts);
    const { verdict, reasons } = await trustIn(parts, chain, trusted);
    // A genuine statement may be of another payment.
    if (statement && !statement.body.includes(claim.transactionHash))
      reasons.push('The statement does not name the transaction of this payment.');
    return { verdict, claim, ledger: chain[0]!.ledger, hash: toHex(chain[0]!.hash), reasons, statement };
  } catch (error) {
    // A fault of this program is no verdict on the proof.
    const verdict = error instanceof Invalid ? 'INVALID' : 'UNKNOWN';
    const reason = error instanceof Invalid || error instanceof Unknown ? error.message : 'it could not be read';
    return { verdict, claim: null, ledger: null, hash: null, reasons: [reason], statement };
  }
}

interface Trusted {
  passphrase: string | null;
  hashes: ReadonlyMap<number, string>;
  /** Null for those that come with the program. */
  validators: readonly Validator[] | null;
}

/** Whether this is a list of organisations with at least one node each. */
export const isValidators = (value: unknown): value is Validator[] =>
  Array.isArray(value) &&
  value.every(
    (each) =>
      isObject(each) &&
      Array.isArray(each.nodes) &&
      each.nodes.length > 0 &&
      each.nodes.every((node) => typeof node === 'string' && keyOf(node)),
  );

/** Checks the options before the proof is read. @throws TypeError */
function trustedBy({ passphrase, hashes = [], validators, statementKeys = {} }: VerifyOptions): Trusted {
  const known = new Map<number, string>();
  for (const { ledger, hash } of hashes) {
    if (!isIndex(ledger) || !/^[0-9a-f]{64}$/i.test(hash))
      throw new TypeError('a hash is {ledger, hash}: a number, and 64 hexadecimal digits');
    if ((known.get(ledger) ?? hash.toLowerCase()) !== hash.toLowerCase())
      throw new TypeError(`two hashes are given for ledger ${ledger}`);
    known.set(ledger, hash.toLowerCase());
  }
  if (validators !== undefined && !isValidators(validators))
    throw new TypeError('validators are [{name, homeDomain, nodes: ["G…"]}]');
  const nodes = validators?.flatMap((each) => each.nodes);
  if (new Set(nodes).size !== (nodes?.length ?? 0)) throw new TypeError('a node stands twice among the validators');
  for (const key of Object.values(statementKeys)) keyOfStatement(key);
  return { passphrase: passphrase ?? null, hashes: known, validators: validators ?? null };
}

/** Recomputes the payment. Hashes come first, so that bytes that were changed are refused before
 *  they are understood.
 *  @throws Invalid, Unknown */
async function provenClaim(parts: Parts): Promise<{ claim: Claim; chain: Header[] }> {
  const { claim } = parts;
  if (parts.anchor?.txSet) {
    const { previous } = await readTxSet(parts.anchor.txSet);
    if (!isSame(previous, await sha256(parts.headers.at(-1)!)))
      throw new Invalid('the anchor does not build upon the last header');
  }
  const chain = await readChain(parts.headers);
  const [header] = chain as [Header];
  if (parts.anchor && parts.anchor.ledger !== chain.at(-1)!.ledger + 1)
    throw new Invalid('the anchor is not the ledger after the last header');
  if (!isSame(await sha256(parts.resultSet), header.resultSetHash))
    throw new Invalid('the results are not those of the header');
  const networkId = await sha256(new TextEncoder().encode(parts.networkPassphrase));
  const hash = await sha256(concat(networkId, parts.transaction));
  const pair = pairAt(parts.resultSet, parts.resultIndex);
  if (!isSame(hash, pair.transactionHash))
    throw new Invalid('the result is of another transaction, or of another network');
  const closedAt = new Date(Number(header.closeTime) * 1000).toISOString();
  const { operationIndex } = claim;
  if (!Number.isSafeInteger(operationIndex)) throw new Invalid('claim.operationIndex is not a number');
  const { claims } = await shownBy(networkId, parts.transaction, pair, operationIndex as number, parts.invocation);
  const shown = claims.map((each): Claim => ({ ledger: header.ledger, closedAt, ...each }));
  const same = shown.find((each) => differenceOf(claim, each) === null);
  if (!same) throw new Invalid(differenceOf(claim, shown[0]!)!);
  return { claim: same, chain };
}

function pairAt(resultSet: Bytes, index: number) {
  const reader = new Reader(resultSet);
  if (index >= reader.u32()) throw new Invalid('there are fewer results');
  for (let skipped = 0; skipped < index; skipped++) resultPair(reader);
  return resultPair(reader);
}

/** Where a claim differs from what the bytes show; null where it is the same. */
function differenceOf(claim: Parts['claim'], shown: Claim): string | null {
  const added = Object.keys(claim).find((field) => !Object.hasOwn(shown, field));
  if (added !== undefined) return `claim has a field that nothing proves: ${JSON.stringify(added.slice(0, 40))}`;
  const isSameField = ([field, value]: [string, unknown]) => {
    const claimed = claim[field as keyof Claim];
    // With or without the milliseconds, which a ledger does not have.
    return claimed === value || (field === 'closedAt' && claimed === shown.closedAt.replace('.000Z', 'Z'));
  };
  const different = Object.entries(shown).find((entry) => !isSameField(entry));
  return different ? `claim.${different[0]} is not ${JSON.stringify(different[1])}, which the ledger shows` : null;
}

/** How far the ledger itself is to be believed. @throws Invalid when what the verifier knows
 *  contradicts it */
async function trustIn(parts: Parts, chain: readonly Header[], trusted: Trusted): Promise<Trust> {
  const { networkPassphrase: network } = parts;
  if (trusted.passphrase !== null && trusted.passphrase !== network)
    throw new Invalid('the proof is of another network than the one that was given');
  if (trusted.passphrase === null && !Object.hasOwn(KNOWN_VALIDATORS, network))
    throw new Unknown('the network is not known: give its passphrase, if you trust it');
  const anchored = anchoredBy(chain, trusted.hashes);
  const validators = trusted.validators ?? KNOWN_VALIDATORS[network] ?? [];
  const signed = parts.anchor ? await signaturesOf(parts.anchor, chain.at(-1)!, network, validators) : null;
  const reasons = [`The payment is in ${nameOf(chain[0]!)}.`];
  if (anchored) reasons.push(`You gave the hash of ledger ${anchored.ledger}, and it is the same.`);
  if (signed) reasons.push(signed.reason);
  if (signed?.isEnough) return { verdict: 'SIGNED', reasons };
  if (anchored) return { verdict: 'ANCHORED', reasons };
  reasons.push('Compare this hash with a source that you trust: the proof is true if that ledger has it.');
  return { verdict: 'CONSISTENT', reasons };
}

function anchoredBy(chain: readonly Header[], hashes: ReadonlyMap<number, string>): Header | undefined {
  const given = chain.filter(({ ledger }) => hashes.has(ledger));
  const other = given.find(({ ledger, hash }) => hashes.get(ledger) !== toHex(hash));
  if (other) throw new Invalid(`ledger ${other.ledger} has another hash than the one that was given`);
  return given[0];
}

/** Counts whose validators signed a ledger that builds upon the header. Envelopes that are foreign,
 *  repeated, undecided or broken do not count.
 *  @throws Invalid when a trusted validator decided on something else */
async function signaturesOf(
  anchor: NonNullable<Parts['anchor']>,
  header: Header,
  network: string,
  validators: readonly Validator[],
): Promise<{ isEnough: boolean; reason: string }> {
  const networkId = await sha256(new TextEncoder().encode(network));
  const txSetHash = anchor.txSet && (await readTxSet(anchor.txSet)).hash;
  const trusted = new Set(validators.flatMap(({ nodes }) => nodes));
  const signed = new Set<string>();
  for (const decision of anchor.scp.map(readDecision)) {
    if (decision?.slot !== BigInt(anchor.ledger)) continue;
    const node = strkey('G', decision.node);
    if (!trusted.has(node) || signed.has(node) || !(await isGenuine(decision, networkId))) continue;
    if (!buildsUpon(decision.value, txSetHash, header))
      throw new Invalid(`the validator ${node} decided on another ledger ${anchor.ledger}`);
    signed.add(node);
  }
  const agreed = agreedOf(validators, signed);
  const list = trusted.size === 0 ? '' : ` (list of ${VALIDATORS_DATE} unless you gave your own)`;
  return {
    isEnough: agreed.length * 3 > validators.length * 2,
    reason: `Validators of ${agreed.length} of ${validators.length} trusted organisations signed ledger ${anchor.ledger}, which builds upon it${list}.`,
  };
}

/** The organisations of which more than half of the nodes signed. */
export const agreedOf = (validators: readonly Validator[], signed: ReadonlySet<string>): Validator[] =>
  validators.filter(({ nodes }) => nodes.filter((node) => signed.has(node)).length * 2 > nodes.length);

/** The kind of what is signed, after the network's id. */
const SCP_ENVELOPE = uint32(1);

const isGenuine = ({ node, signed, signature }: Decision, networkId: Bytes): Promise<boolean> =>
  isSignedBy(node, signature, concat(networkId, SCP_ENVELOPE, signed));

/** The form of public keys of webhooks, which sign statements too. @throws TypeError */
function keyOfStatement(key: string): Bytes {
  const bytes = /^whpk_[A-Za-z0-9+/]{43}=$/.test(key) ? fromBase64(key.slice(5), 'the key') : null;
  if (!bytes) throw new TypeError('a key of statements is whpk_ and 32 bytes in base64');
  return bytes;
}

async function statementOf(
  { body, keyId, signature }: Statement,
  keys: Readonly<Record<string, string>>,
): Promise<NonNullable<Verification['statement']>> {
  if (!Object.hasOwn(keys, keyId)) return { body, valid: null };
  try {
    const bytes = fromBase64(signature.replace(/^v1a,/, ''), 'the signature of the statement');
    return { body, valid: await isSignedBy(keyOfStatement(keys[keyId]!), bytes, new TextEncoder().encode(body)) };
  } catch (error) {
    return { body, valid: error instanceof Unknown ? null : false };
  }
}
