/** Requests to a source of rates: bounded in time and size, never redirected; numbers are kept as written. */
import { z } from 'zod';
import { type Rate, readRate } from '../domain/rate.js';
import type { Clock } from '../kit/clock.js';
import { createRequester, type Fetch } from '../ledger/request.js';
import { BadAnswer } from './source.js';

/** A day of the European Central Bank takes 2 kB, a thousand currencies of CoinGecko 40 kB. */
const MAX_BODY_BYTES = 256 * 1024;
/** Callers wait for the first sample of a pair. */
const TIMEOUT_MS = 4000;
/** Some servers refuse clients without one. */
const USER_AGENT = 'stellar-collect';

export interface Ask {
  /** @throws SourceError, BadAnswer for any status but 200 */
  text(url: string, headers?: Record<string, string>): Promise<string>;
  /** The answer's JSON, with numbers as the text that was written. @throws as `text`, BadAnswer for invalid JSON */
  json(url: string, headers?: Record<string, string>): Promise<unknown>;
  close(): Promise<void>;
}

/** @param fetch replaces undici's */
export function createAsk(clock: Clock, fetch?: Fetch): Ask {
  const requester = createRequester(clock, {
    fetch,
    maxBodyBytes: MAX_BODY_BYTES,
    parse: (body) => body.toString('utf8'),
  });
  async function text(url: string, headers: Record<string, string> = {}): Promise<string> {
    const request = { url, headers: { 'user-agent': USER_AGENT, ...headers } };
    const { status, body } = await requester.send(request, TIMEOUT_MS);
    if (status !== 200) throw new BadAnswer(`status ${status}`, status);
    return body as string;
  }
  return {
    text,
    json: async (url, headers) => parseJson(await text(url, { accept: 'application/json', ...headers })),
    close: () => requester.close(),
  };
}

/** A string, which stays unchanged, or a number. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON with numbers as text, because a double loses digits. @throws BadAnswer */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(STRING_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`)));
  } catch {
    throw new BadAnswer('no JSON');
  }
}

/** @throws BadAnswer for an answer of another form */
export function shaped<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) throw new BadAnswer('answer of an unexpected form');
  return parsed.data;
}

/** @throws BadAnswer for anything but a number greater than 0 */
export function rateIn(text: string): Rate {
  const rate = readRate(text);
  if (!rate) throw new BadAnswer('no rate');
  return rate;
}

/** Seconds since the epoch, as text. @throws BadAnswer */
export function secondsIn(text: string): Date {
  if (!/^\d{9,11}$/.test(text)) throw new BadAnswer('no time');
  return new Date(Number(text) * 1000);
}

export const decimalText = z.string().max(100);
