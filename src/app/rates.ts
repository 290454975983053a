/** The rates, composed: the sources of the settings, and the sampler that asks them. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Pair } from '../domain/rate.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import type { Fetch } from '../ledger/index.js';
import {
  type Ask,
  COINBASE_URL,
  COINGECKO_URL,
  type CrossSource,
  createAsk,
  createCoinbase,
  createCoingecko,
  createCustom,
  createDemoSource,
  createEcb,
  createKraken,
  createLedgerMarket,
  createRemember,
  createSampler,
  createTake,
  ECB_URL,
  KRAKEN_URL,
  type Market,
  type RateSource,
  type Sampler,
} from '../rates/index.js';
import type { SystemStores } from '../stores.js';
import type { Config } from './config.js';
import { requestsPerHourOf } from './ledgers.js';

export interface RatesDeps {
  stores: Pick<SystemStores, 'rateAnswers' | 'ratePairs' | 'rateSamples' | 'requestBudgets'>;
  stamp: (network: Network) => Promise<LedgerStamp>;
  isInUse: (pair: Pair) => Promise<boolean>;
  metrics: { leftOut: (source: string) => void; disagreed: () => void };
  clock: Clock;
  log: Logger;
  /** The built-in ledger's URL; null without one. */
  localUrl: string | null;
  /** To use in place of undici's. */
  fetch?: Fetch;
}

export interface Rates {
  sampler: Sampler;
  close(): Promise<void>;
}

export function createRates(deps: RatesDeps, config: Config): Rates {
  const { stores, stamp, isInUse, metrics, clock, log, fetch } = deps;
  const ask = createAsk(clock, fetch);
  const take = createTake({
    ...sourcesOf({ ...deps, ask }, config),
    pegs: config.rates.pegs,
    maxAgeMs: config.rates.maxAgeMs,
    clock,
    log,
    onLeftOut: metrics.leftOut,
  });
  const sampler = createSampler({
    pairs: stores.ratePairs,
    samples: stores.rateSamples,
    take,
    stamp,
    isInUse,
    intervalMs: config.rates.intervalMs,
    clock,
    log,
    onDisagreed: metrics.disagreed,
  });
  return { sampler, close: () => ask.close() };
}

/** Whether the rates are invented. */
const hasDemoRates = ({ networks, rates }: Pick<Config, 'networks' | 'rates'>): boolean =>
  rates.sources.length === 0 && networks.every((network) => network === 'LOCAL');

function sourcesOf(
  { stores, ask, clock, localUrl }: Pick<RatesDeps, 'stores' | 'clock' | 'localUrl'> & { ask: Ask },
  config: Config,
): { sources: RateSource[]; cross: CrossSource | null } {
  if (hasDemoRates(config)) return { sources: [createDemoSource(clock)], cross: null };
  const remember = createRemember({ answers: stores.rateAnswers, clock });
  const { pegs, coingeckoApiKey } = config.rates;
  const sources: RateSource[] = [];
  let cross: CrossSource | null = null;
  for (const { name, baseUrl } of config.rates.sources) {
    if (name === 'kraken') sources.push(createKraken({ ask, baseUrl: baseUrl ?? KRAKEN_URL, clock }));
    if (name === 'coinbase') sources.push(createCoinbase({ ask, baseUrl: baseUrl ?? COINBASE_URL, clock }));
    if (name === 'coingecko') {
      const currencies = () => stores.ratePairs.currencies();
      const base = { baseUrl: baseUrl ?? COINGECKO_URL, apiKey: coingeckoApiKey! };
      sources.push(createCoingecko({ ask, ...base, remember, currencies }));
    }
    if (name === 'custom') sources.push(createCustom({ ask, baseUrl: baseUrl! }));
    if (name === 'ledger') {
      const marketOf = (network: Network) => marketAt(stores, config, { network, baseUrl, localUrl });
      sources.push(createLedgerMarket({ ask, marketOf, pegs, clock }));
    }
    if (name === 'ecb') cross = createEcb({ ask, baseUrl: baseUrl ?? ECB_URL, remember, clock });
  }
  return { sources, cross };
}

/** Requests to the Horizons of the network are taken from its budget; a server of its own
 *  has none. */
function marketAt(
  { requestBudgets }: Pick<SystemStores, 'requestBudgets'>,
  config: Config,
  { network, baseUrl, localUrl }: { network: Network; baseUrl: string | null; localUrl: string | null },
): Market | null {
  if (baseUrl !== null) return { baseUrl, allowancesOf: () => [] };
  const horizon = config.horizonUrls[network][0] ?? (network === 'LOCAL' ? localUrl : null);
  if (horizon === null) return null;
  const perHour = requestsPerHourOf(network, config);
  const budget = perHour === null ? null : requestBudgets.of(network, perHour);
  const allowancesOf: Market['allowancesOf'] = (by) => budget?.allowancesOf({ purpose: 'tenants', by }) ?? [];
  return { baseUrl: horizon, allowancesOf };
}
