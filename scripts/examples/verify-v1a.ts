/** A merchant's endpoint without a secret: it verifies `v1a` signatures with the service's
 *  published keys and Node alone. Put TLS in front of it.
 *
 *  COLLECT_URL=http://127.0.0.1:3000 PORT=4000 npx tsx scripts/examples/verify-v1a.ts */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { WebhookPayload } from '../../src/index.js'; // from 'stellar-collect-client' in your project

const { COLLECT_URL = 'http://127.0.0.1:3000', PORT = '4000' } = process.env;
const TOLERANCE_SECONDS = 300;
/** A rotated key keeps signing for a day, so even hours would do. */
const KEYS_FRESH_MS = 300_000;
const MAX_BODY_BYTES = 1_000_000;
/** Store them in your database: the same event may arrive more than once. */
const handled = new Set<string>();

let known: { keys: KeyObject[]; atMs: number } | null = null;

async function publishedKeys(): Promise<KeyObject[]> {
  if (known && Date.now() - known.atMs < KEYS_FRESH_MS) return known.keys;
  const answer = await fetch(`${COLLECT_URL}/.well-known/webhook-keys.json`);
  if (!answer.ok) throw new Error(`the keys: ${answer.status}`);
  const { keys } = (await answer.json()) as { keys: { publicKey: string }[] };
  known = { keys: keys.map(({ publicKey }) => toKey(publicKey)), atMs: Date.now() };
  return known.keys;
}

/** `whpk_` and the base64 of 32 bytes. */
function toKey(text: string): KeyObject {
  const x = Buffer.from(text.slice('whpk_'.length), 'base64').toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** @param body the raw body */
function isGenuine(body: Buffer, headers: IncomingHttpHeaders, keys: readonly KeyObject[]): boolean {
  const timestamp = String(headers['webhook-timestamp']);
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${timestamp}.`), body]);
  // One for each key during a rotation, beside those of secrets.
  const signatures = String(headers['webhook-signature'])
    .split(' ')
    .filter((each) => each.startsWith('v1a,'))
    .map((each) => Buffer.from(each.slice('v1a,'.length), 'base64'));
  return signatures.some((signature) => keys.some((key) => verify(null, signed, key, signature)));
}

const server = createServer(async (request, response) => {
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) return void response.writeHead(413, { connection: 'close' }).end();
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    if (!isGenuine(body, request.headers, await publishedKeys())) return void response.writeHead(400).end();
    const event = JSON.parse(body.toString()) as WebhookPayload;
    if (!handled.has(event.id) && event.type === 'payment.completed') {
      const { amount, assetCode, id } = event.data.payment;
      console.log(`ship it: ${amount} ${assetCode} arrived (${id})`);
    }
    handled.add(event.id);
    response.writeHead(204).end();
  } catch (error) {
    // The service retries the event.
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening'));
