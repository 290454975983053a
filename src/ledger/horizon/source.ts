/** The ledger of a network as its Horizons show it. */
import type { Logger } from 'pino';
import type { Network } from '../../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../../clock.js';
import type { RequestBudget } from '../budget.js';
import { LedgerUnavailable } from '../errors.js';
import { createNetworkLedger, type LedgerServer, type NetworkLedger } from '../network-ledger.js';
import { createHorizonSource, toAnswer } from './api.js';
import { createRequester, type Fetch, type Requester } from './request.js';

export interface HorizonOptions {
  network: Network;
  /** Tried in order; may hold keys in path, query or user info, which are never shown. */
  urls: readonly string[];
  passphrase: string;
  /** Null for no limit. */
  budget: RequestBudget | null;
  clock: Clock;
  /** Pauses go by the time that passed, wherever the clock is set to meanwhile. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Of one request, its body included. Default 10,000. */
  timeoutMs?: number;
  fetch?: Fetch;
}

export type Horizon = NetworkLedger;

/** A request that Horizon calls bad will not get better soon. */
const REFUSED_RETRY_MS = 60_000;

export function createHorizon(options: HorizonOptions): Horizon {
  const { network, urls, passphrase, clock, fetch, log, ...rest } = options;
  const requester = createRequester(clock, fetch);
  return createNetworkLedger({
    ...rest,
    clock,
    log: log.child({ network }),
    servers: horizonServers(urls, passphrase, requester),
    onClose: () => requester.close(),
  });
}

/** @param urls each of one Horizon. */
export function horizonServers(urls: readonly string[], passphrase: string, requester: Requester): LedgerServer[] {
  return labelsOf(urls).map((label, index) => {
    const { headers, urlOf } = addressOf(urls[index]!);
    return {
      label,
      connect: (spend, timeoutMs) =>
        createHorizonSource(
          async (path, query) => {
            await spend();
            const response = await requester.send({ url: urlOf(path, query), headers }, timeoutMs);
            if (response.status === 400) throw new LedgerUnavailable(`${label}: refused the request`, REFUSED_RETRY_MS);
            return toAnswer(response);
          },
          async (path, form) => {
            await spend();
            const asForm = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
            const body = new URLSearchParams(form).toString();
            return requester.send({ url: urlOf(path), headers: asForm, body }, timeoutMs);
          },
          passphrase,
          label,
        ),
    };
  });
}

/** Hosts, with their place in the list where two share one. */
function labelsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.filter((each) => each === host).length > 1 ? `${host} (${index + 1})` : host,
  );
}

function addressOf(text: string) {
  const base = new URL(text);
  const credentials = [base.username, base.password].map(decodeURIComponent).join(':');
  return {
    headers: {
      accept: 'application/hal+json, application/json',
      ...(credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    /** @param path begins with `/`. */
    urlOf(path: string, query: Record<string, string> = {}): string {
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
