/** Secrets at rest: AES-256-GCM under a key of `SECRETS_KEY`, bound to their row, so that a
 *  ciphertext cannot be moved to another. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Clock } from './clock.js';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type SecretBox = ReturnType<typeof createSecretBox>;

/** @param keys 32 bytes each; the first seals, all open */
export function createSecretBox(keys: Buffer | readonly Buffer[], clock: Pick<Clock, 'randomBytes'>) {
  const all = Buffer.isBuffer(keys) ? [keys] : keys;
  const [first] = all;
  if (!first) throw new Error('a secret box needs a key');

  const tryOpen = (sealed: string, owner: string): { secret: string; withFirstKey: boolean } | null => {
    for (const key of all) {
      const secret = openWith(key, sealed, owner);
      if (secret !== null) return { secret, withFirstKey: key === first };
    }
    return null;
  };
  return {
    /** @param owner id of the row that will hold the result */
    seal(secret: string, owner: string): string {
      const nonce = clock.randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, first, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(owner));
      const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${sealed.toString('base64url')}`;
    },
    /** Null if it was sealed with none of the keys or for another owner, or was changed since. */
    tryOpen,
    /** @throws when `tryOpen` returns null */
    open(sealed: string, owner: string): string {
      const opened = tryOpen(sealed, owner);
      if (opened === null) throw new Error('the sealed secret does not open');
      return opened.secret;
    },
  };
}

function openWith(key: Buffer, sealed: string, owner: string): string | null {
  const [version, data = ''] = sealed.split('.');
  const bytes = Buffer.from(data, 'base64url');
  if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(owner))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}
