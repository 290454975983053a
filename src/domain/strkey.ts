/** Addresses of all that can hold or receive a balance (SEP-23, CAP-84): G… accounts, M… muxed
 *  accounts, C… contracts, W… muxed contracts, B… claimable balances, L… liquidity pools. Needs no
 *  XDR, which is loaded later. */
import { crc16, isAccountAddress, STRKEY_ALPHABET, strkeyBytes } from '../../contracts/address.js';

// Muxed addresses (SEP-23, CAP-84): an account or contract together with a 64-bit id, written as
// one M… or W… address.

export interface Muxed {
  /** M… */
  address: string;
  /** G… */
  account: string;
  /** Decimal text. */
  id: string;
}

/** The key comes first, then the id. */
const KEY_BYTES = 32;

/** The parts of an M… address; null for any other text. */
export function parseMuxed(text: string): Muxed | null {
  const parsed = parseStrkey(text);
  if (parsed?.kind !== 'M') return null;
  const account = strkeyOf('G', parsed.bytes.subarray(0, KEY_BYTES));
  return { address: text, account, id: parsed.bytes.readBigUInt64BE(KEY_BYTES).toString() };
}

/** The base account (G…) of a G… or M… address; null for any other text. */
export const accountOf = (text: string): string | null =>
  isAccountAddress(text) ? text : (parseMuxed(text)?.account ?? null);

const MUXED_KINDS = { G: 'M', C: 'W' } as const;

/** @param holder G… or C… @param id decimal text of an unsigned 64-bit integer. @returns M…
 *  or W… */
export function muxedAddressOf(holder: string, id: string): string {
  const key = parseStrkey(holder);
  if (key?.kind !== 'G' && key?.kind !== 'C') throw new TypeError('only accounts and contracts have muxed addresses');
  const idBytes = Buffer.alloc(8);
  idBytes.writeBigUInt64BE(BigInt(id));
  return strkeyOf(MUXED_KINDS[key.kind], Buffer.concat([key.bytes, idBytes]));
}

/** Bytes of each kind. Muxed addresses end with a 64-bit id; claimable balances begin with
 *  their type. */
const SIZES = { G: 32, M: 40, C: 32, W: 40, B: 33, L: 32 } as const;
const BALANCE_TYPE = 0;

export type StrkeyKind = keyof typeof SIZES;

interface Strkey {
  kind: StrkeyKind;
  bytes: Buffer;
}

/** Of an account: its holder can spend all that the account has. */
export const isSecretSeed = (text: string): boolean => strkeyBytes(text, 'S')?.length === SIZES.G;

/** Null for any other text. */
export function parseStrkey(text: string): Strkey | null {
  const kind = text.charAt(0) as StrkeyKind;
  const bytes = Object.hasOwn(SIZES, kind) ? strkeyBytes(text, kind) : null;
  if (bytes === null || bytes.length !== SIZES[kind]) return null;
  if (kind === 'B' && bytes[0] !== BALANCE_TYPE) return null;
  return { kind, bytes: Buffer.from(bytes) };
}

/** @throws RangeError for bytes of another size */
export function strkeyOf(kind: StrkeyKind, bytes: Uint8Array): string {
  if (bytes.length !== SIZES[kind]) throw new RangeError(`no ${kind}… address has ${bytes.length} bytes`);
  const versioned = Uint8Array.of(STRKEY_ALPHABET.indexOf(kind) << 3, ...bytes);
  const checksum = crc16(versioned);
  let [text, buffer, bits] = ['', 0, 0];
  for (const byte of [...versioned, checksum & 0xff, checksum >> 8]) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += STRKEY_ALPHABET[(buffer >> (bits - 5)) & 31];
  }
  return bits === 0 ? text : text + STRKEY_ALPHABET[(buffer << (5 - bits)) & 31];
}
