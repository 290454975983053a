/** Computes a transaction's hash from the bytes of its envelope, without understanding the transaction. */
import { createHash } from 'node:crypto';

const int32 = (value: number): Buffer => Buffer.from([0, 0, 0, value]);

/** How each kind of envelope is signed: its EnvelopeType in the signature payload, and what a transaction of version 0 lacks of version 1. */
const KINDS: ReadonlyMap<number, readonly [tag: Buffer, before: Buffer]> = new Map([
  [0, [int32(2), int32(0)]],
  [2, [int32(2), Buffer.alloc(0)]],
  [5, [int32(5), Buffer.alloc(0)]],
]);

/** The transaction's hash; for a fee bump the outer one. @returns lower-case hex; null where the bytes alone do not tell it */
export function transactionHashOf(envelopeXdr: string, passphrase: string): string | null {
  const bytes = Buffer.from(envelopeXdr, 'base64');
  const end = signaturesIn(bytes);
  const kind = end === null ? undefined : KINDS.get(bytes.readUInt32BE(0));
  if (end === null || !kind) return null;
  const networkId = createHash('sha256').update(passphrase).digest();
  const signed = [networkId, ...kind, bytes.subarray(4, end)];
  return createHash('sha256').update(Buffer.concat(signed)).digest('hex');
}

const MOST_SIGNATURES = 20;
/** Hint, length and 64 bytes. */
const LONGEST_SIGNATURE = 72;

/** Start of the list of signatures, which ends the envelope. Null without a list, and if there may be several: the preimage of a `hash(x)` signer can
 *  itself look like the end of a list. */
function signaturesIn(bytes: Buffer): number | null {
  const earliest = Math.max(4, bytes.length - 4 - MOST_SIGNATURES * LONGEST_SIGNATURE);
  let found: number | null = null;
  for (let at = bytes.length - 4; at >= earliest; at -= 4) {
    if (!areSignatures(bytes, at)) continue;
    if (found !== null) return null;
    found = at;
  }
  return found;
}

function areSignatures(bytes: Buffer, start: number): boolean {
  const count = bytes.readUInt32BE(start);
  let at = start + 4;
  for (let index = 0; index < count && count <= MOST_SIGNATURES; index++) {
    const length = at + 8 <= bytes.length ? bytes.readUInt32BE(at + 4) : 0;
    if (length === 0 || length > 64) return false;
    at += 8 + Math.ceil(length / 4) * 4;
  }
  return count <= MOST_SIGNATURES && at === bytes.length;
}
