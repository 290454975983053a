/** Checks the signers of a transaction, and whether every signature was needed. */
import { createHash, verify } from 'node:crypto';
import { StrKey, type xdr } from '@stellar/stellar-sdk/base';
import type { AccountEntry, Signer } from './entries.js';
import type { Signature } from './envelope.js';
import type { Level } from './operations/kind.js';

/** Prefix of the DER of an Ed25519 public key (RFC 8410). */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex');

export interface SignatureCheck {
  reaches(account: Readonly<AccountEntry>, level: Level): boolean;
  /** For an account that does not exist yet: its own key must have signed. */
  isSignedBy(id: string): boolean;
  hasExtraSigner(signer: xdr.SignerKey): boolean;
  areAllUsed(): boolean;
}

/** Signatures over `hash`. The first signer that a signature verifies uses it up, across
 *  all calls. */
export function checkSignatures(hash: Buffer, signatures: Signature[]): SignatureCheck {
  const used = signatures.map(() => false);
  function reachesWeight(signers: Signer[], needed: number): boolean {
    let weight = 0;
    for (const signer of signers) {
      const index = signatures.findIndex((signature) => isMadeBy(signer.key, signature, hash));
      if (index === -1) continue;
      used[index] = true;
      weight += Math.min(signer.weight, 255);
      if (weight >= needed) return true;
    }
    return false;
  }

  return {
    reaches(account, level) {
      const { master } = account.thresholds;
      const signers = master > 0 ? [...account.signers, { key: account.owner, weight: master }] : account.signers;
      return reachesWeight(signers, account.thresholds[level]);
    },
    isSignedBy: (id) => reachesWeight([{ key: id, weight: 1 }], 0),
    hasExtraSigner(signer) {
      const key = extraSignerKey(signer);
      return key !== null && reachesWeight([{ key, weight: 1 }], 1);
    },
    areAllUsed: () => used.every(Boolean),
  };
}

function isMadeBy(key: string, signature: Signature, hash: Buffer): boolean {
  const known = signature.tried.get(key);
  if (known !== undefined) return known;
  const isMade = verifies(key, signature, hash);
  signature.tried.set(key, isMade);
  return isMade;
}

function verifies(key: string, { hint, bytes }: Signature, hash: Buffer): boolean {
  if (key.startsWith('X')) {
    const digest = Buffer.from(StrKey.decodeSha256Hash(key));
    return digest.subarray(-4).equals(hint) && createHash('sha256').update(bytes).digest().equals(digest);
  }
  const publicKey = Buffer.from(StrKey.decodeEd25519PublicKey(key));
  if (!publicKey.subarray(-4).equals(hint)) return false;
  const der = Buffer.concat([ED25519_SPKI, publicKey]);
  return verify(null, hash, { key: der, format: 'der', type: 'spki' }, bytes);
}

function extraSignerKey(signer: xdr.SignerKey): string | null {
  switch (signer.type) {
    case 'signerKeyTypeEd25519':
      return StrKey.encodeEd25519PublicKey(signer.ed25519.value);
    case 'signerKeyTypeHashX':
      return StrKey.encodeSha256Hash(signer.hashX.value);
    default:
      return null;
  }
}
