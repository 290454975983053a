/** Signatures of Standard Webhooks 1.0: `v1,` + base64 of HMAC-SHA256 over `id.timestamp.body`, one for each valid secret. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../kit/clock.js';

const SECRET_PREFIX = 'whsec_';
/** The most by which `webhook-timestamp` may differ from now, as in the `standardwebhooks` package. */
const TOLERANCE_SECONDS = 5 * 60;

/** `whsec_` + base64 of 32 random bytes. */
export const newWebhookSecret = (clock: Pick<Clock, 'randomBytes'>): string =>
  SECRET_PREFIX + clock.randomBytes(32).toString('base64');

/** The part of a secret that may be shown after its creation: the first 6 and the last 4 characters. */
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
      .map((secret) => `v1,${sign(secret, request.id, timestamp, request.body).toString('base64')}`)
      .join(' '),
  };
}

/** The receiver's check: whether a signature is of this secret, and the attempt at most 5 minutes old or ahead. */
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
  const expected = sign(request.secret, id, timestamp, request.body);
  return signatures.split(' ').some((signature) => {
    const given = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : Buffer.alloc(0);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function sign(secret: string, id: string, timestamp: string, body: Buffer | string): Buffer {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}
