/** Muxed accounts (SEP-23): a base account together with an id of 64 bits, written as one M… address. */
import { StrKey } from './stellar-sdk.js';

export interface Muxed {
  /** M… */
  address: string;
  /** G… */
  account: string;
  /** Decimal text. */
  id: string;
}

/** The account's key comes first, then the id. */
const KEY_BYTES = 32;

/** The parts of an M… address; null for anything else. */
export function parseMuxed(text: string): Muxed | null {
  if (!StrKey.isValidMed25519PublicKey(text)) return null;
  const bytes = StrKey.decodeMed25519PublicKey(text);
  const account = StrKey.encodeEd25519PublicKey(bytes.subarray(0, KEY_BYTES));
  return { address: text, account, id: bytes.readBigUInt64BE(KEY_BYTES).toString() };
}

/** @param account G… @param id decimal text of an unsigned 64-bit integer. @returns M… */
export function muxedAddressOf(account: string, id: string): string {
  const idBytes = Buffer.alloc(8);
  idBytes.writeBigUInt64BE(BigInt(id));
  return StrKey.encodeMed25519PublicKey(Buffer.concat([StrKey.decodeEd25519PublicKey(account), idBytes]));
}
