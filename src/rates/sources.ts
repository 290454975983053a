/** The sources of rates. Their answers are untrusted: anything but a rate is a failure, and a
 *  failed source is left out. */

import { z } from 'zod';
import type { Network } from '../../contracts/networks.js';
import { parseAmount } from '../domain/amount.js';
import type { Asset } from '../domain/asset.js';
import type { Peg } from '../domain/parsed-settings.js';
import { crossRate, type Pair, parseRate, type Rate, rateBetween, readRate, toRate } from '../domain/rate.js';
import type { Clock } from '../kit/clock.js';
import { BudgetUsedUp, createRequester, endpointOf, type Fetch, type RequestBudget } from '../ledger/index.js';
import type { Remember } from './remember.js';

// The interface of a source of rates.

export interface Quote {
  rate: Rate;
  /** The source's time, otherwise the time of the answer. */
  at: Date;
}

export interface RateSource {
  /** As in `RATE_SOURCES`. */
  name: string;
  /** Null if the source never has such a pair, so that it is not asked.
   *  @param accountId on whose account
   *  @throws SourceError, BadAnswer, UnknownPair when it says that it does not know the pair; any
   *  other error counts as a failure as well */
  quote(pair: Pair, accountId: string): Promise<Quote | null>;
}

/** A source of exchange rates between currencies that knows no assets. */
export interface CrossSource {
  name: string;
  /** The worth of one unit of the first in the second; null if it lacks one of them.
   *  @throws as `RateSource.quote`, BadAnswer when the rate is too old */
  cross(from: string, to: string): Promise<Quote | null>;
}

/** The answer differs from the source's documentation. The reason repeats nothing of it. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
  /** @param status of HTTP, if that is the fault */
  constructor(
    readonly reason: string,
    readonly status: number | null = null,
  ) {
    super(reason);
  }
}

/** The source says that it does not know the pair. */
export class UnknownPair extends BadAnswer {
  constructor() {
    super('it does not know the pair');
  }
}

// Requests to a source of rates: bounded in time and size, never redirected; numbers are kept
// as written.

/** A day of the European Central Bank takes 2 kB, a thousand currencies of CoinGecko 40 kB. */
const MAX_BODY_BYTES = 256 * 1024;
/** Callers wait for the first sample of a pair. */
const TIMEOUT_MS = 4000;
/** Some servers refuse clients without one. */
const USER_AGENT = 'stellar-collect';

export interface Ask {
  /** @throws SourceError, BadAnswer for any status but 200 */
  text(url: string, headers?: Record<string, string>): Promise<string>;
  /** The answer's JSON, with numbers as the text that was written. @throws as `text`, BadAnswer for
   *  invalid JSON */
  json(url: string, headers?: Record<string, string>): Promise<unknown>;
  close(): Promise<void>;
}

/** @param fetch replaces undici's */
export function createAsk(clock: Clock, fetch?: Fetch): Ask {
  const requester = createRequester(clock, {
    fetch,
    maxBodyBytes: MAX_BODY_BYTES,
    parse: (body) => body.toString('utf8'),
  });
  async function text(url: string, headers: Record<string, string> = {}): Promise<string> {
    const request = { url, headers: { 'user-agent': USER_AGENT, ...headers } };
    const { status, body } = await requester.send(request, TIMEOUT_MS);
    if (status !== 200) throw new BadAnswer(`status ${status}`, status);
    return body as string;
  }
  return {
    text,
    json: async (url, headers) => parseJson(await text(url, { accept: 'application/json', ...headers })),
    close: () => requester.close(),
  };
}

/** A string, which stays unchanged, or a number. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON with numbers as text, because a double loses digits. @throws BadAnswer */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(STRING_OR_NUMBER, (found) => (found.startsWith('"') ? found : `"${found}"`)));
  } catch {
    throw new BadAnswer('no JSON');
  }
}

/** @throws BadAnswer for an answer of another form */
function shaped<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (!parsed.success) throw new BadAnswer('answer of an unexpected form');
  return parsed.data;
}

/** @throws BadAnswer for anything but a number greater than 0 */
function rateIn(text: string): Rate {
  const rate = readRate(text);
  if (!rate) throw new BadAnswer('no rate');
  return rate;
}

/** Seconds since the epoch, as text. @throws BadAnswer */
function secondsIn(text: string): Date {
  if (!/^\d{9,11}$/.test(text)) throw new BadAnswer('no time');
  return new Date(Number(text) * 1000);
}

const decimalText = z.string().max(100);

// Coinbase's spot price, which has no fee, unlike the buy price. The answer has no time.

export const COINBASE_URL = 'https://api.coinbase.com';

const coinbaseSchema = z.object({ data: z.object({ amount: decimalText, base: z.string(), currency: z.string() }) });

export function createCoinbase({ ask, baseUrl, clock }: { ask: Ask; baseUrl: string; clock: Clock }): RateSource {
  return {
    name: 'coinbase',
    async quote({ asset, currency }) {
      if (asset.issuer !== null) return null;
      const answer = await ask.json(`${baseUrl}/v2/prices/XLM-${currency}/spot`).catch((error: unknown) => {
        throw error instanceof BadAnswer && error.status === 404 ? new UnknownPair() : error;
      });
      const { data } = shaped(coinbaseSchema, answer);
      if (data.base !== 'XLM' || data.currency !== currency) throw new BadAnswer('another pair');
      return { rate: rateIn(data.amount), at: clock.now() };
    },
  };
}

// CoinGecko's simple price, which needs a key. The demo plan allows 10,000 requests a month: one
// request every 300 s covers all currencies.

export const COINGECKO_URL = 'https://api.coingecko.com';
const COINGECKO_EVERY_MS = 300_000;

const coingeckoSchema = z.object({ stellar: z.record(z.string(), decimalText) });

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
    const { stellar } = shaped(coingeckoSchema, await ask.json(url, { 'x-cg-demo-api-key': apiKey }));
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
      const { quotes, isPartial } = await remember('coingecko', { everyMs: COINGECKO_EVERY_MS, wanted }, read);
      const found = quotes.find((each) => each.currency === currency);
      if (found) return { rate: rateIn(found.rate), at: found.at };
      // It may know the pair.
      if (isPartial) throw new BadAnswer('no answer lately');
      throw new UnknownPair();
    },
  };
}

// The operator's own source: `GET URL?base=XLM&issuer=&quote=EUR` → `{"rate": "0.25", "at":
// "2026-11-21T09:30:00Z"}`.

const customSchema = z.object({ rate: decimalText, at: z.iso.datetime({ offset: true }) });

export function createCustom({ ask, baseUrl }: { ask: Ask; baseUrl: string }): RateSource {
  return {
    name: 'custom',
    async quote({ asset, currency }) {
      const url = new URL(baseUrl);
      url.searchParams.set('base', asset.code);
      url.searchParams.set('issuer', asset.issuer ?? '');
      url.searchParams.set('quote', currency);
      const { rate, at } = shaped(customSchema, await ask.json(url.href));
      return { rate: rateIn(rate), at: new Date(at) };
    },
  };
}

// Invented constant rates for a service that watches LOCAL only and has no sources: its assets are
// worth nothing.

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

// The European Central Bank's reference rates, published about 16:00 CET on working days, so that
// they are days old over Easter. They only cross currencies.

export const ECB_URL = 'https://www.ecb.europa.eu';
const ECB_EVERY_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** The oldest day whose rates count. */
const OLDEST_DAYS = 5;

export function createEcb(deps: { ask: Ask; baseUrl: string; remember: Remember; clock: Clock }): CrossSource {
  const { ask, baseUrl, remember, clock } = deps;
  return {
    name: 'ecb',
    async cross(from, to) {
      const { quotes } = await remember('ecb', { everyMs: ECB_EVERY_MS, wanted: [] }, async () =>
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

/** The outer Cube has the day, each inner one a currency and its rate: the amount that is worth
 *  one euro.
 *  @returns the euro as well. @throws BadAnswer */
function parseDay(xml: string): { currency: string; rate: string; at: Date }[] {
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

// Kraken's ticker. It reports errors with status 200, and names pairs its own way. One unknown pair
// spoils the whole answer, so each pair is requested alone. The answer has no time.

export const KRAKEN_URL = 'https://api.kraken.com';

const krakenSchema = z.object({
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
      const tickers = Object.values(shaped(krakenSchema, answer).result ?? {});
      if (tickers.length !== 1) throw new BadAnswer(`${tickers.length} pairs for one`);
      return { rate: rateIn(tickers[0]!.c[0]!), at: clock.now() };
    },
  };
}

// The network's own market: what it pays now for an asset, in an asset that is pegged to
// the currency.

/** The hypothetical amount sent: one unit of a cheap asset would give too few digits. */
const SENT = '100';

const ledgerSchema = z.object({
  _embedded: z.object({
    records: z.array(z.object({ source_amount: decimalText, destination_amount: decimalText })),
  }),
});

export interface Market {
  /** Its path, query and user info may hold keys. */
  baseUrl: string;
  /** The budgets that must grant each request of the account. */
  allowancesOf: (accountId: string) => readonly RequestBudget[];
}

export function createLedgerMarket(deps: {
  ask: Ask;
  /** Null if no server shows the network's market. */
  marketOf: (network: Network) => Market | null;
  pegs: readonly Peg[];
  clock: Clock;
}): RateSource {
  const { ask, marketOf, pegs, clock } = deps;
  return {
    name: 'ledger',
    async quote({ asset, currency, network }, accountId) {
      const market = marketOf(network);
      const pegged = pegs
        .filter((peg) => peg.currency === currency)
        .map(({ asset: { code, issuer } }) => `${code}:${issuer}`);
      if (!market || pegged.length === 0) return null;
      for (const allowance of market.allowancesOf(accountId)) {
        const waitMs = await allowance.take();
        if (waitMs > 0) throw new BudgetUsedUp(waitMs);
      }
      const { urlOf, headers } = endpointOf(market.baseUrl);
      const query = { ...sourceOf(asset), source_amount: SENT, destination_assets: pegged.join(',') };
      const answer = await ask.json(urlOf('/paths/strict-send', query), headers);
      const { records } = shaped(ledgerSchema, answer)._embedded;
      const rates = records.map(({ source_amount: sent, destination_amount: got }) => ({
        sent: parseAmount(sent),
        got: parseAmount(got),
      }));
      if (rates.length === 0) throw new BadAnswer('no way to a pegged asset');
      const best = rates.reduce((one, other) => ((other.got ?? 0n) > (one.got ?? 0n) ? other : one));
      const rate = best.sent && best.got ? toRate(best.got, best.sent) : null;
      if (!rate) throw new BadAnswer('no rate');
      return { rate, at: clock.now() };
    },
  };
}

const sourceOf = ({ code, issuer }: Asset): Record<string, string> =>
  issuer === null
    ? { source_asset_type: 'native' }
    : {
        source_asset_type: code.length <= 4 ? 'credit_alphanum4' : 'credit_alphanum12',
        source_asset_code: code,
        source_asset_issuer: issuer,
      };
