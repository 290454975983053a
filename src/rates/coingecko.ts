/** CoinGecko's simple price, which needs a key. The demo plan allows 10,000 requests a month: one request every 300 s covers all currencies. */
import { z } from 'zod';
import { type Ask, decimalText, rateIn, secondsIn, shaped } from './ask.js';
import type { Remember } from './remember.js';
import { BadAnswer, type RateSource, UnknownPair } from './source.js';

export const COINGECKO_URL = 'https://api.coingecko.com';
const EVERY_MS = 300_000;

const answerSchema = z.object({ stellar: z.record(z.string(), decimalText) });

export function createCoingecko(deps: {
  ask: Ask;
  baseUrl: string;
  apiKey: string;
  remember: Remember;
  /** The currencies of the pairs in use. */
  currencies: () => Promise<readonly string[]>;
}): RateSource {
  const { ask, baseUrl, apiKey, remember, currencies } = deps;

  async function read(wanted: readonly string[]) {
    const all = wanted.map((currency) => currency.toLowerCase()).join(',');
    const query = `ids=stellar&vs_currencies=${all}&include_last_updated_at=true&precision=full`;
    const url = `${baseUrl}/api/v3/simple/price?${query}`;
    const { stellar } = shaped(answerSchema, await ask.json(url, { 'x-cg-demo-api-key': apiKey }));
    const { last_updated_at: updatedAt, ...prices } = stellar;
    if (updatedAt === undefined) throw new BadAnswer('no time');
    const at = secondsIn(updatedAt);
    // An invalid rate leaves the others valid.
    return wanted.flatMap((currency) => {
      const price = prices[currency.toLowerCase()];
      return price === undefined ? [] : [{ currency, rate: price, at }];
    });
  }

  return {
    name: 'coingecko',
    async quote({ asset, currency }) {
      if (asset.issuer !== null) return null;
      const wanted = [...new Set([...(await currencies()), currency])].sort();
      const { quotes, isPartial } = await remember('coingecko', { everyMs: EVERY_MS, wanted }, () => read(wanted));
      const found = quotes.find((each) => each.currency === currency);
      if (found) return { rate: rateIn(found.rate), at: found.at };
      // It may know the pair.
      if (isPartial) throw new BadAnswer('no answer lately');
      throw new UnknownPair();
    },
  };
}
