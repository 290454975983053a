/** Horizons as servers of a network's ledger. */

import type { MonotonicClock } from '../../kit/clock.js';
import { endpointOf } from '../endpoint.js';
import { LedgerUnavailable, SourceError } from '../errors.js';
import type { LedgerServer } from '../failover.js';
import type { Requester, Response } from '../request.js';
import { type Answer, createHorizonSource } from './api.js';
import { isObject } from './fields.js';

/** A request that Horizon calls bad will not succeed soon. */
const REFUSED_RETRY_MS = 60_000;

export function horizonServer(
  url: string,
  {
    label,
    passphrase,
    requester,
    monotonic,
  }: { label: string; passphrase: string; requester: Requester; monotonic: MonotonicClock },
): LedgerServer {
  const { headers, urlOf } = endpointOf(url);
  const accepted = { accept: 'application/hal+json, application/json', ...headers };
  return {
    label,
    hasHistories: true,
    connect: (spend, timeoutMs) =>
      createHorizonSource(
        async (path, query) => {
          await spend();
          const startedMs = monotonic.nowMs();
          const response = await requester.send({ url: urlOf(path, query), headers: accepted }, timeoutMs);
          if (response.status === 400) throw new LedgerUnavailable(`${label}: refused the request`, REFUSED_RETRY_MS);
          return toAnswer(response, monotonic.nowMs() - startedMs);
        },
        async (path, form) => {
          await spend();
          const asForm = { ...accepted, 'content-type': 'application/x-www-form-urlencoded' };
          const body = new URLSearchParams(form).toString();
          return requester.send({ url: urlOf(path), headers: asForm, body }, timeoutMs);
        },
        passphrase,
        label,
      ),
  };
}

/** Only a 429 may ask for a longer pause: a proxy's guess at the end of an outage must not prolong it. */
const LONGEST_PAUSE_MS = 60_000;

/** @param tookMs duration of the request. @throws SourceError for an answer that no working Horizon gives */
function toAnswer(response: Response, tookMs: number): Answer {
  const { status, body, retryAfterMs, latestLedger } = response;
  // A proxy's 404 or 200 may be HTML: only JSON counts as Horizon's answer.
  if (isObject(body)) {
    if (status === 200) return { status, body, latestLedger, tookMs };
    if (status === 404 || status === 410) return { status, body: null, latestLedger };
  }
  const pauseMs = retryAfterMs !== null && status !== 429 ? Math.min(retryAfterMs, LONGEST_PAUSE_MS) : retryAfterMs;
  throw new SourceError(`status ${status}${isObject(body) ? '' : ' without JSON'}`, {
    retryAfterMs: pauseMs,
    kind: status === 504 ? 'slow' : 'server',
  });
}
