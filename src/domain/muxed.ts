/** Muxed addresses (SEP-23, CAP-84): an account or contract together with a 64-bit id, written as one M… or W… address. */
import { isAccountAddress } from '../../contracts/address.js';
import { parseStrkey, strkeyOf } from './strkey.js';

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

/** @param holder G… or C… @param id decimal text of an unsigned 64-bit integer. @returns M… or W… */
export function muxedAddressOf(holder: string, id: string): string {
  const key = parseStrkey(holder);
  if (key?.kind !== 'G' && key?.kind !== 'C') throw new TypeError('only accounts and contracts have muxed addresses');
  const idBytes = Buffer.alloc(8);
  idBytes.writeBigUInt64BE(BigInt(id));
  return strkeyOf(MUXED_KINDS[key.kind], Buffer.concat([key.bytes, idBytes]));
}
