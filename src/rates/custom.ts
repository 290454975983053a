/** The operator's own source: `GET URL?base=XLM&issuer=&quote=EUR` → `{"rate": "0.25", "at": "2026-11-21T09:30:00Z"}`. */
import { z } from 'zod';
import { type Ask, decimalText, rateIn, shaped } from './ask.js';
import type { RateSource } from './source.js';

const answerSchema = z.object({ rate: decimalText, at: z.iso.datetime({ offset: true }) });

export function createCustom({ ask, baseUrl }: { ask: Ask; baseUrl: string }): RateSource {
  return {
    name: 'custom',
    async quote({ asset, currency }) {
      const url = new URL(baseUrl);
      url.searchParams.set('base', asset.code);
      url.searchParams.set('issuer', asset.issuer ?? '');
      url.searchParams.set('quote', currency);
      const { rate, at } = shaped(answerSchema, await ask.json(url.href));
      return { rate: rateIn(rate), at: new Date(at) };
    },
  };
}
