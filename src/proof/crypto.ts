/** Hashes and signatures by WebCrypto, which Node and browsers have. */
import { type Bytes, Unknown } from './xdr.js';

function subtle(): typeof crypto.subtle {
  // Browsers have it on https, localhost and files only.
  if (!globalThis.crypto?.subtle)
    throw new Unknown('this page was not opened over https, so its browser computes no hashes');
  return crypto.subtle;
}

export const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await subtle().digest('SHA-256', bytes));

/** Whether the Ed25519 signature over the bytes is by this key. @throws Unknown where the browser
 *  has no Ed25519 */
export async function isSignedBy(key: Bytes, signature: Bytes, bytes: Bytes): Promise<boolean> {
  const imported = await subtle()
    .importKey('raw', key, 'Ed25519', false, ['verify'])
    .catch((error: Error) => {
      if (error.name !== 'NotSupportedError') return null;
      throw new Unknown('this browser cannot check Ed25519 signatures: use a newer one, or the command');
    });
  return imported !== null && signature.length === 64 && (await subtle().verify('Ed25519', imported, signature, bytes));
}
