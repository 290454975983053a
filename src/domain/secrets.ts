/** Secrets at rest: AES-256-GCM under `SECRETS_KEY`, bound to the row that they belong to, so that no ciphertext can be moved to another. */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Clock } from '../clock.js';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type SecretBox = ReturnType<typeof createSecretBox>;

/** @param key 32 bytes */
export function createSecretBox(key: Buffer, clock: Pick<Clock, 'randomBytes'>) {
  return {
    /** @param owner id of the row that will hold the result */
    seal(secret: string, owner: string): string {
      const nonce = clock.randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(owner));
      const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${VERSION}.${sealed.toString('base64url')}`;
    },
    /** @throws when it was sealed with another key or for another owner, or was changed since. */
    open(sealed: string, owner: string): string {
      const [version, data = ''] = sealed.split('.');
      const bytes = Buffer.from(data, 'base64url');
      if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('not a sealed secret');
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}
