/** Base64, hexadecimal, and the network's spelling of keys (strkey: base32 with a version and
 *  a checksum). */
import { type Bytes, Invalid } from './xdr.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** First byte of a strkey. */
const VERSION = { G: 6 << 3, C: 2 << 3 } as const;

export const toHex = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

export function toBase64(bytes: Bytes): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** @throws Invalid also for a second spelling of the same bytes: one proof has one text */
export function fromBase64(text: string, name: string): Bytes {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    if (toBase64(bytes) === text) return bytes;
  } catch {
    // Not base64 at all.
  }
  throw new Invalid(`${name} is not base64`);
}

export function concat(...parts: readonly Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const uint32 = (value: number): Bytes => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);

export const isSame = (a: Bytes, b: Bytes): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);

/** CRC-16/XMODEM. */
function checksum(bytes: Bytes): Bytes {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
    crc &= 0xffff;
  }
  return Uint8Array.of(crc, crc >> 8);
}

/** The address of an account (G…) or contract (C…). @param key 32 bytes */
export function strkey(kind: keyof typeof VERSION, key: Bytes): string {
  const body = concat(Uint8Array.of(VERSION[kind]), key);
  let bits = 0;
  let held = 0;
  let text = '';
  for (const byte of concat(body, checksum(body))) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  return text;
}

/** The key of an account's address; null for any other text. */
export function keyOf(address: string): Bytes | null {
  if (!/^G[A-Z2-7]{55}$/.test(address)) return null;
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of address) {
    held = ((held << 5) | ALPHABET.indexOf(character)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 0xff);
  }
  const key = Uint8Array.from(bytes.slice(1, 33));
  return strkey('G', key) === address ? key : null;
}
