/** The loop around rounds of watching, on a clock that is moved by hand: when it begins a round.
 *  What a round does is tested where it is whole. */
import { pino } from 'pino';
import t from 'tap';
import { createLedger, type NetworkLedger } from '../../src/ledger/network-ledger.js';
import { LedgerUnavailable } from '../../src/ledger/source.js';
import type { NetworkStateStore } from '../../src/watching/network-states.js';
import { createPollScheduler, rateOfCommon, spend } from '../../src/watching/poll-scheduler.js';
import { watch } from '../../src/watching/watch.js';
import { budgetOf } from '../helpers/budget.js';
import { manualClock } from '../helpers/manual-clock.js';

const POLL_MS = 4000;
const STEP_MS = 10;

interface Moment {
  ledger: number;
  atMs: number;
}

/** @param newestAt the newest ledger after so many ms. @returns the rounds; each reads when the
 *  ledger is another one than at the last reading. */
async function roundsOf(newestAt: (atMs: number) => number, forMs: number): Promise<Moment[]> {
  const clock = manualClock();
  const startMs = clock.nowMs();
  const atMs = () => clock.nowMs() - startMs;
  const rounds: Moment[] = [];
  const ended = new AbortController();
  const watching = watch(
    {
      network: 'LOCAL',
      watcher: {
        async round(_session, { latestLedger: ledger }) {
          const before = rounds.at(-1)?.ledger;
          rounds.push({ ledger, atMs: atMs() });
          return before === ledger ? 0 : 1;
        },
      },
      ledger: {
        othersSpent: () => 0,
        session: () => ({ requests: 1, tip: async () => ({ latestLedger: newestAt(atMs()) }) }),
      } as unknown as NetworkLedger,
      leases: { hold: async () => true, release: async () => undefined },
      networkStates: { noteTrouble: async () => undefined } as unknown as NetworkStateStore,
      retries: { run: async () => undefined },
      holder: 'test',
      pollIntervalMs: POLL_MS,
      requestsPerHour: null,
      clock,
      log: pino({ level: 'silent' }),
    },
    ended.signal,
  );
  while (atMs() < forMs) {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(STEP_MS);
  }
  ended.abort();
  await watching;
  return rounds;
}

t.test('a ledger is read when it is seen, though a round that had nothing to read came just before', async (t) => {
  for (const visibleMs of [6100, 6500, 6900, 7300]) {
    const rounds = await roundsOf((atMs) => (atMs < visibleMs ? 1 : 2), 12_000);
    t.ok(rounds.filter(({ ledger }) => ledger === 1).length > 3, 'rounds without a new ledger go on');
    const waitedMs = rounds.find(({ ledger }) => ledger === 2)!.atMs - visibleMs;
    // Looks are a quarter of the poll interval apart.
    t.ok(waitedMs <= POLL_MS / 4 + 2 * STEP_MS, `read after ${waitedMs} ms`);
  }
});

t.test('two readings of what is new are at least the poll interval apart', async (t) => {
  const rounds = await roundsOf((atMs) => Math.floor(atMs / 700), 40_000);
  t.ok(rounds.length >= 8, `${rounds.length} readings`);
  const apart = rounds.slice(1).map(({ atMs }, n) => atMs - rounds[n]!.atMs);
  t.ok(Math.min(...apart) >= POLL_MS, `${Math.min(...apart)} ms`);
});

t.test('a small budget is spent on reading, after an outage too', async (t) => {
  const HOURS = 4;
  for (const perHour of [30, 300, 400]) {
    const clock = manualClock();
    const startMs = clock.nowMs();
    const atMs = () => clock.nowMs() - startMs;
    const sent = { roots: 0, pages: 0 };
    let wholeAtMicros = 0;
    const horizon = createLedger({
      network: 'LOCAL',
      horizonUrls: ['http://horizon.example'],
      rpcUrls: [],
      passphrase: 'x',
      budget: budgetOf({
        async take() {
          const spent = spend(wholeAtMicros, clock.nowMs() * 1000, 1, rateOfCommon(perHour));
          wholeAtMicros = spent.wholeAtMicros;
          return spent.waitMs;
        },
      }),
      clock,
      log: pino({ level: 'silent' }),
      fetch: async (text) => {
        const isRoot = new URL(text).pathname === '/';
        sent[isRoot ? 'roots' : 'pages'] += 1;
        const latest = 1000 + Math.floor(atMs() / 5000);
        const body = isRoot
          ? {
              history_latest_ledger: latest,
              history_latest_ledger_closed_at: clock.now().toISOString(),
              history_elder_ledger: 2,
              network_passphrase: 'x',
            }
          : { _embedded: { records: [] } };
        // For ten minutes there is no page to be had.
        const status = !isRoot && atMs() < 600_000 ? 503 : 200;
        return {
          status,
          headers: { get: () => null },
          body: (async function* () {
            yield Buffer.from(JSON.stringify(body));
          })(),
        };
      },
    });
    const ended = new AbortController();
    const watching = watch(
      {
        network: 'LOCAL',
        watcher: {
          async round(session) {
            await session.payments('1', 200);
            return 1;
          },
        },
        ledger: horizon,
        leases: { hold: async () => true, release: async () => undefined },
        networkStates: { noteTrouble: async () => undefined } as unknown as NetworkStateStore,
        retries: { run: async () => undefined },
        holder: 'test',
        pollIntervalMs: POLL_MS,
        requestsPerHour: perHour,
        clock,
        log: pino({ level: 'silent' }),
      },
      ended.signal,
    );
    while (atMs() < HOURS * 3_600_000) {
      for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1000);
    }
    ended.abort();
    await watching;
    const all = sent.roots + sent.pages;
    t.ok(all <= perHour * (HOURS + 1), `${perHour}/h: ${all} requests`);
    t.ok(sent.pages >= 0.3 * perHour * (HOURS - 0.5), `${perHour}/h: ${sent.pages} pages, ${sent.roots} roots`);
  }
});

t.test('every budget that is allowed finds payments, in runs of a minute, however it was used up before', async (t) => {
  for (const [perHour, mostMs] of [
    [30, 600_000],
    [60, 300_000],
    [120, 180_000],
    [600, 60_000],
  ] as const) {
    const clock = manualClock();
    const startMs = clock.nowMs();
    const atMs = () => clock.nowMs() - startMs;
    const rate = rateOfCommon(perHour);
    let wholeAtMicros = clock.nowMs() * 1000 + rate.burst * rate.intervalMicros;
    const request = async (patience?: AbortSignal) => {
      for (;;) {
        const spent = spend(wholeAtMicros, clock.nowMs() * 1000, 1, rate);
        wholeAtMicros = spent.wholeAtMicros;
        if (spent.waitMs === 0) return;
        await clock.sleep(spent.waitMs, patience);
        if (patience?.aborted) throw new LedgerUnavailable('the budget is used up', spent.waitMs);
      }
    };
    let sent = 0;
    const session = (_asker: unknown, patience?: AbortSignal) => ({
      get requests() {
        return sent;
      },
      async tip() {
        await request(patience);
        sent += 1;
        return { latestLedger: Math.floor(atMs() / 5000) };
      },
    });
    /** When a page was asked for, and when what it had was stored. */
    const reads: { askedMs: number; storedMs: number }[] = [];
    const round = async (own: unknown) => {
      const { tip } = own as ReturnType<typeof session>;
      await tip();
      const askedMs = atMs();
      // Of a young source the tip is asked for again.
      await tip();
      reads.push({ askedMs, storedMs: atMs() });
      return 1;
    };
    const scheduler = createPollScheduler({ pollIntervalMs: 1000, requestsPerHour: perHour });
    const ended = new AbortController();
    const deps = {
      network: 'LOCAL',
      watcher: { round },
      ledger: {
        othersSpent: () => 0,
        session: (asker: unknown, patience?: AbortSignal) => {
          sent = 0;
          return session(asker, patience);
        },
      } as unknown as NetworkLedger,
      leases: { hold: async () => true, release: async () => undefined },
      networkStates: { noteTrouble: async () => undefined } as unknown as NetworkStateStore,
      retries: { run: async () => undefined },
      holder: 'test',
      pollIntervalMs: 1000,
      requestsPerHour: perHour,
      clock,
      log: pino({ level: 'silent' }),
      scheduler,
    } as const;
    const runs = (async () => {
      while (!ended.signal.aborted) {
        const enough = new AbortController();
        void clock.sleep(60_000, ended.signal).then(() => enough.abort());
        await watch(deps, enough.signal, ended.signal);
      }
    })();
    while (atMs() < 3_600_000) {
      for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
      clock.advance(500);
    }
    ended.abort();
    await runs;
    // A payment that just misses a page is stored with the next one.
    const delays = reads.map(({ storedMs }, n) => storedMs - (n === 0 ? 0 : reads[n - 1]!.askedMs));
    const worstMs = Math.max(...delays, atMs() - (reads.at(-1)?.askedMs ?? 0));
    t.ok(worstMs <= mostMs, `${perHour}/h: ${reads.length} pages, a payment waits up to ${worstMs / 1000} s`);
  }
});
