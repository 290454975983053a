/** Kraken's ticker. It reports errors with status 200, and names pairs its own way. One unknown pair spoils the whole answer, so each pair is
 *  requested alone. The answer has no time. */
import { z } from 'zod';
import type { Clock } from '../kit/clock.js';
import { type Ask, decimalText, rateIn, shaped } from './ask.js';
import { BadAnswer, type RateSource, UnknownPair } from './source.js';

export const KRAKEN_URL = 'https://api.kraken.com';

const answerSchema = z.object({
  error: z.array(z.string()).default([]),
  result: z.record(z.string(), z.object({ c: z.array(decimalText).min(1) })).optional(),
});

export function createKraken({ ask, baseUrl, clock }: { ask: Ask; baseUrl: string; clock: Clock }): RateSource {
  return {
    name: 'kraken',
    async quote({ asset, currency }) {
      if (asset.issuer !== null) return null;
      const answer = await ask.json(`${baseUrl}/0/public/Ticker?pair=XLM${currency}`);
      // An answer with an error has another `result`, or none.
      const { error } = shaped(z.object({ error: z.array(z.string()).default([]) }), answer);
      if (error.some((each) => each.includes('Unknown asset pair'))) throw new UnknownPair();
      if (error.length > 0) throw new BadAnswer('an error with status 200');
      const tickers = Object.values(shaped(answerSchema, answer).result ?? {});
      if (tickers.length !== 1) throw new BadAnswer(`${tickers.length} pairs for one`);
      return { rate: rateIn(tickers[0]!.c[0]!), at: clock.now() };
    },
  };
}
