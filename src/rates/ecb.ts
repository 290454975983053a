/** The European Central Bank's reference rates, published about 16:00 CET on working days, so that they are days old over Easter. They only cross
 *  currencies. */

import { rateBetween, readRate } from '../domain/rate.js';
import type { Clock } from '../kit/clock.js';
import { type Ask, rateIn } from './ask.js';
import type { Remember } from './remember.js';
import { BadAnswer, type CrossSource } from './source.js';

export const ECB_URL = 'https://www.ecb.europa.eu';
const EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** The oldest day whose rates count. */
const OLDEST_DAYS = 5;

export function createEcb(deps: { ask: Ask; baseUrl: string; remember: Remember; clock: Clock }): CrossSource {
  const { ask, baseUrl, remember, clock } = deps;
  return {
    name: 'ecb',
    async cross(from, to) {
      const { quotes } = await remember('ecb', { everyMs: EVERY_MS, wanted: [] }, async () =>
        parseDay(await ask.text(`${baseUrl}/stats/eurofxref/eurofxref-daily.xml`)),
      );
      const euros = (currency: string) => quotes.find((each) => each.currency === currency);
      const [one, other] = [euros(from), euros(to)];
      if (!one || !other) return null;
      const today = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
      if (today - one.at.getTime() > OLDEST_DAYS * DAY_MS) throw new BadAnswer(`older than ${OLDEST_DAYS} days`);
      const rate = rateBetween(rateIn(one.rate), rateIn(other.rate));
      return rate && { rate, at: one.at };
    },
  };
}

const ELEMENT = /<(?:\w+:)?Cube\b([^<>]*)>/g;
const attribute = (attributes: string, name: string) =>
  new RegExp(`\\b${name}\\s*=\\s*(["'])([^"'<>]*)\\1`).exec(attributes)?.[2];

/** The outer Cube has the day, each inner one a currency and its rate: the amount that is worth one euro.
 *  @returns the euro as well. @throws BadAnswer */
export function parseDay(xml: string): { currency: string; rate: string; at: Date }[] {
  const cubes = [...xml.matchAll(ELEMENT)].map(([, attributes = '']) => attributes);
  const day = cubes.map((each) => attribute(each, 'time')).find((time) => time !== undefined);
  const at = new Date(/^\d{4}-\d\d-\d\d$/.test(day ?? '') ? `${day}T00:00:00Z` : Number.NaN);
  const quotes = cubes.flatMap((each) => {
    const [currency, rate] = [attribute(each, 'currency'), attribute(each, 'rate')];
    if (!currency || !rate || !/^[A-Z]{3}$/.test(currency) || !readRate(rate)) return [];
    return [{ currency, rate, at }];
  });
  if (Number.isNaN(at.getTime()) || quotes.length === 0) throw new BadAnswer('no rates of a day');
  return [{ currency: 'EUR', rate: '1', at }, ...quotes];
}
