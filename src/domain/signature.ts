/** Signatures of Standard Webhooks 1.0: `v1,` + base64 of HMAC-SHA256 over `id.timestamp.body`, one
 *  for each valid secret. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { Clock } from '../kit/clock.js';

// The service's own signatures of deliveries (Standard Webhooks, asymmetric): `v1a,` + base64 of
// Ed25519 over `id.timestamp.body`. A receiver verifies them with the public key, without a secret.

const PUBLIC_PREFIX = 'whpk_';
const SEED_BYTES = 32;
/** The bytes before the 32 of a key in the encodings that Node reads (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** Base64 of 32 random bytes: the whole of a private key. */
export const newKeySeed = (clock: Pick<Clock, 'randomBytes'>): string =>
  clock.randomBytes(SEED_BYTES).toString('base64');

export const privateKeyOf = (seed: string): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, Buffer.from(seed, 'base64')]), format: 'der', type: 'pkcs8' });

/** The 32 bytes of the public key. */
export const publicBytesOf = (privateKey: KeyObject): Buffer =>
  createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length);

/** `whpk_` + base64 of the 32 bytes. */
export const publicKeyOf = (privateKey: KeyObject): string =>
  PUBLIC_PREFIX + publicBytesOf(privateKey).toString('base64');

const signed = (id: string, timestamp: string, body: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body)]);

/** Signs off the event loop: it takes twenty times as long as an HMAC. */
export const signWithKey = (privateKey: KeyObject, id: string, timestamp: string, body: Buffer | string) =>
  new Promise<string>((resolve, reject) => {
    sign(null, signed(id, timestamp, body), privateKey, (error, signature) =>
      error ? reject(error) : resolve(`v1a,${signature.toString('base64')}`),
    );
  });

/** Signs a text by itself, such as a statement. Base64. */
export const signText = (privateKey: KeyObject, text: string): string =>
  sign(null, Buffer.from(text), privateKey).toString('base64');

/** The receiver's check: whether a signature is of one of these public keys. */
export function verifyWithKeys(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  publicKeys: readonly string[],
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  const given = signatures.split(' ').filter((each) => each.startsWith('v1a,'));
  const keys = publicKeys.flatMap((text) => {
    const bytes = Buffer.from(text.slice(PUBLIC_PREFIX.length), 'base64');
    if (!text.startsWith(PUBLIC_PREFIX) || bytes.length !== SEED_BYTES) return [];
    return [createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: 'der', type: 'spki' })];
  });
  const message = signed(id, timestamp, body);
  return given.some((signature) => {
    const bytes = Buffer.from(signature.slice('v1a,'.length), 'base64');
    return keys.some((key) => verify(null, message, key, bytes));
  });
}

const SECRET_PREFIX = 'whsec_';
/** The most by which `webhook-timestamp` may differ from now, as in the
 *  `standardwebhooks` package. */
const TOLERANCE_SECONDS = 5 * 60;

/** `whsec_` + base64 of 32 random bytes. */
export const newWebhookSecret = (clock: Pick<Clock, 'randomBytes'>): string =>
  SECRET_PREFIX + clock.randomBytes(32).toString('base64');

/** The part of a secret that may be shown after its creation: the first 6 and the last
 *  4 characters. */
export const mask = (secret: string): string => `${secret.slice(0, 6)}…${secret.slice(-4)}`;

export interface SignatureHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

/**
 * @param request.id of the event: the same on every attempt
 * @param request.timestampSeconds of the attempt, since the epoch
 * @param request.secrets newest first; a receiver accepts any of them while a rotation lasts
 */
export function signatureHeaders(request: {
  id: string;
  timestampSeconds: number;
  body: Buffer | string;
  secrets: readonly string[];
}): SignatureHeaders {
  const timestamp = String(request.timestampSeconds);
  return {
    'webhook-id': request.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': request.secrets
      .map((secret) => `v1,${macOf(secret, request.id, timestamp, request.body).toString('base64')}`)
      .join(' '),
  };
}

/** The receiver's check: whether a signature is of this secret, and the attempt at most 5 minutes
 *  old or ahead. */
export function verifySignature(request: {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer | string;
  secret: string;
  nowSeconds: number;
}): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(request.nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const expected = macOf(request.secret, id, timestamp, request.body);
  return signatures.split(' ').some((signature) => {
    const given = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : Buffer.alloc(0);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function macOf(secret: string, id: string, timestamp: string, body: Buffer | string): Buffer {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}
