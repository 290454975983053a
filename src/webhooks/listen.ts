/** The receiver of `webhook listen`: a small HTTPS server on the developer's machine that verifies
 *  every event before showing or forwarding it. */
import { X509Certificate } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { type WebhookPayload, webhookPayloadSchema } from '../../contracts/events.js';
import { verifySignature, verifyWithKeys } from '../domain/signature.js';
import type { Clock } from '../kit/clock.js';

// The certificate of `webhook listen`: self-signed, for loopback names only, made once per data
// directory, where the service reads it.

const DAY_MS = 86_400_000;
const VALID_MS = 365 * DAY_MS;
/** A certificate that ends sooner is replaced. */
const LEAST_LEFT_MS = DAY_MS;

export interface Certificate {
  /** PEM. */
  cert: string;
  /** PEM. */
  key: string;
}

/** @param path of the file for both, readable by its owner only; rewritten when missing, unusable
 *  or about to expire */
export async function openDevelopmentCertificate(path: string, clock: Clock): Promise<Certificate> {
  const found = await readFile(path, 'utf8').catch(() => '');
  const cert = found.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/)?.[0];
  const key = found.match(/-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/)?.[0];
  if (cert && key && Date.parse(new X509Certificate(cert).validTo) - clock.nowMs() > LEAST_LEFT_MS)
    return { cert, key };

  const now = clock.nowMs();
  const made = await generate([{ name: 'commonName', value: 'stellar-collect webhook listen' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + VALID_MS),
    extensions: [
      // Not an authority: the service trusts nothing that this key signs.
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  });
  const aside = `${path}.${process.pid}`;
  await writeFile(aside, `${made.cert.trim()}\n${made.private.trim()}\n`, { mode: 0o600 });
  await rename(aside, path);
  return { cert: made.cert, key: made.private };
}

const MAX_BODY_BYTES = 1_000_000;
/** The service's default time-out. */
const FORWARD_TIMEOUT_MS = 15_000;

/** A request: an event with the status of its answer, or the reason for its refusal. */
export type Heard = { event: WebhookPayload; status: number } | { refused: string };

interface Listener {
  /** The address to register. */
  url: string;
  close(): Promise<void>;
}

/**
 * @param options.port 0 picks a free one
 * @param options.secret of the registered webhook; null before it is registered, when requests
 * are refused
 * @param options.forward receives genuine requests unchanged; its answer is passed back, or 502
 * when there is none
 * @throws Error with code EADDRINUSE when the port is taken
 */
export async function listenForWebhooks(options: {
  certificate: Certificate;
  port: number;
  secret: () => string | null;
  /** The service's published keys; null when they cannot be read. */
  publicKeys: () => Promise<readonly string[] | null>;
  forward?: string | null;
  onHeard: (heard: Heard) => void;
  clock: Clock;
}): Promise<Listener> {
  const { certificate, port, secret, publicKeys, forward = null, onHeard, clock } = options;
  const server = createServer(certificate, (request, response) => {
    void hear(request, { secret: secret(), publicKeys, forward, clock }).then((heard) => {
      response.writeHead('event' in heard ? heard.status : 400).end();
      onHeard(heard);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function hear(
  request: IncomingMessage,
  deps: {
    secret: string | null;
    publicKeys: () => Promise<readonly string[] | null>;
    forward: string | null;
    clock: Clock;
  },
): Promise<Heard> {
  const { secret, publicKeys, forward, clock } = deps;
  if (request.method !== 'POST') return { refused: `${request.method} instead of POST` };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) return { refused: 'body too large' };
      chunks.push(chunk);
    }
  } catch {
    return { refused: 'request cut' };
  }
  const body = Buffer.concat(chunks);
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
  if (secret === null || !verifySignature({ headers: request.headers, body, secret, nowSeconds })) {
    return { refused: 'signature not valid' };
  }
  const keys = await publicKeys();
  if (keys === null) return { refused: 'the published keys cannot be read' };
  if (!verifyWithKeys(request.headers, body, keys)) return { refused: 'signature v1a not valid by the published keys' };
  const event = webhookPayloadSchema.safeParse(JSON.parse(body.toString()));
  if (!event.success) return { refused: 'signed, but no event of this version' };
  return { event: event.data, status: forward === null ? 204 : await passOn(request, body, forward) };
}

async function passOn({ headers }: IncomingMessage, body: Buffer, forward: string): Promise<number> {
  const passed = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('webhook-'));
  try {
    const answer = await fetch(forward, {
      method: 'POST',
      headers: Object.fromEntries(passed) as Record<string, string>,
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    });
    await answer.body?.cancel();
    return answer.status;
  } catch {
    return 502;
  }
}
