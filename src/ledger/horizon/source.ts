/** Horizons as servers of a network's ledger. */

import type { MonotonicClock } from '../../clock.js';
import { endpointOf } from '../endpoint.js';
import { LedgerUnavailable } from '../errors.js';
import type { LedgerServer } from '../failover.js';
import type { Requester } from '../request.js';
import { createHorizonSource, toAnswer } from './api.js';

/** A request that Horizon calls bad will not get better soon. */
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
