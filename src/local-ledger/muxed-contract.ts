/** Muxed contracts (CAP-84): a contract with an id, W… as text. The SDK knows neither the text nor
 *  the arm of an address. */
import { createHash } from 'node:crypto';
import { Address, StrKey } from '@stellar/stellar-sdk/base';
import type { Patch } from './patch.js';

export interface MuxedContract {
  /** C… */
  contract: string;
  /** A decimal below 2^64. */
  id: string;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const VERSION = ALPHABET.indexOf('W') << 3;
const CONTRACT_BYTES = 32;
/** Version, contract, id and checksum. */
const TEXT = /^W[A-Z2-7]{68}$/;

function crc16(bytes: Uint8Array): Buffer {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc);
  return checksum;
}

const idBytes = (id: string): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(id));
  return bytes;
};

export function muxedContract({ contract, id }: MuxedContract): string {
  const versioned = Buffer.concat([Buffer.from([VERSION]), StrKey.decodeContract(contract), idBytes(id)]);
  const bits = [...versioned, ...crc16(versioned)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replace(/.{1,5}/g, (five) => ALPHABET[Number.parseInt(five.padEnd(5, '0'), 2)]!);
}

/** Null for any other text. */
export function parseMuxedContract(text: string): MuxedContract | null {
  if (!TEXT.test(text)) return null;
  const bits = [...text].map((symbol) => ALPHABET.indexOf(symbol).toString(2).padStart(5, '0')).join('');
  const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const contract = StrKey.encodeContract(bytes.subarray(1, 1 + CONTRACT_BYTES));
  const found = { contract, id: bytes.readBigUInt64BE(1 + CONTRACT_BYTES).toString() };
  return muxedContract(found) === text ? found : null;
}

/** The arm in an SCAddress, and in an SCVal that is an address. */
const ARM = Buffer.from([0, 0, 0, 5]);

/** A stand-in contract for a muxed one. */
export function muxedContractPatch(text: string): Patch {
  const { contract, id } = parseMuxedContract(text)!;
  const standIn = StrKey.encodeContract(createHash('sha256').update(`stands in for ${text}`).digest());
  return {
    standIn: { bytes: Address.fromString(standIn).toScAddress().toXdr(), json: standIn },
    real: { bytes: Buffer.concat([ARM, idBytes(id), StrKey.decodeContract(contract)]), json: text },
  };
}
