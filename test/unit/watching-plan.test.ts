/** What a round of watching decides, by tables: no database, no server. */
import t from 'tap';
import { createReadiness } from '../../src/api/readiness.js';
import { createLedgerStamper } from '../../src/asking/ledger-stamper.js';
import { covers, effectiveCursor, shownCursor, wasRead } from '../../src/domain/coverage.js';
import { toLedgerTime } from '../../src/domain/ledger-time.js';
import { isWatched, mayBeInForce } from '../../src/domain/terms.js';
import type { LedgerSession } from '../../src/ledger/network-ledger.js';
import { type LedgerTip, LedgerUnavailable } from '../../src/ledger/source.js';
import type { CursorDoc } from '../../src/watching/cursors.js';
import { createResets } from '../../src/watching/lost-ledgers.js';
import {
  createClockBound,
  createClockCheck,
  createKnownCloses,
  type NetworkStateDoc,
  sourceWarning,
} from '../../src/watching/network-states.js';
import { retryParked } from '../../src/watching/parked.js';
import { checkReset, droppedLedger, planGap, planMode, planRead, planStreams } from '../../src/watching/plan.js';
import { createStreamFailures } from '../../src/watching/stream-reader.js';
import { knownStart, planStops, startOf, streamsToCheck, unreadWindows } from '../../src/watching/wallet-starts.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import { hostFunction, PAYER, SHOP } from '../helpers/horizon-records.js';
import { manualClock } from '../helpers/manual-clock.js';
import { parkedDoc } from '../helpers/stores.js';

const START = Date.parse('2026-01-02T03:04:05Z');
/** When a ledger closes. */
const at = (ledger: number, plusMs = 0) => new Date(START + ledger * 5000 + plusMs);
const tip = (latestLedger: number, fields: Partial<LedgerTip> = {}): LedgerTip => ({
  latestLedger,
  latestClosedAt: at(latestLedger),
  oldestLedger: 2,
  passphrase: 'x',
  version: null,
  protocol: null,
  isBehind: false,
  ...fields,
});
const cursor = (name: string, ledger: number, shownLedger = ledger, fields: Partial<CursorDoc> = {}): CursorDoc => ({
  _id: `TESTNET:${name}`,
  network: 'TESTNET',
  address: name === 'feed' ? null : name,
  cursor: `${BigInt(shownLedger) << 32n}`,
  ledger,
  closedAt: at(ledger),
  readAt: at(ledger),
  shownLedger,
  shownClosedAt: at(shownLedger),
  fromLedger: null,
  recordLedger: null,
  ...fields,
});
const feed = (fromLedger: number, shownLedger: number, ledger = shownLedger) =>
  cursor('feed', ledger, shownLedger, { fromLedger });

t.test('a reset is told from a server that lags', async (t) => {
  const anchor = { ledger: 900, hash: 'ab' };
  const state = { latestLedger: 1000, latestClosedAt: at(1000), seenAt: at(1000), anchor };
  const cases: [string, LedgerTip, typeof state | null, number, string][] = [
    ['the first round', tip(5), null, 0, 'same_network'],
    ['the next ledger', tip(1001), state, 5000, 'same_network'],
    ['a server behind shows an old ledger that closed long ago', tip(600), state, 5000, 'same_network'],
    ['a young ledger with a low number', tip(5, { latestClosedAt: at(1010) }), state, 50_000, 'compare_hash'],
    [
      'the same without a hash',
      tip(5, { latestClosedAt: at(1010) }),
      { ...state, anchor: null as never },
      50_000,
      'reset',
    ],
    ['after a silence in which a new network may have outgrown', tip(1005), state, 60_000, 'compare_hash'],
    ['no network grows to a million in a minute', tip(1_000_000), state, 60_000, 'same_network'],
    ['without a hash', tip(1005), { ...state, anchor: null as never }, 60_000, 'same_network'],
  ];
  for (const [name, newest, before, laterMs, expected] of cases)
    t.equal(checkReset(newest, before, at(1000).getTime() + laterMs), expected, name);
});

t.test('one wrong claim about the newest ledger is no reset', async (t) => {
  const anchor = { ledger: 900, hash: 'ab' };
  const state = { latestLedger: 9_000_000, latestClosedAt: at(1000), seenAt: at(1000), anchor } as NetworkStateDoc;
  const resets = createResets({ clock: { nowMs: () => at(1010).getTime() } } as Parameters<typeof createResets>[0]);
  const happened = (newest: number, known: Record<number, string>) => {
    const ledger = async (sequence: number) => (known[sequence] ? { sequence, hash: known[sequence] } : null);
    return resets.happened({ ledger } as unknown as LedgerSession, tip(newest, { latestClosedAt: at(1010) }), state);
  };
  t.equal(await happened(1002, { 900: 'ab' }), false, 'the network goes on');
  t.equal(await happened(950, { 900: 'cd' }), true, 'another network has come as far');
  t.equal(await happened(5, {}), true, 'another one has not');
});

t.test('few addresses are read one by one, more by the feed of the whole network', async (t) => {
  const base = {
    tip: tip(1000),
    feed: null,
    addresses: 2,
    readOneByOne: 2,
    histories: 'complete' as const,
    lowestNearLedger: null,
  };
  const cases: [string, Partial<Parameters<typeof planMode>[0]>, object][] = [
    ['a few addresses', {}, { kind: 'accounts' }],
    ['more', { addresses: 3 }, { kind: 'start_feed', fromLedger: 1000 }],
    [
      'the feed begins where addresses were shown to',
      { addresses: 3, lowestNearLedger: 940 },
      { kind: 'start_feed', fromLedger: 940 },
    ],
    [
      'not before what is kept',
      { addresses: 3, lowestNearLedger: 940, tip: tip(1000, { oldestLedger: 960 }) },
      { kind: 'start_feed', fromLedger: 959 },
    ],
    ['still more than half', { feed: feed(900, 1000) }, { kind: 'feed' }],
    ['half as many', { feed: feed(900, 1000), addresses: 1 }, { kind: 'detach_feed' }],
    [
      'histories that leave records out: the feed for one',
      { addresses: 1, histories: 'lossy' },
      { kind: 'start_feed', fromLedger: 1000 },
    ],
    ['and it stays', { feed: feed(900, 1000), addresses: 0, histories: 'lossy' }, { kind: 'feed' }],
    [
      'an address that lacks what came before: its history is not asked, the feed begins again',
      { feed: feed(990, 1000), histories: 'lossy', lowestNearLedger: 985 },
      { kind: 'start_feed', fromLedger: 985 },
    ],
    [
      'once is enough where older ledgers are dropped',
      { feed: feed(990, 1000), histories: 'lossy', lowestNearLedger: 985, tip: tip(1000, { oldestLedger: 991 }) },
      { kind: 'feed' },
    ],
    ['a tip that lags is no reason', { feed: feed(990, 1000), histories: 'lossy', tip: tip(980) }, { kind: 'feed' }],
    [
      'nor where addresses have cursors of their own',
      { feed: feed(990, 1000), histories: 'lossy', tip: tip(980), lowestNearLedger: 995 },
      { kind: 'feed' },
    ],
    ['histories that are whole are read', { feed: feed(990, 1000), lowestNearLedger: 985 }, { kind: 'feed' }],
  ];
  for (const [name, changes, expected] of cases) t.same(planMode({ ...base, ...changes }), expected, name);
});

t.test('what a server merely claimed makes no address join the feed', async (t) => {
  const claimed = cursor('G', 1000, 700);
  t.notOk(covers(feed(990, 1010), claimed), 'its page may have come from a server 300 ledgers behind');
  t.ok(covers(feed(990, 1010), cursor('G', 1000, 990)));
  t.equal(effectiveCursor(claimed, feed(990, 1010)), claimed);
  t.match(shownCursor(cursor('G', 1000, 995), feed(990, 998, 1010)), { address: null });
});

t.test('a stream is asked how far its server is when that matters, and only then', async (t) => {
  const cases: [string, CursorDoc, LedgerTip, number | null, string][] = [
    ['no ledger is new', cursor('G', 1000, 500), tip(1000), 900, 'nothing_new'],
    ['a new ledger', cursor('G', 1000), tip(1001), null, 'read'],
    ['a false claim has counted as read', cursor('G', 9_000_000, 1000), tip(1001), null, 'quiet_check'],
    ['a claim of one ledger too many', cursor('G', 1002, 1000), tip(1001), null, 'read'],
    ['the feed waits for it', cursor('G', 1000, 800), tip(1001), 900, 'quiet_check'],
    ['it was shown far enough', cursor('G', 1000, 960), tip(1001), 900, 'read'],
    ['quiet for long', cursor('G', 900_000, 899_000), tip(900_001), null, 'quiet_check'],
    ['quiet for a while', cursor('G', 900_000, 899_500), tip(900_001), null, 'read'],
    [
      'quiet for long beside what is kept',
      cursor('G', 900_000, 899_900),
      tip(900_001, { oldestLedger: 899_001 }),
      null,
      'quiet_check',
    ],
  ];
  for (const [name, stream, newest, mustShow, expected] of cases)
    t.equal(planRead(stream, newest, mustShow), expected, name);
});

t.test('streams that failed go last and wait as long as there are others', async (t) => {
  const [a, b, c] = [cursor('A', 1), cursor('B', 1), cursor('C', 1)];
  const ids = (streams: CursorDoc[]) => streams.map(({ address }) => address);
  const failures = new Map([
    [a!._id, { untilMs: 500 }],
    [b!._id, { untilMs: 2000 }],
  ]);
  t.same(ids(planStreams([a!, b!, c!], failures, 1000)), ['C', 'A']);
  t.same(ids(planStreams([a!, b!, c!], failures, 0)), ['C']);
  t.same(ids(planStreams([a!, b!], failures, 0)), ['A', 'B'], 'nothing else is there to read');
});

t.test('a gap is believed when every source has answered that it no longer has the ledgers', async (t) => {
  const main = { server: 'a', tip: tip(1000, { oldestLedger: 500 }) };
  const other = (oldestLedger: number, latestLedger = 1000) => ({
    server: 'b',
    tip: tip(latestLedger, { oldestLedger }),
  });
  const away = { server: 'b', tip: null };
  const HOUR = 3_600_000;
  const cases: [string, ReturnType<typeof other>[] | unknown[], number, object][] = [
    ['the only source', [main], 0, { kind: 'gap', toLedger: 499 }],
    ['another has them', [main, other(2)], 0, { kind: 'read_elsewhere', server: 'b' }],
    ['another has some of them', [main, other(450)], 0, { kind: 'gap', toLedger: 449 }],
    ['another has none', [main, other(600)], 0, { kind: 'gap', toLedger: 499 }],
    ['another is away', [main, away], HOUR - 1, { kind: 'wait', servers: ['b'] }],
    ['for an hour', [main, away], HOUR, { kind: 'gap', toLedger: 499 }],
    ['another has not come so far', [main, other(2, 300)], 0, { kind: 'wait', servers: ['b'] }],
  ];
  for (const [name, tips, waitedMs, expected] of cases)
    t.same(planGap(400, main.tip, tips as never, waitedMs), expected, name);
  t.same(planGap(500, main.tip, [], 0), { kind: 'none' });
});

const window = (from: number, until: number | null) => ({
  from: { at: at(from), ledger: from },
  until: until === null ? null : { at: at(until), ledger: until },
});
const wallet = (windows: WalletDoc['windows'], fields: Partial<WalletDoc> = {}) =>
  ({ _id: 'w', network: 'TESTNET', address: 'G', windows, readTo: null, ...fields }) as WalletDoc;

t.test('a window of a wallet is read until all of its ledgers are', async (t) => {
  const [first, second] = [window(100, 200), window(300, null)];
  const forgotten = { ...first, until: { ...first.until!, ledger: null } };
  const readTo = { ledger: 200, at: at(201), closedAt: at(201) };
  const cases: [
    string,
    WalletDoc,
    CursorDoc | undefined,
    Pick<NetworkStateDoc, 'latestLedger' | 'resetAt'> | null,
    unknown[],
  ][] = [
    ['a new wallet', wallet([second]), undefined, null, [second]],
    ['never read', wallet([first, second]), undefined, null, [first, second]],
    ['shown past the first', wallet([first, second]), cursor('G', 250), null, [second]],
    ['claimed past the first', wallet([first, second]), cursor('G', 250, 150), null, [first, second]],
    ['read before it stopped', wallet([first, second], { readTo }), undefined, null, [second]],
    [
      'after a reset, which makes stamps forget their ledgers',
      wallet([forgotten, second], { readTo }),
      undefined,
      { latestLedger: 9, resetAt: at(250) },
      [second],
    ],
    [
      'what a reset took away cannot be read',
      wallet([forgotten, second]),
      undefined,
      { latestLedger: 9, resetAt: at(250) },
      [second],
    ],
  ];
  for (const [name, doc, own, state, expected] of cases) t.same(unreadWindows([doc], own, state), expected, name);
});

t.test('where a window begins: by its ledger, unless only its time can tell', async (t) => {
  const state = { latestLedger: 60, resetAt: at(50) };
  t.same(startOf(window(55, null), { tip: tip(60), state }), { ledger: 55, closedAt: at(55) });
  t.equal(startOf(window(500_000, null), { tip: tip(60), state }), null, 'a ledger of the network before the reset');
  t.same(startOf(window(58, null), { tip: tip(40), state }), { ledger: 58, closedAt: at(58) }, 'this server lags');
  t.equal(startOf(window(5, null), { tip: tip(60, { oldestLedger: 20 }), state }), null, 'it is no longer kept');
});

t.test('a close time was a false claim → the next ledger that contradicts it puts it right', async (t) => {
  const knownCloses = createKnownCloses();
  const told = (ledger: number, closedAt = at(ledger)) => knownCloses.note({ ledger, closedAt });
  const known = () => [55, 56, 57, 9_000_000].map((ledger) => knownCloses.atOrBefore(ledger)?.ledger);
  told(55);
  told(56, at(1_000_000));
  told(57);
  t.same(known(), [55, 55, 57, 57], 'a time far ahead');
  told(9_000_000, at(57, 2000));
  told(58);
  t.same(known(), [55, 55, 57, 58], 'a ledger far ahead');
  told(58, at(58, 1000));
  t.same(knownCloses.atOrBefore(58)?.closedAt, at(58, 1000), 'told again');
});

t.test('a search is spared where a ledger of this network is known to have closed just before', async (t) => {
  const knownCloses = createKnownCloses();
  for (const ledger of [40, 55, 70]) knownCloses.note({ ledger, closedAt: at(ledger) });
  const after = (ledger: number, ms: number) => new Date(at(ledger).getTime() + ms);
  const found = (before: Date, newest: number, { oldest = 2, resetAt = null as Date | null } = {}) =>
    knownStart(knownCloses, before, {
      tip: tip(newest, { oldestLedger: oldest }),
      state: { latestLedger: newest, resetAt },
    })?.ledger ?? null;
  t.equal(found(after(55, 0), 80), 55);
  t.equal(found(after(70, 15_000), 80), 70);
  t.equal(found(after(70, 15_001), 80), null, 'too long before');
  t.equal(found(after(40, -1), 80), null, 'none is known');
  t.equal(found(after(70, 1000), 69), null, 'this server lags, or the network was reset');
  t.equal(found(after(70, 1000), 80, { resetAt: at(70) }), null, 'the network was reset');
  t.equal(found(after(70, 1000), 80, { resetAt: at(69) }), 70);
  t.equal(found(after(70, 1000), 80, { oldest: 71 }), 70);
  t.equal(found(after(70, 1000), 80, { oldest: 72 }), null, 'what came next is no longer kept');
});

t.test('a wallet stops being watched by what was shown, and what seems past is asked for', async (t) => {
  const ended = wallet([window(100, 200)]);
  const own = (stream: CursorDoc) => new Map([[stream._id, stream]]);
  const isDone = (stream: CursorDoc, network: CursorDoc | null = null) =>
    planStops([ended], own(stream), network)[0]!.isDone;
  t.notOk(isDone(cursor('G', 260, 190)), 'the root was of a server ahead');
  t.ok(isDone(cursor('G', 260, 201)));
  t.notOk(isDone(cursor('G', 260, 200)), 'ledgers may have closed between the newest known one and the moment');
  t.ok(isDone(cursor('G', 150, 150), feed(120, 300)), 'by the feed');
  t.notOk(isDone(cursor('G', 150, 110), feed(120, 300)), 'which does not cover it');
  t.same(
    streamsToCheck(planStops([ended], own(cursor('G', 260, 190)), null)).map(({ _id }) => _id),
    ['TESTNET:G'],
  );
  t.same(streamsToCheck(planStops([ended], own(cursor('G', 150)), null)), []);
});

t.test('what was read before is told by the ledger’s time, however far the host’s clock is ahead', async (t) => {
  const readTo = { ledger: 150, at: at(900), closedAt: at(150) };
  t.ok(wasRead(window(100, 150), undefined, readTo));
  t.notOk(wasRead(window(160, 200), undefined, readTo), 'it began after the last ledger that was read');
  t.ok(wasRead(window(160, 200), undefined, { ...readTo, closedAt: null }), 'stored before there was a close time');
});

t.test('a wallet made active again and inactive within what was read already stops being watched', async (t) => {
  const readTo = { ledger: 200, at: at(200), closedAt: at(200) };
  const isDone = (windows: WalletDoc['windows']) =>
    planStops([wallet(windows, { readTo })], new Map(), null)[0]!.isDone;
  t.ok(isDone([window(100, 150), window(160, 160)]));
  t.notOk(isDone([window(100, 150), window(160, 210)]), 'what came after that has to be read');
});

t.test('histories of an old Horizon are not relied on, and that is said', async (t) => {
  for (const version of ['28.0.0', '28.1.0', '29.0.0', null]) t.equal(sourceWarning(version), null, `${version}`);
  for (const version of ['27.1.1', '22.0.3', '23.0.0'])
    t.match(sourceWarning(version), /can leave records out/, version);
  for (const version of ['22.0.2', '21.9.9', '2.31.0']) t.match(sourceWarning(version), /contract payments/, version);
});

t.test('a stream that fails waits longer each time, unless it has come further', async (t) => {
  const failures = createStreamFailures();
  const waits = (stream: string, nowMs: number) => {
    failures.failed({ _id: 'TESTNET:G', cursor: stream }, nowMs);
    return failures.all.get('TESTNET:G')!.untilMs - nowMs;
  };
  t.same(
    ['1', '1', '1', '2', '3', '3'].map((stands) => waits(stands, 50_000)),
    [1000, 2000, 4000, 1000, 1000, 2000],
  );
  for (let n = 0; n < 10; n++) waits('3', 50_000);
  t.equal(waits('3', 50_000), 60_000);
  t.same(failures.waiting(100_000), ['TESTNET:G']);
  failures.succeeded('TESTNET:G');
  t.same(failures.waiting(100_000), []);
});

t.test('how far the clock is off is measured by when ledgers are seen', async (t) => {
  for (const [offMs, delayMs] of [
    [0, 2000],
    [30_000, 2000],
    [-30_000, 1000],
  ] as const) {
    const check = createClockCheck();
    for (let ledger = 1; ledger <= 20; ledger++) {
      if (ledger < 4) t.equal(check.aheadMs(), null);
      check.saw(tip(ledger), at(ledger, delayMs + offMs + (ledger % 3) * 500).getTime());
      // A server that lags is no clock that is wrong.
      check.saw(tip(ledger - 30), at(ledger, delayMs + offMs).getTime());
    }
    t.equal(check.aheadMs(), offMs + delayMs);
  }
});

t.test('other sources are asked only for what an address lacks and the feed does not cover', async (t) => {
  const tip = { oldestLedger: 60, latestLedger: 100 };
  const feedFrom = (fromLedger: number) => ({ fromLedger }) as CursorDoc;
  const cases: [feed: CursorDoc | null, isLossy: boolean, lowest: number | null, expected: number | null][] = [
    [null, true, 50, 51],
    [null, true, 59, null],
    [null, true, null, null],
    [null, false, 50, null],
    [feedFrom(59), true, 50, 51],
    [feedFrom(50), true, 50, null],
  ];
  for (const [feed, isLossy, lowestNearLedger, expected] of cases)
    t.equal(droppedLedger({ tip, feed, histories: isLossy ? 'lossy' : 'complete', lowestNearLedger }), expected);
});

t.test('a round that took long does not make a clock look wrong', async (t) => {
  const seen = { latestLedger: 100, latestClosedAt: at(100), seenAt: at(100, 30_000) };
  const latestSeen = { at: at(100, 2000), by: 'here' };
  const state = { ...seen, latestSeen, clockAheadMs: null, clockHost: 'here', trouble: null };
  const now = at(100, 31_000);
  const stamper = createLedgerStamper({
    ledgers: new Map(),
    networkStates: { byNetwork: async () => state as unknown as NetworkStateDoc },
    clock: manualClock(now.getTime()),
    host: 'here',
  });
  t.strictSame(await stamper.stamp('TESTNET'), { at: now, ledger: 100 });
});

t.test('with a clock that is 30 s off no first ledger is lost, and the price of the moment counts', async (t) => {
  for (const offMs of [-30_000, 0, 30_000]) {
    // Ledger 100 closed 2 s ago.
    const now = at(100, 2000 + offMs);
    const state = {
      latestLedger: 100,
      latestClosedAt: at(100),
      seenAt: now,
      clockAheadMs: offMs + 1500,
      clockHost: 'here',
      trouble: null,
    };
    const clock = manualClock(now.getTime());
    const stamper = createLedgerStamper({
      ledgers: new Map(),
      networkStates: { byNetwork: async () => state as unknown as NetworkStateDoc },
      clock,
      host: 'here',
    });
    const stamp = await stamper.stamp('TESTNET');
    const close = (ledger: number) => ({ ledger, closedAt: at(ledger) });
    for (const ledger of [90, 95, 99, 100])
      t.notOk(isWatched([{ from: stamp, until: null }], close(ledger)), `${offMs}: ${ledger} is before`);
    for (const ledger of [101, 102, 105, 110])
      t.ok(isWatched([{ from: stamp, until: null }], close(ledger)), `${offMs}: ${ledger} is after`);
    const prices = [
      { from: null, terms: 'old' },
      { from: stamp, terms: 'new' },
    ];
    t.strictSame(mayBeInForce(prices, close(100)), ['old']);
    t.strictSame(mayBeInForce(prices, close(101)), ['new']);
  }
  t.same(toLedgerTime(at(1), 7000), at(1), 'ledgers are seen some seconds after they closed');
});

t.test('an unmeasured clock that is off loses no first ledger and no price', async (t) => {
  for (const offMs of [-60_000, -30_000, 0, 30_000, 60_000]) {
    const clock = manualClock(at(100, 2000 + offMs).getTime());
    let newest = 100;
    let requests = 0;
    const session = () => ({
      tip: async () => {
        requests += 1;
        return tip(newest);
      },
    });
    let state: NetworkStateDoc | null = null;
    const stamper = createLedgerStamper({
      ledgers: new Map([['TESTNET', { session } as never]]),
      networkStates: { byNetwork: async () => state },
      clock,
      host: 'here',
    });
    const holds = async (ledgerThen: number, what: string) => {
      const stamp = await stamper.stamp('TESTNET');
      const close = (ledger: number) => ({ ledger, closedAt: at(ledger) });
      for (const behind of [0, 1, 5, 10])
        t.notOk(isWatched([{ from: stamp, until: null }], close(ledgerThen - behind)), `${what}: −${behind}`);
      for (const ahead of [1, 2, 5, 10])
        t.ok(isWatched([{ from: stamp, until: null }], close(ledgerThen + ahead)), `${what}: +${ahead}`);
    };
    await holds(100, `${offMs}, before the watcher looked`);
    // A watcher on another machine has measured its own clock.
    for (newest = 101; newest < 105; newest++) {
      clock.advance(5000);
      const seen = { latestLedger: newest, latestClosedAt: at(newest), seenAt: clock.now(), trouble: null };
      state = { ...seen, clockAheadMs: 1500, clockHost: 'there' } as NetworkStateDoc;
      await holds(newest, `${offMs}, the clock of another host was measured`);
    }
    t.equal(requests, 1, 'one question tells the clock');
  }
});

t.test('a server far behind is no clock that is ahead, and old answers say nothing', async (t) => {
  const bound = createClockBound();
  const nowMs = at(103).getTime();
  t.equal(bound.aheadMs(nowMs), null);
  bound.saw(tip(70), at(100, 2000).getTime());
  t.equal(bound.aheadMs(nowMs), null, 'a source that is behind and does not say so is likelier');
  bound.saw({ ...tip(98), isBehind: true }, at(100, 2000).getTime());
  t.equal(bound.aheadMs(nowMs), null, 'one that says so tells nothing');
  bound.saw(tip(101), at(101, 2000).getTime());
  for (let time = 0; time < 50; time += 1) bound.saw(tip(98), at(102, 2000 + time).getTime());
  t.equal(bound.aheadMs(nowMs), 2000, 'the best answer counts, however many others come after it');
  t.not(bound.aheadMs(nowMs + 400_000), 2000, 'it is too old');
});

t.test('measurements of a clock are forgotten when it is set', async (t) => {
  const [bound, check] = [createClockBound(), createClockCheck()];
  for (let ledger = 1; ledger <= 5; ledger++) {
    const steadyMs = ledger * 5000;
    bound.saw(tip(ledger), at(ledger, 2000).getTime(), steadyMs);
    check.saw(tip(ledger), at(ledger, 2000).getTime(), steadyMs);
  }
  t.equal(bound.aheadMs(at(5, 3000).getTime(), 26_000), 2000);
  t.equal(check.aheadMs(), 2000);
  const set = at(5, 3000 - 35_000).getTime();
  t.equal(bound.aheadMs(set, 26_000), null);
  check.saw(tip(5), set, 26_000);
  t.equal(check.aheadMs(), null);
});

t.test('a source that catches up says nothing of the clock', async (t) => {
  const check = createClockCheck();
  for (let ledger = 1; ledger <= 5; ledger++) check.saw(tip(ledger), at(ledger, 1500).getTime());
  // Away for ten minutes; then a hundred ledgers come within a minute.
  const backMs = at(125).getTime();
  for (let ledger = 6; ledger <= 120; ledger++) check.saw(tip(ledger), backMs + (ledger - 6) * 600);
  t.equal(check.aheadMs(), 1500);
});

t.test('health warns of a clock that is off and of a source that needs an upgrade, and stays ready', async (t) => {
  const now = new Date(START);
  const readinessOf = (state: Partial<NetworkStateDoc>) =>
    createReadiness({
      parkedRecords: { countSince: async () => 0 },
      database: { ping: async () => undefined, refusesWrites: () => false },
      networkStates: {
        all: async () => [{ _id: 'TESTNET', seenAt: now, ...state }],
        troublesOfUnread: async () => new Map(),
      } as never,
      ratePairs: null,
      mails: null,
      networks: ['TESTNET'],
      clock: manualClock(START),
    }).check();
  t.same(await readinessOf({ clockAheadMs: 7000, clockHost: 'a' }), { reasons: [], warnings: [] });
  for (const [clockAheadMs, said] of [
    [30_400, 'the clock of a is 30 s ahead of the close times of TESTNET: set it'],
    [-12_000, 'the clock of a is 12 s behind the close times of TESTNET: set it'],
  ] as const) {
    t.same(await readinessOf({ clockAheadMs, clockHost: 'a' }), { reasons: [], warnings: [said] });
  }
  const sourceWarning = 'Horizon 27.0.0 can leave records out';
  t.same((await readinessOf({ sourceWarning })).warnings, [`TESTNET: ${sourceWarning}`]);
});

t.test('while the watcher is up to date a stamp costs no request; else all who ask share one', async (t) => {
  const clock = manualClock(START);
  let requests = 0;
  const session = () => ({
    tip: async () => {
      requests += 1;
      return tip(110);
    },
  });
  let state = { latestLedger: 100, seenAt: clock.now(), trouble: null as unknown };
  const stamper = createLedgerStamper({
    ledgers: new Map([['TESTNET', { session } as never]]),
    networkStates: { byNetwork: async () => state as NetworkStateDoc },
    clock,
  });
  t.match(await stamper.stamp('TESTNET'), { ledger: 100 });
  t.equal(requests, 0);
  clock.advance(60_000);
  const stamps = await Promise.all(Array.from({ length: 30 }, () => stamper.stamp('TESTNET')));
  t.ok(stamps.every(({ ledger }) => ledger === 110));
  t.equal(requests, 1);
  state = { ...state, latestLedger: 120 };
  clock.advance(60_000);
  t.match(await stamper.stamp('TESTNET'), { ledger: 120 }, 'a server that lags takes no stamp back');
  state = { ...state, trouble: { since: clock.now(), reason: 'away' } };
  clock.advance(60_000);
  await stamper.stamp('TESTNET');
  t.equal(requests, 2, 'while no source answers, no caller waits for one');
});

t.test('a try without an answer keeps the reason for which a record is parked', async (t) => {
  const noted: object[] = [];
  const away = { transactionRecords: () => Promise.reject(new LedgerUnavailable('HTTP 503', 0)) };
  const { reason } = await retryParked(
    {
      wallets: { ours: async () => new Set([SHOP]) },
      parkedRecords: { noteTry: async (_id, changes) => void noted.push(changes) },
      recorder: { record: async () => [] },
      clock: manualClock(START),
    },
    parkedDoc({ _id: 'TESTNET:1', network: 'TESTNET', raw: JSON.stringify(hostFunction([{ type: 'teleport' }])) }),
    [away as never],
  );
  t.match(reason, /HTTP 503/, 'the try says what failed');
  t.same(noted.map(Object.keys), [['nextTryAt']]);
});

t.test('trying a parked record again never discards what is still not understood', async (t) => {
  const change = (fields: Record<string, unknown>) => ({
    asset_type: 'native',
    type: 'transfer',
    from: PAYER,
    to: SHOP,
    amount: '1.0000000',
    ...fields,
  });
  const raw = hostFunction([change({}), change({ type: 'teleport' })]);
  const token = raw.paging_token as string;
  const retry = async (_id: string, changes: unknown, addresses: readonly string[]) => {
    const kept = new Set([_id]);
    const outcome = await retryParked(
      {
        wallets: { ours: async () => new Set(addresses) },
        parkedRecords: { noteTry: async () => undefined },
        recorder: {
          record: async (_network, { credits, parked = [], resolves = '' }) => {
            for (const each of parked) kept.add(each._id);
            kept.delete(resolves);
            return credits as never;
          },
        },
        clock: manualClock(START),
      },
      parkedDoc({ _id, network: 'TESTNET', raw: JSON.stringify(changes) }),
      [{ transactionRecords: async () => null } as never],
    );
    return { ...outcome, kept: [...kept] };
  };
  const whole = `TESTNET:${token}`;
  const second = `${whole}:1`;
  t.match(
    await retry(whole, raw, [SHOP]),
    { payments: 1, kept: [second], reason: /unknown type/ },
    'parked as a whole before an upgrade that understands one of its changes',
  );
  t.match(await retry(second, raw, [SHOP]), { kept: [second], reason: /unknown type/ });
  t.match(await retry(second, raw, []), { kept: [second] }, 'also when its wallet is gone');
  t.match(await retry(whole, hostFunction([change({})]), [SHOP]), { payments: 1, kept: [], reason: null });
});
