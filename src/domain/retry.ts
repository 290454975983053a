/** Decides what follows an attempt. Pure, so that the whole schedule can be read and
 *  tested here. */

const HOUR_MS = 3_600_000;
/** The longest wait, also for a `Retry-After`. */
export const MAX_WAIT_MS = 24 * HOUR_MS;
/** A webhook is paused after at least this many failed attempts in a row, over at least
 *  this long. */
const PAUSE_AFTER_ATTEMPTS = 10;
const PAUSE_AFTER_MS = 5 * 24 * HOUR_MS;
const JITTER = 0.1;

export interface RetrySettings {
  retryBaseMs: number;
  maxAttempts: number;
}

/** The result of an attempt. `error` is null for a 2xx status, otherwise a short reason. */
export interface AttemptResult {
  responseStatus: number | null;
  error: string | null;
  /** The wait that the endpoint asked for with `Retry-After`. */
  retryAfterMs: number | null;
}

/** `gone`: the endpoint wants no more deliveries (410); this one waits until its webhook is made
 *  ACTIVE again. */
type AttemptOutcome =
  | { status: 'DELIVERED'; nextAttemptAt: null; gone: false }
  | { status: 'FAILED'; nextAttemptAt: null; gone: false }
  | { status: 'PENDING'; nextAttemptAt: Date; gone: boolean };

/** The wait before retry `n` (from 1): `base·4^(n-1)`, ±10 %, at most 24 h.
 *  @param random in [0, 1) */
export function retryDelayMs(n: number, baseMs: number, random: number): number {
  const delay = Math.min(baseMs * 4 ** (n - 1), MAX_WAIT_MS);
  const shortest = delay * (1 - JITTER);
  const longest = Math.min(delay * (1 + JITTER), MAX_WAIT_MS);
  return Math.round(shortest + (longest - shortest) * random);
}

/** @param attempt number of this attempt, from 1. @param nowMs when it ended */
export function judgeAttempt(
  answer: AttemptResult,
  attempt: number,
  nowMs: number,
  random: number,
  settings: RetrySettings,
): AttemptOutcome {
  if (answer.error === null) return { status: 'DELIVERED', nextAttemptAt: null, gone: false };
  const gone = answer.responseStatus === 410;
  if (attempt >= settings.maxAttempts && !gone) return { status: 'FAILED', nextAttemptAt: null, gone: false };
  const own = retryDelayMs(attempt, settings.retryBaseMs, random);
  const asked = Math.min(answer.retryAfterMs ?? 0, MAX_WAIT_MS);
  return { status: 'PENDING', nextAttemptAt: new Date(nowMs + Math.max(own, asked)), gone };
}

/** Consecutive failed attempts at a webhook, without a delivery in between. */
export interface FailureStreak {
  /** When the first of them began. */
  since: Date;
  attempts: number;
}

/** The streak with one more failed attempt. @param at when it began */
export const withFailure = (streak: FailureStreak | null, at: Date): FailureStreak =>
  streak ? { since: streak.since, attempts: streak.attempts + 1 } : { since: at, attempts: 1 };

/** Whether a webhook has failed often and long enough to be paused. @param lastAt when the streak's
 *  last attempt began */
export const isTimeToPause = ({ since, attempts }: FailureStreak, lastAt: Date): boolean =>
  attempts >= PAUSE_AFTER_ATTEMPTS && lastAt.getTime() - since.getTime() >= PAUSE_AFTER_MS;

/** Milliseconds from now for a `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3); null for
 *  any other text. */
export function parseRetryAfter(value: string, nowMs: number): number | null {
  const text = value.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = /^[A-Z][a-z]{2,}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
