/** Invented constant rates for a service that watches LOCAL only and has no sources: its assets are worth nothing. */

import { crossRate, parseRate } from '../domain/rate.js';
import type { Clock } from '../kit/clock.js';
import type { RateSource } from './source.js';

/** The worth of one XLM; a unit of any other asset is worth four times as much. */
const RATES: Readonly<Record<string, string>> = { EUR: '0.25', USD: '0.28', GBP: '0.22', CHF: '0.24', JPY: '42' };
const OTHER = '1';

export const createDemoSource = (clock: Clock): RateSource => ({
  name: 'demo',
  async quote({ currency, asset }) {
    const rate = parseRate(RATES[currency] ?? OTHER)!;
    return { rate: asset.issuer === null ? rate : crossRate(rate, parseRate('4')!)!, at: clock.now() };
  },
});
