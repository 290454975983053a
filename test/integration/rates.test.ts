/** Rates as they are sampled: the real formats of the sources, and what becomes of a source that
 *  lies, stalls, or answers something else. */
import { pino } from 'pino';
import t from 'tap';
import { readConfig } from '../../src/app/config.js';
import { createRates } from '../../src/app/rates.js';
import { formatRate, type Pair, pairKey } from '../../src/domain/rate.js';
import { createRateBook } from '../../src/rates/book.js';
import { createAsk, createLedgerMarket } from '../../src/rates/sources.js';
import { LONG } from '../helpers/long.js';
import { manualClock } from '../helpers/manual-clock.js';
import { startRateServers } from '../helpers/rate-servers.js';
import { openStores } from '../helpers/stores.js';

const ISSUER = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const XLM: Pair['asset'] = { code: 'XLM', issuer: null };
const EUR: Pair = { currency: 'EUR', asset: XLM, network: 'PUBLIC' };
const inCurrency = (currency: string): Pair => ({ ...EUR, currency });
const never = new AbortController().signal;

type SourceName = Parameters<Awaited<ReturnType<typeof startRateServers>>['sources']>[0];

async function setUp(
  t: Parameters<typeof openStores>[0],
  names: SourceName[],
  { prices = { EUR: '0.25' }, env = {} }: { prices?: Record<string, string>; env?: Record<string, string> } = {},
) {
  const { stores } = await openStores(t);
  const clock = manualClock();
  const servers = await startRateServers(t, prices, clock.now());
  const config = readConfig({
    NETWORKS: 'PUBLIC',
    RATE_SOURCES: servers.sources(...names),
    COINGECKO_API_KEY: 'CG-key',
    ...env,
  });
  const seen = { leftOut: [] as string[], disagreed: 0, unused: new Set<string>() };
  const open = () => {
    const rates = createRates(
      {
        stores: stores.system,
        stamp: async () => ({ at: clock.now(), ledger: null }),
        isInUse: async (pair) => !seen.unused.has(pairKey(pair)),
        metrics: { leftOut: (source) => seen.leftOut.push(source), disagreed: () => (seen.disagreed += 1) },
        localUrl: null,
        clock,
        log: pino({ level: 'silent' }),
      },
      config,
    );
    t.teardown(() => rates.close());
    return rates.sampler;
  };
  const sampler = open();
  const { rateSamples, ratePairs } = stores.system;
  const newest = async (pair: Pair = EUR) => {
    const sample = await rateSamples.newest(pairKey(pair));
    return sample && [sample.rate, sample.source];
  };
  const troubleOf = async (pair: Pair = EUR) => (await ratePairs.byId(pairKey(pair)))?.trouble?.reason ?? null;
  /** A minute on, and what is due is sampled. */
  const minute = async () => {
    clock.advance(60_000);
    servers.at = clock.now();
    return sampler.run(never);
  };
  /** Lets time pass until this is done. */
  const passing = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    void work.catch(() => undefined).finally(() => (done = true));
    while (!done) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (servers.requests.length > 0) clock.advance(1000);
    }
    return work;
  };
  return { stores, clock, servers, sampler, open, seen, newest, troubleOf, minute, passing };
}

const rateOf = (stores: Awaited<ReturnType<typeof setUp>>['stores'], pair: Pair) =>
  stores.system.rateSamples.newest(pairKey(pair));

/** As a process opens a pair. */
const pairDoc = ({ currency, asset, network }: Pair, now: Date) => ({
  ...{
    _id: pairKey({ currency, asset, network }),
    currency,
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    network,
  },
  ...{ openedBy: 'acct_1', openedAt: now, dueAt: new Date(now.getTime() + 60_000), sampledAt: null },
  ...{ neededUntil: new Date(now.getTime() + 3_600_000), unconfirmed: null, trouble: null },
});

t.test('each source is understood in its real format', async (t) => {
  for (const name of ['kraken', 'coinbase', 'coingecko', 'custom'] as const) {
    const { sampler, newest } = await setUp(t, [name], { prices: { EUR: '0.250000000000000012' } });
    await sampler.need(EUR, 'acct_1');
    t.same(await newest(), ['0.25', name]);
  }
  const { sampler, newest, servers } = await setUp(t, ['ledger'], { env: { RATE_PEGS: `EURC:${ISSUER}=EUR` } });
  await sampler.need(EUR, 'acct_1');
  t.same(await newest(), ['0.25', 'ledger'], 'the best way that the market has');
  const asked = new URL(servers.requests[0]!.url, 'http://server').searchParams;
  t.equal(asked.get('source_asset_type'), 'native');
  t.equal(asked.get('destination_assets'), `EURC:${ISSUER}`);
});

t.test(
  'the market is asked at a Horizon whose URL holds keys → they reach it, on account of who opened the pair',
  async (t) => {
    const servers = await startRateServers(t, { EUR: '0.25' }, new Date());
    const [, plain] = servers.sources('ledger').split('@');
    const baseUrl = `${plain!.replace('//', '//ana:secret@')}?key=K`;
    const clock = manualClock();
    const ask = createAsk(clock);
    t.teardown(() => ask.close());
    const payers: string[] = [];
    const allowancesOf = (accountId: string) => {
      payers.push(accountId);
      return [];
    };
    const pegs = [{ asset: { code: 'EURC', issuer: ISSUER }, currency: 'EUR' }];
    const market = createLedgerMarket({ ask, marketOf: () => ({ baseUrl, allowancesOf }), pegs, clock });
    t.equal(formatRate((await market.quote(EUR, 'acct_1'))!.rate), '0.25');
    const [{ url, headers }] = servers.requests as [(typeof servers.requests)[0]];
    const { pathname, searchParams } = new URL(url, 'http://server');
    t.equal(pathname, '/ledger/paths/strict-send');
    t.equal(searchParams.get('key'), 'K');
    t.equal(headers.authorization, `Basic ${Buffer.from('ana:secret').toString('base64')}`);
    t.same(payers, ['acct_1']);
  },
);

t.test('a custom source is told the issuer, and other sources are not asked for issued assets', async (t) => {
  const { sampler, newest, servers } = await setUp(t, ['kraken', 'coinbase', 'custom']);
  const pair: Pair = { ...EUR, asset: { code: 'BEANS', issuer: ISSUER } };
  await sampler.need(pair, 'acct_1');
  t.same(await newest(pair), ['0.25', 'custom']);
  t.same(
    servers.requests.map(({ url }) => url),
    [`/custom?base=BEANS&issuer=${ISSUER}&quote=EUR`],
  );
});

t.test(
  "a currency that a market does not trade in is crossed by the central bank's rates of at most 5 days",
  async (t) => {
    const { sampler, newest, servers, clock, minute, troubleOf } = await setUp(t, ['kraken', 'ecb']);
    await sampler.need(inCurrency('CHF'), 'acct_1');
    t.same(await newest(inCurrency('CHF')), ['0.2375', 'kraken*ecb'], '0.25 EUR, and 0.95 CHF for a EUR');
    for (let nth = 0; nth < 3; nth += 1) await minute();
    t.equal(
      servers.requests.filter(({ url }) => url.includes('XLMCHF')).length,
      1,
      'asked once for pairs that it does not have',
    );
    t.equal(servers.count('ecb'), 1);
    clock.advance(5 * 24 * 3_600_000);
    await minute();
    t.equal(await troubleOf(inCurrency('CHF')), null, 'over Easter');
    clock.advance(24 * 3_600_000);
    await minute();
    t.equal(await troubleOf(inCurrency('CHF')), 'no source gives a usable answer');
    await sampler.need(inCurrency('GBP'), 'acct_1');
    t.equal(await newest(inCurrency('GBP')), null);
  },
);

t.test('a pegged asset is worth exactly one, in another currency what the cross says', async (t) => {
  const { sampler, newest } = await setUp(t, ['kraken', 'ecb'], { env: { RATE_PEGS: `USDC:${ISSUER}=USD` } });
  const pair: Pair = { ...EUR, asset: { code: 'USDC', issuer: ISSUER } };
  await sampler.need({ ...pair, currency: 'USD' }, 'acct_1');
  t.same(await newest({ ...pair, currency: 'USD' }), ['1', 'peg']);
  await sampler.need(pair, 'acct_1');
  t.same(await newest(pair), ['0.909090909091', 'peg*ecb']);
});

t.test('a source that answers badly is left out, counted, and the others go on', async (t) => {
  const html = { body: '<html><body>502 Bad Gateway</body></html>', headers: { 'content-type': 'text/html' } };
  const kraken = (price: string) => ({ body: `{"error":[],"result":{"XXLMZEUR":{"c":["${price}","1"]}}}` });
  const bad = {
    'HTML with 200': html,
    'an error with 200': { body: '{"error":["EService:Unavailable"]}' },
    'an error with 200, beside a price': { body: '{"error":["EGeneral:x"],"result":{"P":{"c":["0.25","1"]}}}' },
    'status 500': { status: 500, body: '' },
    'a redirect': { status: 302, headers: { location: 'http://127.0.0.1:9/' } },
    'no body': { body: '' },
    null: { body: 'null' },
    zero: kraken('0.00000000'),
    negative: kraken('-0.25'),
    text: kraken('cheap'),
    'not a number': kraken('NaN'),
    'no end': { trouble: 'endless' },
    'two pairs': { body: '{"error":[],"result":{"A":{"c":["1","1"]},"B":{"c":["2","1"]}}}' },
  } as const;
  const { newest, seen, servers, sampler, minute } = await setUp(t, ['kraken', 'coinbase']);
  await sampler.need(EUR, 'acct_1');
  for (const [what, answer] of Object.entries(bad)) {
    servers.trouble.kraken = answer;
    seen.leftOut = [];
    await minute();
    t.same(await newest(), ['0.25', 'coinbase'], what);
    t.same(seen.leftOut, ['kraken'], what);
  }
  servers.trouble.kraken = {};
  delete servers.trouble.kraken;
  await minute();
  t.same(await newest(), ['0.25', 'kraken,coinbase']);
});

t.test('a source that stalls costs five seconds at most, and no sample of the others', async (t) => {
  const { newest, seen, servers, sampler, passing } = await setUp(t, ['kraken', 'coinbase']);
  servers.trouble.kraken = { trouble: 'hang' };
  await passing(sampler.need(EUR, 'acct_1'));
  // The need and the source are waited for until the same moment.
  for (let tries = 0; tries < 100 && !(await newest()); tries += 1) await new Promise((r) => setTimeout(r, 20));
  t.same(await newest(), ['0.25', 'coinbase']);
  t.same(seen.leftOut, ['kraken']);
});

t.test('a rate from an old time, or from the future, is not used', async (t) => {
  const { newest, servers, sampler, clock, troubleOf } = await setUp(t, ['custom']);
  servers.at = new Date(clock.nowMs() - 600_001);
  await sampler.need(EUR, 'acct_1');
  t.equal(await newest(), null);
  servers.at = new Date(clock.nowMs() + 180_000);
  clock.advance(60_000);
  await sampler.run(never);
  t.equal(await newest(), null);
  t.equal(await troubleOf(), 'no source gives a usable answer');
  servers.at = clock.now();
  clock.advance(60_000);
  await sampler.run(never);
  t.same(await newest(), ['0.25', 'custom']);
  t.equal(await troubleOf(), null);
});

t.test('three sources make their median, two their mean, and two that differ by more than 5 % none', async (t) => {
  const { newest, servers, sampler, minute, seen, troubleOf } = await setUp(t, ['kraken', 'coinbase', 'custom']);
  const custom = (rate: string) => () => ({ body: JSON.stringify({ rate, at: servers.at.toISOString() }) });
  servers.trouble.custom = custom('0.9');
  await sampler.need(EUR, 'acct_1');
  t.same(await newest(), ['0.25', 'kraken,coinbase,custom']);
  servers.trouble.coinbase = { status: 500 };
  servers.trouble.custom = custom('0.26');
  await minute();
  t.same(await newest(), ['0.255', 'kraken,custom']);
  servers.trouble.custom = custom('0.2626');
  await minute();
  t.same(await newest(), ['0.255', 'kraken,custom'], 'no sample');
  t.equal(seen.disagreed, 1);
  t.equal(await troubleOf(), 'two sources differ by more than 5 %: kraken says 0.25, custom says 0.2626');
});

t.test('an answer that is kept and taken again confirms no jump of its own', async (t) => {
  const { newest, servers, sampler, minute } = await setUp(t, ['custom']);
  await sampler.need(EUR, 'acct_1');
  const wrongAt = new Date(servers.at.getTime() + 60_000).toISOString();
  servers.trouble.custom = () => ({ body: JSON.stringify({ rate: '2.5', at: wrongAt }) });
  for (let nth = 0; nth < 4; nth += 1) await minute();
  t.same(await newest(), ['0.25', 'custom']);
  servers.trouble.custom = () => ({ body: JSON.stringify({ rate: '2.5', at: servers.at.toISOString() }) });
  await minute();
  t.same(await newest(), ['2.5', 'custom'], 'a newer one does');
});

t.test("CoinGecko's one wrong answer is never a sample", async (t) => {
  const { newest, servers, sampler, minute } = await setUp(t, ['coingecko']);
  await sampler.need(EUR, 'acct_1');
  servers.prices.EUR = '2.5';
  for (let nth = 0; nth < 11; nth += 1) {
    await minute();
    if (servers.count('coingecko') === 2) servers.prices.EUR = '0.26';
    t.not((await newest())?.[0], '2.5');
  }
  t.same(await newest(), ['0.26', 'coingecko']);
});

t.test(
  "the bank's one wrong answer is never a sample, and a true jump waits for no other day of the bank",
  async (t) => {
    const { newest, servers, sampler, minute } = await setUp(t, ['kraken', 'ecb']);
    const CHF = inCurrency('CHF');
    await sampler.need(CHF, 'acct_1');
    t.same(await newest(CHF), ['0.2375', 'kraken*ecb']);
    servers.prices.EUR = '0.5';
    await minute();
    t.same(await newest(CHF), ['0.2375', 'kraken*ecb']);
    await minute();
    t.same(await newest(CHF), ['0.475', 'kraken*ecb']);
  },
);

t.test(
  'a pair is needed again after days in which its rate rose by half → no other day of the bank is waited for',
  async (t) => {
    const { newest, servers, sampler, minute, clock, seen } = await setUp(t, ['kraken', 'ecb']);
    const CHF = inCurrency('CHF');
    await sampler.need(CHF, 'acct_1');
    seen.unused.add(pairKey(CHF));
    clock.advance(3 * 86_400_000);
    await minute();
    servers.prices.EUR = '0.375';
    await sampler.need(CHF, 'acct_1');
    t.same(await newest(CHF), ['0.2375', 'kraken*ecb'], 'a second answer has to confirm it');
    await minute();
    t.same(await newest(CHF), ['0.35625', 'kraken*ecb']);
  },
);

t.test('a source that says that it does not know a pair is asked again in a minute if it has known it', async (t) => {
  const { servers, sampler, minute, newest, seen } = await setUp(t, ['coinbase']);
  await sampler.need(EUR, 'acct_1');
  servers.trouble.coinbase = { status: 404, body: '{}' };
  await minute();
  t.same(seen.leftOut, ['coinbase'], 'it is counted');
  const asked = servers.count('coinbase');
  await minute();
  t.equal(servers.count('coinbase'), asked + 1);
  delete servers.trouble.coinbase;
  servers.prices.EUR = '0.26';
  await minute();
  t.same(await newest(), ['0.26', 'coinbase']);
  for (let nth = 0; nth < 3; nth += 1) {
    await sampler.need(inCurrency('GBP'), 'acct_1');
    await minute();
  }
  t.equal(servers.requests.filter(({ url }) => url.includes('GBP')).length, 1, 'one that it never knew is not');
});

t.test('a jump of more than 20 % counts once a second sample confirms it', async (t) => {
  const { newest, servers, sampler, minute, troubleOf } = await setUp(t, ['kraken']);
  await sampler.need(EUR, 'acct_1');
  servers.prices.EUR = '25';
  await minute();
  t.same(await newest(), ['0.25', 'kraken']);
  t.match(await troubleOf(), /^it jumped from 0.25 to 25/);
  servers.prices.EUR = '0.26';
  await minute();
  t.same(await newest(), ['0.26', 'kraken'], 'it was a slip');
  servers.prices.EUR = '0.4';
  await minute();
  servers.prices.EUR = '0.41';
  await minute();
  t.same(await newest(), ['0.41', 'kraken'], 'it was true');
  t.equal(await troubleOf(), null);
});

t.test(
  'requests do not grow with those who need a pair, and CoinGecko is asked every 300 s, for all at once',
  async (t) => {
    const prices = { EUR: '0.25', USD: '0.27' };
    const { servers, sampler, minute, open, passing } = await setUp(t, ['kraken', 'coingecko'], { prices });
    const other = open();
    const all = Array.from({ length: 20 }, (_, nth) => (nth % 2 ? sampler : other).need(EUR, `acct_${nth}`));
    await passing(Promise.all(all));
    t.equal(servers.count('kraken'), 1, 'the first need, of two processes');
    await sampler.need(inCurrency('USD'), 'acct_1');
    t.equal(servers.count('coingecko'), 2, 'a new currency is asked for at once');
    for (let nth = 0; nth < 60; nth += 1) {
      await Promise.all([minute(), other.run(never)]);
      await sampler.need(EUR, 'acct_2');
    }
    t.equal(servers.count('kraken'), 2 + 2 * 60);
    t.ok(servers.count('coingecko') <= 2 + 12, `${servers.count('coingecko')}`);
    t.match(servers.requests.at(-1)!.url, /vs_currencies=eur,usd|pair=/);
  },
);

t.test('currencies are needed now and then → each costs CoinGecko a request of its own once', async (t) => {
  const prices = { EUR: '0.25', USD: '0.27', GBP: '0.22' };
  const { servers, sampler, minute, clock, seen } = await setUp(t, ['coingecko'], { prices });
  await sampler.need(EUR, 'acct_1');
  const others = ['USD', 'GBP'].map(inCurrency);
  for (const pair of others) seen.unused.add(pairKey(pair));
  for (const pair of others) await sampler.need(pair, 'acct_2');
  t.equal(servers.count('coingecko'), 3);
  clock.advance(3 * 3_600_000);
  await minute();
  t.equal(servers.count('coingecko'), 4, 'for the one that is still used');
  for (const pair of others) await sampler.need(pair, 'acct_2');
  t.equal(servers.count('coingecko'), 4);
});

t.test('CoinGecko is asked again after a failure, and not taken to lack what it did not answer', async (t) => {
  const { sampler, servers, newest, minute } = await setUp(t, ['coingecko'], { prices: { EUR: '0.25', USD: '0.27' } });
  servers.trouble.coingecko = { status: 500, body: '' };
  await sampler.need(EUR, 'acct_1');
  await minute();
  t.equal(servers.count('coingecko'), 1, 'not at once');
  delete servers.trouble.coingecko;
  for (let nth = 0; nth < 5; nth += 1) await minute();
  t.same(await newest(), ['0.25', 'coingecko']);
  servers.trouble.coingecko = { status: 500, body: '' };
  await sampler.need(inCurrency('USD'), 'acct_1');
  delete servers.trouble.coingecko;
  for (let nth = 0; nth < 6; nth += 1) await minute();
  t.same(await newest(inCurrency('USD')), ['0.27', 'coingecko'], 'also of a currency that is new');
});

t.test('a pair that nothing uses any more is no longer sampled', async (t) => {
  const { servers, sampler, minute, seen, stores } = await setUp(t, ['kraken']);
  await sampler.need(EUR, 'acct_1');
  seen.unused.add(pairKey(EUR));
  for (let nth = 0; nth < 120; nth += 1) await minute();
  t.equal(servers.count('kraken'), 60, 'for an hour after it was last needed');
  t.same(await stores.system.ratePairs.all(), []);
  seen.unused.clear();
  await sampler.need(EUR, 'acct_1');
  t.equal(servers.count('kraken'), 61, 'at once, when it is needed again');
});

t.test('an account opens a hundred pairs at most, and uses those of others', async (t) => {
  const { sampler, stores, newest } = await setUp(t, [], { env: { NETWORKS: 'LOCAL', RATE_SOURCES: '' } });
  const pair = (nth: number): Pair => ({ ...EUR, network: 'LOCAL', asset: { code: `C${nth}`, issuer: ISSUER } });
  for (let nth = 0; nth < 101; nth += 1) await sampler.need(pair(nth), 'acct_1');
  t.equal((await stores.system.ratePairs.all()).length, 100);
  await sampler.need(pair(100), 'acct_2');
  t.same(await newest(pair(100)), ['1', 'demo']);
});

t.test('an hour of visitors costs no request more than an hour without', LONG, async (t) => {
  const requestsIn = async (visits: number) => {
    const { stores, clock, servers, sampler, minute } = await setUp(t, ['kraken', 'coinbase']);
    const book = createRateBook({ ...stores.system, clock, lockMs: 900_000, maxAgeMs: 600_000 });
    await stores.system.accounts.insert({ _id: 'acct_1', name: 'Shop', createdAt: clock.now() });
    await sampler.need(EUR, 'acct_1');
    servers.requests.length = 0;
    for (let nth = 0; nth < 60; nth += 1) {
      await minute();
      for (let visit = 0; visit < visits; visit += 1) {
        t.equal((await book.current('acct_1', EUR))?.stale, false);
        // An order that is priced so.
        if (visit % 5 === 0) await sampler.need(EUR, 'acct_1');
      }
    }
    return servers.requests.length;
  };
  t.equal(await requestsIn(0), 120, 'one of each source a minute');
  t.equal(await requestsIn(25), 120);
});

t.test('a pair is sampled until the end of each order that needs it', async (t) => {
  const { stores, clock, sampler, minute, seen } = await setUp(t, ['kraken']);
  seen.unused.add(pairKey(EUR));
  const end = (minutes: number) => new Date(clock.nowMs() + minutes * 60_000);
  await sampler.need(EUR, 'acct_1', end(60));
  await sampler.need(EUR, 'acct_1', end(80));
  for (let nth = 0; nth < 79; nth += 1) await minute();
  t.ok(await stores.system.ratePairs.byId(pairKey(EUR)), 'within the last minutes of the later one');
});

t.test('a process that dies after any of its writes leaves a pair that is sampled, once in its interval', async (t) => {
  const { stores, clock, sampler, open, newest, minute } = await setUp(t, ['kraken']);
  const { ratePairs, rateSamples } = stores.system;
  const key = pairKey(EUR);
  const count = () => stores.system.rateSamples.held(key, { from: new Date(0), to: new Date(clock.nowMs() + 1000) });
  const dying = pairDoc(EUR, clock.now());
  t.ok(await ratePairs.open(dying), 'it opened the pair, and died');
  const other = open();
  const waiting = other.need(EUR, 'acct_2');
  clock.advance(6000);
  await waiting;
  t.equal(await newest(), null, 'another need waits a while for the first sample');
  clock.advance(-6000);
  await minute();
  t.same(await newest(), ['0.25', 'kraken']);

  clock.advance(60_000);
  t.ok(await ratePairs.claimDue(clock.now(), { intervalMs: 60_000, isSound: false }), 'it claimed the pair, and died');
  t.same(await sampler.run(never), { sampled: 0, without: 0 }, 'claimed for an interval');
  t.same(await minute(), { sampled: 1, without: 0 });

  clock.advance(60_000);
  await ratePairs.claimDue(clock.now(), { intervalMs: 60_000, isSound: false });
  const [last] = (await count()).slice(-1);
  const { _id: _, isHourly: __, ...sample } = { ...last!, at: clock.now(), from: { at: clock.now(), ledger: null } };
  await rateSamples.add(sample, last!);
  await rateSamples.add(sample, last!);
  t.equal((await count()).length, 3, 'it stored the sample, twice in one moment, and died before it noted that');
  t.same(await minute(), { sampled: 1, without: 0 });
  clock.advance(60_000);
  const both = await Promise.all([sampler.run(never), other.run(never)]);
  t.equal(
    both.reduce((sum, { sampled }) => sum + sampled, 0),
    1,
    'of two processes one samples a pair',
  );
});

t.test('workers whose clocks differ share the intervals of a pair', async (t) => {
  const { stores, clock, sampler } = await setUp(t, ['kraken']);
  const { ratePairs } = stores.system;
  await sampler.need(EUR, 'acct_1');
  for (const { intervalMs, aheadMs } of [
    { intervalMs: 1000, aheadMs: 50_000 },
    // More than clocks differ, but much less than an interval.
    { intervalMs: 3_600_000, aheadMs: 300_000 },
  ]) {
    const claims = async (now: Date) => (await ratePairs.claimDue(now, { intervalMs, isSound: false })) !== null;
    clock.advance(3_600_000);
    const claimed: boolean[] = [];
    for (let nth = 0; nth < 5; nth += 1) {
      claimed.push(await claims(new Date(clock.nowMs() + aheadMs)), await claims(clock.now()));
      clock.advance(intervalMs);
    }
    t.same(claimed, Array.from({ length: 5 }, () => [true, false]).flat(), `${intervalMs} ms`);
  }
});

t.test('the newest sample is shown, also where a clock that is ahead dated the one before it', async (t) => {
  const { stores, clock, servers, sampler, newest, minute } = await setUp(t, ['kraken']);
  await sampler.need(EUR, 'acct_1');
  const { rateSamples } = stores.system;
  const first = (await rateOf(stores, EUR))!;
  const ahead = { at: new Date(clock.nowMs() + 90_000), ledger: 7 };
  const { _id: _, isHourly: __, ...sample } = { ...first, at: new Date(clock.nowMs() + 1), from: ahead };
  await rateSamples.add(sample, first);
  servers.prices.EUR = '0.26';
  await minute();
  t.same(await newest(), ['0.26', 'kraken']);
});

t.test('a hundred pairs that stall do not keep the pair of another account waiting', async (t) => {
  const { servers, sampler, newest, clock, stores, seen, passing } = await setUp(t, ['custom']);
  await sampler.need(EUR, 'acct_2');
  const { ratePairs } = stores.system;
  const invented = (nth: number): Pair => ({ ...EUR, asset: { code: `N${nth}`, issuer: ISSUER } });
  servers.trouble.custom = (path) => (path.includes('base=N') ? { trouble: 'hang' } : null);
  for (let nth = 0; nth < 100; nth += 1) {
    const doc = pairDoc(invented(nth), new Date(clock.nowMs() - 60_000));
    await ratePairs.open({ ...doc, trouble: { since: clock.now(), reason: 'no source gives a usable answer' } });
  }
  clock.advance(60_000);
  servers.at = clock.now();
  servers.requests.length = 0;
  const ended = new AbortController();
  const round = sampler.run(ended.signal);
  const isSampled = async () => (await rateOf(stores, EUR))?.at.getTime() === clock.nowMs();
  for (let tries = 0; tries < 100 && !(await isSampled()); tries += 1) await new Promise((r) => setTimeout(r, 20));
  t.ok(await isSampled(), 'while the others stall');
  t.same(await newest(), ['0.25', 'custom']);
  t.equal(seen.leftOut.length, 0, 'which they do');
  ended.abort();
  await passing(round);
});

t.test(
  'pairs that stall take longer than the interval → the others are sampled in it all the same',
  LONG,
  async (t) => {
    const { servers, sampler, clock, stores } = await setUp(t, ['custom']);
    await sampler.need(EUR, 'acct_2');
    servers.trouble.custom = (path) => (path.includes('base=N') ? { trouble: 'hang' } : null);
    for (let nth = 0; nth < 100; nth += 1) {
      const doc = pairDoc({ ...EUR, asset: { code: `N${nth}`, issuer: ISSUER } }, new Date(clock.nowMs() - 60_000));
      await stores.system.ratePairs.open({ ...doc, trouble: { since: clock.now(), reason: 'none' } });
    }
    const end = clock.nowMs() + 300_000;
    const times = new Set<number>();
    const ended = new AbortController();
    const runs = (async () => {
      while (!ended.signal.aborted) {
        await sampler.run(ended.signal);
        await clock.sleep(1000, ended.signal);
      }
    })();
    while (clock.nowMs() < end) {
      clock.advance(1000);
      servers.at = clock.now();
      await new Promise((resolve) => setTimeout(resolve, 30));
      times.add((await rateOf(stores, EUR))!.at.getTime());
    }
    ended.abort();
    clock.advance(10_000);
    await runs;
    t.ok(times.size >= 4, `${times.size} samples in five minutes`);
  },
);

t.test('old samples are removed, but for the first of each hour', async (t) => {
  const { sampler, minute, stores, clock } = await setUp(t, ['kraken']);
  await sampler.need(EUR, 'acct_1');
  for (let nth = 0; nth < 120; nth += 1) await minute();
  clock.advance(100 * 24 * 3_600_000 + 1);
  const { rateSamples } = stores.system;
  t.equal(await rateSamples.removeOld(new Date(clock.nowMs() - 3 * 3_600_000), never), 0);
  t.equal(await rateSamples.removeOld(clock.now(), never), 118);
  t.equal((await rateSamples.held(pairKey(EUR), { from: new Date(0), to: clock.now() })).length, 3);
});

t.test('a window has the samples that were the newest at some time in it', async (t) => {
  const { sampler, minute, stores, clock } = await setUp(t, ['kraken']);
  await sampler.need(EUR, 'acct_1');
  const first = clock.now();
  for (let nth = 0; nth < 5; nth += 1) await minute();
  const ago = (minutes: number) => new Date(clock.nowMs() - minutes * 60_000);
  const { rateSamples } = stores.system;
  const inWindow = async (from: Date, to: Date) =>
    (await rateSamples.held(pairKey(EUR), { from, to })).map(({ at }) => (at.getTime() - first.getTime()) / 60_000);
  t.same(await inWindow(ago(2.5), ago(0)), [2, 3, 4, 5]);
  t.same(await inWindow(ago(2), ago(1)), [3, 4]);
  t.same(await inWindow(ago(60), ago(30)), []);
});

t.test('bad settings are told in one line that names them', async (t) => {
  const told = (env: Record<string, string>) => {
    try {
      readConfig({ NETWORKS: 'PUBLIC', ...env });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.match(told({ RATE_SOURCES: 'binance' }), /^RATE_SOURCES must list some of kraken/);
  t.match(told({ RATE_SOURCES: 'kraken,kraken' }), /^RATE_SOURCES lists kraken twice/);
  t.match(told({ RATE_SOURCES: 'kraken@ftp://x' }), /^RATE_SOURCES has no http or https URL behind kraken@/);
  t.match(told({ RATE_SOURCES: 'custom' }), /^RATE_SOURCES needs the URL of the custom source/);
  t.match(told({ RATE_SOURCES: 'coingecko' }), /^COINGECKO_API_KEY is required/);
  t.match(told({ RATE_PEGS: 'USDC=USD' }), /^RATE_PEGS must list assets and currencies/);
  t.match(told({ RATE_PEGS: `USDC:${ISSUER}=DOL` }), /^RATE_PEGS must list/);
  t.match(told({ RATE_PEGS: `USDC:${ISSUER}=USD,USDC:${ISSUER}=EUR` }), /^RATE_PEGS lists USDC twice/);
  t.match(told({ RATE_INTERVAL_SECONDS: '0' }), /^RATE_INTERVAL_SECONDS must be/);
  t.equal(told({ RATE_SOURCES: 'kraken, ecb@https://mirror.example/ecb/', RATE_PEGS: `USDC:${ISSUER}=USD` }), null);
});
