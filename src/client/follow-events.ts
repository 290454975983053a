/** An account's events in sequence and without holes, across broken connections and restarts of
 *  the service. */
import { createParser } from 'eventsource-parser';
import type { ErrorBody, Event, WebhookPayload } from './contract.js';

export interface FollowOptions {
  /** Base URL of the service, such as `http://127.0.0.1:3000`. */
  url: string;
  /** `sk_…`; scope READ suffices. */
  apiKey: string;
  /** `sequence` of the last handled event; the iteration begins with the next one. 0 begins with
   *  the account's first event, undefined with the first event from now on. */
  after?: number;
  /** Ends the iteration without an error. */
  signal?: AbortSignal;
  /** Defaults to the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** An event of the stream, in the shape of a webhook's body. */
export type StreamedEvent = WebhookPayload & { sequence: number };

/** The service refuses the stream: the key is unknown, revoked or expired, or the request
 *  is invalid. */
export class StreamRefusedError extends Error {
  override readonly name = 'StreamRefusedError';
  constructor(
    readonly status: number,
    readonly error: ErrorBody | null,
  ) {
    super(error?.message ?? `The service answered ${status}.`);
  }
}

/** Longer than the service is ever silent: 30 s. */
const SILENCE_MS = 45_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Follows an account's events by `GET /events/stream`, and reconnects when the connection breaks or
 * falls silent. Events are read no faster than the caller takes them. Store each `sequence`
 * together with the effects of its event, and pass it as `after` the next time: no event is missed,
 * and none is handled twice.
 * @throws StreamRefusedError when the service refuses the stream, possibly later, for instance once
 * the key is revoked
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal } = options;
  let last = options.after ?? null;
  for (let failures = 0; !signal?.aborted; failures += 1) {
    let pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    try {
      last ??= await newestSequence(options);
      for await (const event of connection(options, last)) {
        if (event.sequence <= last) continue;
        last = event.sequence;
        failures = 0;
        yield event;
      }
      pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      if (error instanceof StreamRefusedError) throw error;
      if (error instanceof Overloaded) pauseMs = Math.max(pauseMs, error.waitMs);
    }
    // Spread, so that readers do not all reconnect at once.
    await pause(pauseMs * (0.5 + Math.random() / 2), signal);
  }
}

/** The service may be asked again after `waitMs`. */
class Overloaded extends Error {
  constructor(readonly waitMs: number) {
    super('overloaded');
  }
}

/** Where to begin without `after`: a break before the first event would otherwise lose the
 *  events of that time. */
async function newestSequence(options: FollowOptions): Promise<number> {
  const { body } = await ask(options, '/events?pageSize=1', AbortSignal.timeout(SILENCE_MS));
  const { data } = JSON.parse(await new Response(body).text()) as { data: Event[] };
  return data[0]?.sequence ?? 0;
}

async function* connection(options: FollowOptions, after: number): AsyncGenerator<StreamedEvent> {
  const silent = new AbortController();
  const soon = () => setTimeout(() => silent.abort(new Error('silent')), SILENCE_MS);
  let timer = soon();
  const events: StreamedEvent[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data)) });
  const decoder = new TextDecoder();
  try {
    const { body } = await ask(options, `/events/stream?after=${after}`, silent.signal);
    const reader = body!.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
      timer = soon();
    }
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

async function ask(options: FollowOptions, path: string, end: AbortSignal): Promise<Response> {
  const { url, apiKey, signal, fetch = globalThis.fetch } = options;
  const answer = await fetch(`${url.replace(/\/+$/, '')}/api/v1${path}`, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: signal ? AbortSignal.any([signal, end]) : end,
  });
  if (answer.ok && answer.body) return answer;
  const text = await answer.text();
  if (answer.status === 429 || answer.status >= 500 || answer.status < 400) {
    throw new Overloaded(Number(answer.headers.get('retry-after') ?? 0) * 1000 || 0);
  }
  throw new StreamRefusedError(answer.status, errorIn(text));
}

function errorIn(text: string): ErrorBody | null {
  try {
    return (JSON.parse(text) as { error?: ErrorBody }).error ?? null;
  } catch {
    return null;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
