/** Parses addresses (strkey, SEP-23) without a library, so that contracts depend on nothing
 *  but Zod. */
export const STRKEY_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const ACCOUNT_SIZE = 32;

export const isAccountAddress = (text: string): boolean => strkeyBytes(text, 'G')?.length === ACCOUNT_SIZE;

/** The payload of a strkey; null for invalid text or another kind. @param kind the first letter,
 *  which stands for the version */
export function strkeyBytes(text: string, kind: string): Uint8Array | null {
  const bytes = text.startsWith(kind) ? fromBase32(text) : null;
  if (bytes === null || bytes.length < 3 || bytes[0] !== STRKEY_ALPHABET.indexOf(kind) << 3) return null;
  const end = bytes.length - 2;
  const checksum = bytes[end]! | (bytes[end + 1]! << 8);
  return checksum === crc16(bytes.subarray(0, end)) ? bytes.subarray(1, end) : null;
}

/** Null for unknown symbols and for leftover bits other than 0, so that each address has
 *  one spelling. */
function fromBase32(text: string): Uint8Array | null {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8));
  let [buffer, bits, at] = [0, 0, 0];
  for (const symbol of text) {
    const value = STRKEY_ALPHABET.indexOf(symbol);
    if (value === -1) return null;
    buffer = ((buffer << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = buffer >> bits;
  }
  return bits < 5 && (buffer & ((1 << bits) - 1)) === 0 ? bytes : null;
}

/** CRC-16/XMODEM. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}
