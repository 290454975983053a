/** Verifies webhooks (Standard Webhooks 1.0) with WebCrypto: signatures by the webhook's secret
 *  (`v1`) or by the service's published keys (`v1a`). */
import type { WebhookPayload } from './contract.js';

/** Headers of `fetch` or of Node. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type VerifyWith = {
  /** The largest distance of `webhook-timestamp` from now; 300 by default. */
  toleranceSeconds?: number;
} & (
  | {
      /** `whsec_…` of the webhook; several during a rotation. */
      secret: string | readonly string[];
    }
  | {
      /** `whpk_…`, or the unchanged `keys` of `/.well-known/webhook-keys.json`. */
      publicKeys: string | ReadonlyArray<string | { publicKey: string }>;
    }
);

/** The request is no genuine delivery, or its timestamp is too far from now: answer 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

type Bytes = Uint8Array<ArrayBuffer>;
type Verify = (signature: Bytes, signed: Bytes) => Promise<boolean>;

const TOLERANCE_SECONDS = 300;
/** A delivery has at most one for each secret of the last 24 h and for each published key. */
const MAX_SIGNATURES = 64;

/**
 * Verifies a delivery of the service and returns its event. Delivery is at least once: store the
 * `id` of each handled event.
 * @param body the raw body, not parsed and serialized again
 * @param headers of the request; names in any case
 * @throws WebhookVerificationError when no signature fits, a header is missing, or the timestamp is
 * too far from now
 * @throws TypeError when the secret or a public key is malformed
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  options: VerifyWith,
): Promise<WebhookPayload> {
  const { toleranceSeconds = TOLERANCE_SECONDS } = options;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ').slice(0, MAX_SIGNATURES);
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError('webhook-timestamp is not a number of seconds.');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError(`webhook-timestamp is more than ${toleranceSeconds} s from now.`);
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const [version, verifiers] =
    'secret' in options
      ? (['v1', await ofSecrets(options.secret)] as const)
      : (['v1a', await ofKeys(options.publicKeys)] as const);
  for (const text of signatures) {
    const [given, encoded = ''] = text.split(',', 2);
    const signature = given === version ? decoded(encoded) : null;
    if (!signature) continue;
    for (const verify of verifiers)
      if (await verify(signature, signed)) return JSON.parse(new TextDecoder().decode(bytes));
  }
  throw new WebhookVerificationError(`No ${version} signature of the request is genuine.`);
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`The header ${name} is missing.`);
}

const isHeaders = (headers: WebhookHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === 'function';

async function ofSecrets(secrets: string | readonly string[]): Promise<Verify[]> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return Promise.all(
    [secrets].flat().map(async (secret) => {
      const bytes = decoded(secret.replace(/^whsec_/, ''));
      if (!bytes || bytes.length === 0) throw new TypeError('A secret is `whsec_` and base64.');
      const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
      return (signature, signed) => crypto.subtle.verify(algorithm, key, signature, signed);
    }),
  );
}

async function ofKeys(keys: string | ReadonlyArray<string | { publicKey: string }>): Promise<Verify[]> {
  const algorithm = { name: 'Ed25519' };
  return Promise.all(
    [keys].flat().map(async (each) => {
      const text = typeof each === 'string' ? each : each.publicKey;
      const bytes = text.startsWith('whpk_') ? decoded(text.slice('whpk_'.length)) : null;
      if (bytes?.length !== 32) throw new TypeError('A public key is `whpk_` and the base64 of 32 bytes.');
      const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
      return (signature, signed) => crypto.subtle.verify(algorithm, key, signature, signed);
    }),
  );
}

/** Null when the text is not base64. */
function decoded(base64: string): Bytes | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(head: Uint8Array, tail: Uint8Array): Bytes {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}
