/** The room's entrance: the worth of assets in currencies, by the sources' answers and by an account's own rates. */
export { type Ask, createAsk } from './ask.js';
export {
  type Came,
  type CurrentRate,
  createRateBook,
  type LoadRates,
  type RateBook,
  type RatesOf,
  type WorthOf,
} from './book.js';
export { COINBASE_URL, createCoinbase } from './coinbase.js';
export { COINGECKO_URL, createCoingecko } from './coingecko.js';
export { createCustom } from './custom.js';
export { createDemoSource } from './demo.js';
export { createEcb, ECB_URL } from './ecb.js';
export { createKraken, KRAKEN_URL } from './kraken.js';
export { createLedgerMarket, type Market } from './ledger-market.js';
export { createRateService } from './own.js';
export { createOwnRateStore } from './own-rates.js';
export { quoteOf } from './quote.js';
export { createRateAnswerStore } from './rate-answers.js';
export { createRateNeeds, type Priced, type RateNeeds } from './rate-needs.js';
export { createRatePairStore, type RatePairDoc, type RatePairStore } from './rate-pairs.js';
export { createRateSampleStore } from './rate-samples.js';
export { createRemember } from './remember.js';
export { createSampler, type NeedRate, type Sampler } from './sampler.js';
export type { CrossSource, RateSource } from './source.js';
export { createTake } from './take.js';
