/** HTTP requests, bounded in time and size including the body. Transport failures are
 *  `SourceError`s; any status is an answer. */
import { Agent, fetch as undiciFetch } from 'undici';
import type { Clock } from '../kit/clock.js';
import { SourceError } from './source.js';

// A server's URL: its label, and the addressing of requests. Its path, query and user info may
// hold keys.

/** Hosts, numbered by their place in the list where several URLs share one. */
export function labelsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.filter((each) => each === host).length > 1 ? `${host} (${index + 1})` : host,
  );
}

interface Endpoint {
  /** Basic authentication if the URL has user info. */
  headers: Record<string, string>;
  /** @param path begins with `/` and is appended to the URL's own path */
  urlOf(path: string, query?: Record<string, string>): string;
}

export function endpointOf(text: string): Endpoint {
  const base = new URL(text);
  const credentials = [base.username, base.password].map(decodeURIComponent).join(':');
  return {
    headers: credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    urlOf(path, query = {}) {
      const url = new URL(base);
      url.username = '';
      url.password = '';
      url.hash = '';
      url.pathname = base.pathname.replace(/\/+$/, '') + path;
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url.href;
    },
  };
}

// The request budget of a network's ledger. Every request names its purpose, and each purpose has a
// share of the budget.

/** The purpose of requests. Those caused by outsiders or tenants also name on whose behalf, and
 *  take turns within their share. `by` is a client address or an account's id. */
export type Asker =
  | { purpose: 'watching' | 'parked' | 'audits' | 'proofs' }
  | { purpose: 'pages' | 'payers' | 'tenants'; by: string };

/** Asked before each request. */
export interface RequestBudget {
  /** @returns milliseconds to wait before asking again; 0 when one request is granted */
  take(): Promise<number>;
  /** Milliseconds after which a budget that is used up grants one more request. */
  readonly intervalMs: number;
}

/** The budget of one network. */
export interface LedgerBudget {
  /** The budgets that must grant each request of a session, in this order. */
  allowancesOf(asker: Asker): readonly RequestBudget[];
  /** Requests that others have sent since the last call, as the watcher's requests found the
   *  shared budget. */
  othersSpent(): number;
}

/** The used part of `fetch`, which tests may replace. */
export type Fetch = (
  url: string,
  init: {
    method: 'GET' | 'POST';
    headers: Record<string, string>;
    body?: string;
    redirect: 'manual';
    signal: AbortSignal;
  },
) => Promise<{
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array> | null;
}>;

export interface Response {
  status: number;
  /** The result of `parse`: by default the JSON, undefined for a body that is none. */
  body: unknown;
  /** The delay of `Retry-After`; null without it. */
  retryAfterMs: number | null;
  /** The header `Latest-Ledger`: the newest ledger behind the answer; null without it. */
  latestLedger: number | null;
}

export interface Requester {
  /** Sends a GET, or a POST if there is a body. @throws SourceError */
  send(request: { url: string; headers: Record<string, string>; body?: string }, timeoutMs: number): Promise<Response>;
  /** Aborts requests in flight. */
  close(): Promise<void>;
}

/** 200 joined records take about 1 MB; with large Soroban results up to ten times that. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** @param options.fetch replaces undici's
 *  @param options.parse replaces `JSON.parse`; undefined for an unreadable body */
export function createRequester(
  clock: Clock,
  options: {
    fetch?: Fetch | undefined;
    maxBodyBytes?: number | undefined;
    parse?: ((body: Buffer) => unknown) | undefined;
  } = {},
): Requester {
  const { fetch, maxBodyBytes = MAX_BODY_BYTES, parse = parseJson } = options;
  const agent = fetch ? null : new Agent({ connections: 16 });
  const send: Fetch = fetch ?? ((url, init) => undiciFetch(url, { ...init, dispatcher: agent! }));
  const inFlight = new Set<AbortController>();
  let closed = false;

  return {
    async send({ url, headers, body }, timeoutMs) {
      if (closed) throw new SourceError('closed');
      const request = new AbortController();
      const done = new AbortController();
      inFlight.add(request);
      void clock.sleep(timeoutMs, done.signal).then(() => request.abort());
      try {
        const response = await send(url, {
          ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
          headers,
          redirect: 'manual',
          signal: request.signal,
        });
        const answer = parse(await readBody(response.body, maxBodyBytes));
        return {
          status: response.status,
          body: answer,
          retryAfterMs: retryAfterMs(response.headers.get('retry-after'), clock),
          latestLedger: ledgerNumber(response.headers.get('latest-ledger')),
        };
      } catch (error) {
        if (error instanceof SourceError) throw error;
        if (closed) throw new SourceError('closed');
        if (request.signal.aborted) throw new SourceError(`no answer within ${timeoutMs} ms`, { kind: 'slow' });
        throw new SourceError(transportFault(error));
      } finally {
        inFlight.delete(request);
        done.abort();
      }
    },
    async close() {
      closed = true;
      for (const request of inFlight) request.abort();
      await agent?.destroy();
    },
  };
}

async function readBody(body: AsyncIterable<Uint8Array> | null, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new SourceError(`an answer of more than ${maxBytes} bytes`, { kind: 'too_large' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

const ledgerNumber = (header: string | null): number | null =>
  header !== null && /^[1-9]\d{0,9}$/.test(header) ? Number(header) : null;

/** Reads seconds or an HTTP date. */
function retryAfterMs(header: string | null, clock: Clock): number | null {
  if (header === null) return null;
  const ms = /^\s*\d{1,9}\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - clock.nowMs();
  return Number.isNaN(ms) ? null : Math.max(ms, 0);
}

/** The network error's code, such as ECONNRESET; messages may hold the URL. */
function transportFault(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return `connection failed (${code})`;
  }
  return 'connection failed';
}
