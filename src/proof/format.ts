/** The format `stellar-payment-proof/1`: its fields, and their check. */
import { fromBase64 } from './encoding.js';
import { type Bytes, Invalid, Unknown } from './xdr.js';

export const FORMAT = 'stellar-payment-proof/1';
/** A bundle of the public network has 50 to 400 kB. */
export const MAX_BYTES = 4_000_000;

/** The payment, spelt as the service's API spells it. */
export interface Claim {
  ledger: number;
  /** When the ledger closed, ISO 8601, in whole seconds. */
  closedAt: string;
  /** Hexadecimal; of a fee bump the outer one. */
  transactionHash: string;
  /** From 0. */
  operationIndex: number;
  kind:
    | 'payment'
    | 'create_account'
    | 'path_payment_strict_receive'
    | 'path_payment_strict_send'
    | 'account_merge'
    | 'contract';
  /** G… or C…; of a mint the issuer. */
  from: string;
  to: string;
  /** Decimal; null when a plain address was paid. */
  toMuxedId: string | null;
  memoType: 'none' | 'text' | 'id' | 'hash' | 'return';
  /** The text, a decimal number of an id, base64 of a hash; null without a memo. */
  memo: string | null;
  assetCode: string;
  /** Null for XLM. */
  assetIssuer: string | null;
  /** Decimal, without trailing zeros, such as `10.5`. */
  amount: string;
}

/** What the proof's maker says about the payment, signed by the maker's key. The ledger does not
 *  prove it. */
export interface Statement {
  body: string;
  keyId: string;
  /** Base64, perhaps after `v1a,`. */
  signature: string;
}

/** Base64 throughout. */
export interface Bundle {
  format: typeof FORMAT;
  networkPassphrase: string;
  claim: Claim;
  /** What the transaction's hash covers, without the network's id: no signatures. */
  transaction: string;
  /** Place of the transaction in the result set, from 0. */
  resultIndex: number;
  /** The results of all transactions of the ledger. */
  resultSet: string;
  /** What the success hash of a contract call covers; null for other payments. */
  invocation: string | null;
  /** The payment's ledger and those up to the anchor, without a gap. */
  headers: string[];
  anchor: Anchor | null;
  statement: Statement | null;
}

/** Signatures of validators for the ledger after the last header. */
export interface Anchor {
  ledger: number;
  /** The transaction set that they agreed on, which names the last header; null where they agreed
   *  on an empty one, which names it itself. */
  txSet: string | null;
  scp: string[];
}

/** A bundle's bytes. */
export interface Parts {
  networkPassphrase: string;
  claim: Record<keyof Claim, unknown>;
  transaction: Bytes;
  resultIndex: number;
  resultSet: Bytes;
  invocation: Bytes | null;
  headers: Bytes[];
  anchor: { ledger: number; txSet: Bytes | null; scp: (Bytes | null)[] } | null;
  statement: Statement | null;
}

type Fields = Readonly<Record<string, unknown>>;

const FIELDS = [
  'format',
  'networkPassphrase',
  'claim',
  'transaction',
  'resultIndex',
  'resultSet',
  'invocation',
  'headers',
  'anchor',
  'statement',
] as const satisfies readonly (keyof Bundle)[];

/** More would be a day of the network, and no proof that this program's makers write. */
const MAX_HEADERS = 1_000;
/** An anchor may have several for each validator. */
export const MAX_ENVELOPES = 1_000;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Takes exactly these fields, so that a field that was renamed or added is no other proof.
 *  @throws Invalid */
function exactly(value: unknown, name: string, fields: readonly string[]): Fields {
  if (!isObject(value)) throw new Invalid(`${name} is not an object`);
  const missing = fields.find((field) => !Object.hasOwn(value, field));
  if (missing) throw new Invalid(`${name} has no ${missing}`);
  const added = Object.keys(value).find((field) => !fields.includes(field));
  if (added !== undefined)
    throw new Invalid(`${name} has a field that nothing proves: ${JSON.stringify(added.slice(0, 40))}`);
  return value;
}

function bytesOf(value: unknown, name: string): Bytes {
  if (typeof value !== 'string') throw new Invalid(`${name} is not a text`);
  return fromBase64(value, name);
}

function listOf(value: unknown, name: string, most: number): unknown[] {
  if (!Array.isArray(value)) throw new Invalid(`${name} is not a list`);
  if (value.length > most) throw new Unknown(`${name} has more than ${most} entries`);
  return value;
}

/** An envelope that is no base64 does not count; it is not a fault of the others. */
function envelopeOf(value: unknown): Bytes | null {
  try {
    return bytesOf(value, 'an envelope');
  } catch {
    return null;
  }
}

function anchorOf(value: unknown): Parts['anchor'] {
  if (value === null) return null;
  const { ledger, txSet, scp } = exactly(value, 'anchor', ['ledger', 'txSet', 'scp']);
  if (!isIndex(ledger)) throw new Invalid('anchor.ledger is not a number of a ledger');
  return {
    ledger,
    txSet: txSet === null ? null : bytesOf(txSet, 'anchor.txSet'),
    scp: listOf(scp, 'anchor.scp', MAX_ENVELOPES).map(envelopeOf),
  };
}

function statementOf(value: unknown): Statement | null {
  if (value === null) return null;
  const { body, keyId, signature } = exactly(value, 'statement', ['body', 'keyId', 'signature']);
  if (typeof body !== 'string' || typeof keyId !== 'string' || typeof signature !== 'string')
    throw new Invalid('a field of statement is not a text');
  return { body, keyId, signature };
}

/** In UTF-8, where no character has less than a byte. */
const bytesIn = (text: string): number =>
  text.length > MAX_BYTES ? text.length : new TextEncoder().encode(text).length;

/** Reads the text of a file. @throws Unknown when it is no JSON, or too large */
export function parseBundle(text: string): unknown {
  if (bytesIn(text) > MAX_BYTES) throw new Unknown(`the proof is larger than ${MAX_BYTES / 1_000_000} MB`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Unknown('the file is no JSON, or a part of it is missing');
  }
}

/** Lists of an anchor are the deepest texts. */
const DEPTH = 3;

/** The bytes of all texts in UTF-8, as far as a bundle is deep; counts no further than too many. */
function sizeOf(value: unknown, depth = DEPTH): number {
  if (typeof value === 'string') return bytesIn(value);
  if (depth === 0 || typeof value !== 'object' || value === null) return 0;
  let size = 0;
  for (const each of Object.values(value)) {
    size += sizeOf(each, depth - 1);
    if (size > MAX_BYTES) break;
  }
  return size;
}

/** @throws Invalid for a field that is missing, added or of another type; Unknown for
 *  another format */
export function partsOf(bundle: unknown): Parts {
  if (!isObject(bundle) || !Object.hasOwn(bundle, 'format')) throw new Unknown('this is no proof of a payment');
  if (bundle.format !== FORMAT) throw new Unknown(`the format is not ${FORMAT}`);
  if (sizeOf(bundle) > MAX_BYTES) throw new Unknown(`the proof is larger than ${MAX_BYTES / 1_000_000} MB`);
  const { networkPassphrase, claim, resultIndex, invocation, ...others } = exactly(bundle, 'the proof', FIELDS);
  if (typeof networkPassphrase !== 'string') throw new Invalid('networkPassphrase is not a text');
  if (!isObject(claim)) throw new Invalid('claim is not an object');
  if (!isIndex(resultIndex)) throw new Invalid('resultIndex is not a number');
  const headers = listOf(others.headers, 'headers', MAX_HEADERS);
  if (headers.length === 0) throw new Invalid('there is no header');
  return {
    networkPassphrase,
    claim: claim as Parts['claim'],
    transaction: bytesOf(others.transaction, 'transaction'),
    resultIndex,
    resultSet: bytesOf(others.resultSet, 'resultSet'),
    invocation: invocation === null ? null : bytesOf(invocation, 'invocation'),
    headers: headers.map((header, index) => bytesOf(header, `headers[${index}]`)),
    anchor: anchorOf(others.anchor),
    statement: statementOf(others.statement),
  };
}
