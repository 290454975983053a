/** Coinbase's spot price, which has no fee, unlike the buy price. The answer has no time. */
import { z } from 'zod';
import type { Clock } from '../kit/clock.js';
import { type Ask, decimalText, rateIn, shaped } from './ask.js';
import { BadAnswer, type RateSource, UnknownPair } from './source.js';

export const COINBASE_URL = 'https://api.coinbase.com';

const answerSchema = z.object({ data: z.object({ amount: decimalText, base: z.string(), currency: z.string() }) });

export function createCoinbase({ ask, baseUrl, clock }: { ask: Ask; baseUrl: string; clock: Clock }): RateSource {
  return {
    name: 'coinbase',
    async quote({ asset, currency }) {
      if (asset.issuer !== null) return null;
      const answer = await ask.json(`${baseUrl}/v2/prices/XLM-${currency}/spot`).catch((error: unknown) => {
        throw error instanceof BadAnswer && error.status === 404 ? new UnknownPair() : error;
      });
      const { data } = shaped(answerSchema, answer);
      if (data.base !== 'XLM' || data.currency !== currency) throw new BadAnswer('another pair');
      return { rate: rateIn(data.amount), at: clock.now() };
    },
  };
}
