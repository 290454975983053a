/** Checks a G… account address (strkey, SEP-23) without a library, so that contracts depend on nothing but Zod. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const ACCOUNT_VERSION_BYTE = 6 << 3;

export function isAccountAddress(text: string): boolean {
  if (!/^G[A-Z2-7]{55}$/.test(text)) return false;
  const bytes: number[] = [];
  let buffer = 0;
  let bits = 0;
  for (const symbol of text) {
    buffer = ((buffer << 5) | ALPHABET.indexOf(symbol)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((buffer >> bits) & 0xff);
    }
  }
  const checksum = bytes[33]! | (bytes[34]! << 8);
  return bytes[0] === ACCOUNT_VERSION_BYTE && crc16(bytes.slice(0, 33)) === checksum;
}

/** CRC-16/XMODEM. */
function crc16(bytes: readonly number[]): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc;
}
