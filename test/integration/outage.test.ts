/** How a long outage is caught up: the watcher on a real MongoDB, Horizon's side answered from a
 *  history whose requests are counted. */
import { Keypair } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import { cursorAfter } from '../../src/ledger/records.js';
import type { SystemStores } from '../../src/stores.js';
import type { CursorDoc } from '../../src/watching/cursors.js';
import { createFlagGap } from '../../src/watching/gap-store.js';
import { createParkedRetries } from '../../src/watching/parked.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import { createWatcher } from '../../src/watching/watcher.js';
import { PAYER, page, payment, toid } from '../helpers/horizon-records.js';
import { LONG } from '../helpers/long.js';
import { newId, openStores, walletDoc } from '../helpers/stores.js';

const network = 'TESTNET';
const PASSPHRASE = 'Test SDF Network ; September 2015';
const SEEN = 2000;
const LEDGERS = 60;
const PER_LEDGER = 10;
const PAGE = 20;
const shops = (count: number) =>
  Array.from({ length: count }, (_, n) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, n + 60)).publicKey());

/** A transaction that no server has for a while. */
const LATE = 'e'.repeat(64);

const YOUNG_NETWORK = {
  network_passphrase: PASSPHRASE,
  history_latest_ledger: 3,
  history_latest_ledger_closed_at: '2026-01-02T03:04:09Z',
  history_elder_ledger: 1,
};

/** Everybody pays strangers, and in each ledger one of `paid` in turn. */
function history(paid: readonly string[], transactionsFrom: number | null, lacking: number | null) {
  const { transaction, ...lean } = payment();
  const sample = transactionsFrom === null ? { ...lean, transaction } : lean;
  const records = Array.from({ length: LEDGERS * PER_LEDGER }, (_, n) => {
    const ledger = SEEN + 1 + Math.floor(n / PER_LEDGER);
    const id = toid(ledger, 1, (n % PER_LEDGER) + 1);
    const to = n % PER_LEDGER === 0 ? paid[(n / PER_LEDGER) % paid.length] : PAYER;
    const own = { ...sample, id, paging_token: id, to };
    return n === lacking ? { ...lean, id, paging_token: id, to, transaction_hash: LATE } : own;
  });
  const asked = { feed: 0, accounts: 0, broken: null as string | null, transactions: 0, isLate: true };
  const answer = ({ pathname, searchParams }: URL): unknown => {
    if (pathname === '/') {
      const latest = SEEN + LEDGERS;
      return {
        network_passphrase: PASSPHRASE,
        history_latest_ledger: latest,
        history_latest_ledger_closed_at: '2026-01-02T03:04:05Z',
        history_elder_ledger: 2,
      };
    }
    const asksLedger = /^\/ledgers\/(\d+)$/.exec(pathname);
    if (asksLedger) return { sequence: Number(asksLedger[1]), hash: '0'.repeat(64), closed_at: '2026-01-02T03:04:05Z' };
    if (pathname.startsWith('/transactions/')) {
      asked.transactions += 1;
      if (pathname.includes(LATE)) return asked.isLate ? null : { ...(transaction as object), hash: LATE };
      return asked.transactions >= (transactionsFrom ?? 0) ? transaction : null;
    }
    const of = /^\/accounts\/(\w+)\/payments$/.exec(pathname)?.[1];
    if (of && of === asked.broken) return null;
    if (pathname !== '/payments' && !of) return null;
    asked[of ? 'accounts' : 'feed'] += 1;
    const mine = records.filter((each) => !of || each.to === of);
    if (searchParams.get('cursor') === 'now')
      return { ...page(mine.slice(-1)), _links: { self: { href: `?cursor=${cursorAfter(SEEN + LEDGERS)}` } } };
    const after = BigInt(searchParams.get('cursor')!);
    return page(mine.filter((each) => BigInt(each.id) > after).slice(0, Number(searchParams.get('limit'))));
  };
  return { asked, answer };
}

/** @param fails what becomes of a transaction of so many credits. @param tookMs how long it took.
 *  @param root what Horizon's root is at the nth time, if it is another one. @param
 *  transactionsFrom records come without their transactions, and those are there from so many
 *  requests for one on. @param lacking the nth record has another transaction than the others,
 *  which is not there while `asked.isLate`. @param pagesUntil all pages are empty, of a server that
 *  is at this ledger. @param wallets how they differ. @param toWatcher what the watcher gets of
 *  the stores */
async function afterOutage(
  t: { teardown(end: () => unknown): void },
  paid: readonly string[],
  {
    fails = () => false,
    tookMs = () => 0,
    root = () => undefined,
    pagesUntil = null,
    transactionsFrom = null,
    lacking = null,
    wallets = {},
    toWatcher = (stores) => stores,
  }: {
    fails?(credits: number): boolean;
    tookMs?(credits: number): number;
    root?(nth: number): Record<string, unknown> | undefined;
    pagesUntil?: number | null;
    transactionsFrom?: number | null;
    lacking?: number | null;
    wallets?: Partial<WalletDoc>;
    toWatcher?(stores: SystemStores): SystemStores;
  } = {},
) {
  const { db, stores, transaction, outbox, recorder } = await openStores(t);
  const sizes: number[] = [];
  let aheadMs = 0;
  const nowMs = () => systemClock.nowMs() + aheadMs;
  const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
  const record: typeof recorder.record = async (network, read, move) => {
    const { credits } = read;
    sizes.push(credits.length);
    if (fails(credits.length)) throw new Error('the transaction took too long');
    const stored = await recorder.record(network, read, move);
    aheadMs += tookMs(credits.length);
    return stored;
  };
  const at = new Date('2026-01-01T00:00:00Z');
  const windows = [{ from: { at, ledger: 1000 }, until: null }];
  for (const address of paid) {
    await stores
      .forAccount('acct_1')
      .wallets.insert(
        walletDoc({ accountId: 'acct_1', address, windows, watchStarted: true, createdAt: at, ...wallets }),
      );
  }
  const position = (address: string | null, ledger: number): CursorDoc => ({
    _id: `${network}:${address ?? 'feed'}`,
    network,
    address,
    cursor: cursorAfter(ledger),
    ledger,
    closedAt: at,
    readAt: at,
    shownLedger: ledger,
    shownClosedAt: at,
    fromLedger: address === null ? 1500 : null,
    recordLedger: null,
  });
  await stores.system.cursors.save([position(null, SEEN), ...paid.map((address) => position(address, 1600))]);

  const { asked, answer } = history(paid, transactionsFrom, lacking);
  let roots = 0;
  const answerNow = (url: URL) => {
    if (url.pathname === '/') return root(++roots) ?? answer(url);
    if (pagesUntil === null || !url.pathname.endsWith('/payments')) return answer(url);
    return { ...page([]), _links: { self: { href: `?cursor=${cursorAfter(pagesUntil)}` } } };
  };
  const log = pino({ level: 'silent' });
  const horizon = createLedger({
    network,
    horizonUrls: ['http://horizon.example'],
    rpcUrls: [],
    passphrase: PASSPHRASE,
    budget: null,
    clock,
    log,
    fetch: async (url) => {
      const body = answerNow(new URL(url));
      return {
        status: body === null ? (asked.broken && url.includes(asked.broken) ? 504 : 404) : 200,
        headers: { get: () => null },
        body: (async function* () {
          yield Buffer.from(JSON.stringify(body ?? { status: 404 }));
        })(),
      };
    },
  });
  t.teardown(() => horizon.close());
  const watcher = createWatcher({
    ...toWatcher(stores.system),
    network,
    recorder: { record },
    flagGap: createFlagGap({ ...stores.system, newId, outbox, transaction, eventsStored: () => undefined }),
    clock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    eventsStored: () => undefined,
    pageLimit: PAGE,
  });
  const { wallets: walletStore, parkedRecords } = stores.system;
  const retries = createParkedRetries({
    ...{ network, ledger: horizon, wallets: walletStore, parkedRecords, recorder, clock, log },
    eventsStored: () => undefined,
  });
  /** Tries what is due of what was set aside. */
  const retry = () => retries.round(new AbortController().signal);
  const parked = async () => (await parkedRecords.list({ page: 1, pageSize: 100 })).items;
  const round = async () => {
    const session = horizon.session({ purpose: 'watching' });
    await watcher.round(session, await session.tip());
  };
  const stored = async () =>
    (await db.collection('payments').find().sort({ operationId: 1 }).toArray()).map(({ operationId }) => operationId);
  const all = Array.from({ length: LEDGERS }, (_, n) => toid(SEEN + 1 + n, 1, 1));
  const passTime = (ms: number) => {
    aheadMs += ms;
  };
  return {
    stores,
    asked,
    round,
    retry,
    parked,
    passTime,
    stored,
    all,
    sizes,
    feed: () => stores.system.cursors.byId(`${network}:feed`),
  };
}

t.test(
  'a few addresses catch up one by one while the feed goes on from the newest ledgers, and nothing is lost',
  async (t) => {
    const { asked, round, stored, all, feed } = await afterOutage(t, shops(3));
    await round();
    t.ok((await feed())!.fromLedger! > SEEN + LEDGERS - 20, 'the feed left the outage behind');
    await round();
    await round();
    t.same(await stored(), all);
    const byFeedAlone = Math.ceil((LEDGERS * PER_LEDGER) / PAGE);
    t.ok(
      asked.feed + asked.accounts < byFeedAlone / 2,
      `${asked.feed} + ${asked.accounts} requests, not ${byFeedAlone}`,
    );
    t.equal((await feed())!.ledger, SEEN + LEDGERS);
  },
);

t.test('more addresses than pages are caught up by the feed', async (t) => {
  const { asked, round, stored, all, feed } = await afterOutage(t, shops(40));
  await round();
  t.same(await stored(), all);
  t.equal(asked.accounts, 0);
  t.equal((await feed())!.fromLedger, 1500);
});

t.test('where a transaction of several pages takes too long, each round comes further', async (t) => {
  const { round, stored, all } = await afterOutage(t, shops(40), { fails: (credits) => credits > 4 });
  for (let before = 0; before < all.length; before = (await stored()).length) {
    await round().catch((error) => t.match(error, { message: /too long/ }));
    t.ok((await stored()).length > before);
  }
  t.same(await stored(), all);
});

t.test('a slow batch is stored in smaller parts from then on', async (t) => {
  const { round, stored, all, sizes } = await afterOutage(t, shops(40), { tookMs: (credits) => credits * 600 });
  await round();
  t.same(await stored(), all);
  t.ok(Math.max(...sizes) > 2, 'several pages at once');
  for (const [nth, size] of sizes.entries())
    if (sizes[nth - 1]! * 600 > 2000)
      t.ok(size <= Math.ceil(sizes[nth - 1]! / 2) + 1, `${size} after ${sizes[nth - 1]}`);
});

t.test(
  'a wallet stops being watched only when a server shows that it is past the window, whatever the root said: it may be behind, or of a network that was reset',
  async (t) => {
    const [shop] = shops(1);
    const ended = { from: { at: new Date(0), ledger: 1000 }, until: { at: new Date(0), ledger: 1700 } };
    const wallets = { active: false, windows: [ended] };
    for (const [pagesUntil, watching] of [
      [3, true],
      [1650, true],
      [SEEN + LEDGERS, false],
    ] as const) {
      const { stores, round } = await afterOutage(t, [shop!], { wallets, pagesUntil });
      await stores.system.cursors.remove([`${network}:feed`]);
      for (let rounds = 0; rounds < 3; rounds++) await round();
      const [wallet] = await stores.system.wallets.at(network, [shop!]);
      t.equal(wallet!.watching, watching, `pages of a server at ledger ${pagesUntil}`);
    }
  },
);

t.test('a reset that was not dealt with to its end is noticed again', async (t) => {
  const [shop] = shops(1);
  let failures = 1;
  const { stores, round } = await afterOutage(t, [shop!], {
    root: () => YOUNG_NETWORK,
    toWatcher: (stores) => ({
      ...stores,
      wallets: {
        ...stores.wallets,
        forgetLedgers: async (network) => {
          if (failures-- > 0) throw new Error('the database is away');
          return stores.wallets.forgetLedgers(network);
        },
      },
    }),
  });
  const seen = { latestLedger: SEEN, latestClosedAt: new Date('2026-01-01T00:00:00Z'), seenAt: new Date() };
  await stores.system.networkStates.save(network, { ...seen, anchor: null, trouble: null });
  await t.rejects(round(), { message: 'the database is away' });
  await round();
  t.equal((await stores.system.cursors.byId(`${network}:${shop}`))!.ledger, 3);
  t.match((await stores.system.wallets.at(network, [shop!]))[0], { gap: { fromLedger: 1, toLedger: 3 } });
  t.match((await stores.system.wallets.at(network, [shop!]))[0]!.windows, [{ from: { ledger: null } }]);
});

t.test('an address whose history always fails is not in the way of the others', async (t) => {
  const [broken, shop] = shops(2).sort() as [string, string];
  const { stores, asked, round, feed } = await afterOutage(t, [broken, shop]);
  await stores.system.cursors.remove([`${network}:feed`]);
  asked.broken = broken;
  for (let rounds = 0; rounds < 3; rounds++) await round();
  t.equal(await feed(), null, 'both are read one by one');
  t.equal((await stores.system.cursors.byId(`${network}:${shop}`))!.ledger, SEEN + LEDGERS);
  t.equal((await stores.system.cursors.byId(`${network}:${broken}`))!.ledger, 1600, 'it waits, and lags');
});

t.test(
  'records whose transactions a machine that is behind does not have are set aside, and recorded when they are there',
  async (t) => {
    const { asked, round, retry, parked, passTime, stored, all } = await afterOutage(t, shops(1), {
      transactionsFrom: 40,
    });
    await round();
    await round();
    t.ok((await parked()).length > 0);
    for (let tries = 0; tries < 20; tries++, passTime(10_000)) await retry();
    t.ok(asked.transactions > 40, `${asked.transactions} requests for transactions`);
    t.same(await stored(), all);
    t.same(await parked(), []);
  },
);

t.test(
  'where no transaction is there, a page asks for a few of them, and what was set aside is asked for ever more rarely',
  LONG,
  async (t) => {
    const { asked, round, retry, parked, passTime, stored, all } = await afterOutage(t, shops(1), {
      transactionsFrom: 1_000_000,
    });
    await round();
    const [pages, first] = [asked.feed + asked.accounts, asked.transactions];
    t.ok(first <= 16 * pages, `${first} requests in ${pages} pages`);
    t.equal((await parked()).length, all.length);
    t.match(await parked(), [{ reason: 'its transaction cannot be fetched' }]);
    // For an hour.
    for (let looks = 0; looks < 360; looks++, passTime(10_000)) await retry();
    const tries = (asked.transactions - first) / all.length;
    t.ok(tries >= 5 && tries <= 20, `${tries} tries of each within an hour`);
    t.same(await stored(), []);
  },
);

for (const [way, count] of [
  ['by its own history', 1],
  ['by the feed', 40],
] as const)
  t.test(
    `one record that lacks its transaction keeps no other waiting, and is recorded within seconds once it is there, read ${way}`,
    async (t) => {
      const { asked, round, retry, parked, passTime, stored, all } = await afterOutage(t, shops(count), {
        lacking: 30,
      });
      await round();
      await round();
      const late = all[3]!;
      t.same(
        await stored(),
        all.filter((id) => id !== late),
        'all others, at once',
      );
      t.match(await parked(), [{ _id: `${network}:${late}`, ledger: SEEN + 4, dismissed: null }]);
      t.equal((await parked())[0]!.concerns.length, 1);
      for (let tries = 0; tries < 10; tries++, passTime(1000)) await retry();
      t.equal((await parked()).length, 1);
      asked.isLate = false;
      for (let tries = 0; tries < 10; tries++, passTime(1000)) await retry();
      t.same(await stored(), all);
      t.same(await parked(), []);
    },
  );
