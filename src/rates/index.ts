/** The room's entrance: the worth of assets in currencies, by the sources' answers and by an
 *  account's own rates. */

export {
  type Came,
  type CurrentRate,
  createRateBook,
  type LoadRates,
  quoteOf,
  type RateBook,
  type RatesOf,
  type WorthOf,
} from './book.js';
export { createOwnRateStore, createRateService } from './own.js';
export { createRatePairStore, type RatePairDoc, type RatePairStore } from './rate-pairs.js';
export { createRateSampleStore } from './rate-samples.js';
export { createRateAnswerStore, createRemember } from './remember.js';
export { createSampler, type NeedRate, type Sampler } from './sampler.js';
export type { CrossSource, RateSource } from './sources.js';
export {
  type Ask,
  COINBASE_URL,
  COINGECKO_URL,
  createAsk,
  createCoinbase,
  createCoingecko,
  createCustom,
  createDemoSource,
  createEcb,
  createKraken,
  createLedgerMarket,
  ECB_URL,
  KRAKEN_URL,
  type Market,
} from './sources.js';
export { createRateNeeds, createTake, type Priced, type RateNeeds } from './take.js';
