/** A few hours of looking for ledgers, in no time: how many requests it takes and how long a ledger
 *  waits to be seen. */
import t from 'tap';
import { createPollScheduler } from '../../src/watching/poll-scheduler.js';

const HOUR_MS = 3_600_000;
const HOURS = 3;
/** What a request takes. */
const ANSWER_MS = 120;

interface Weather {
  /** Mean time between ledgers. */
  beatMs: number;
  /** Standard deviation of it. */
  spreadMs: number;
  /** Requests that reading a ledger costs. */
  reads: number;
  perHour: number;
  seed?: number;
  hours?: number;
  /** A stretch without ledgers. */
  halt?: { fromMs: number; toMs: number };
}

function look({ beatMs, spreadMs, reads, perHour, seed = 42, hours = HOURS, halt }: Weather) {
  const endMs = hours * HOUR_MS;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const ledgers: number[] = [];
  for (let at = 1000; at < endMs; at += Math.max(1000, beatMs + normal() * spreadMs)) {
    if (!halt || at < halt.fromMs || at > halt.toMs) ledgers.push(at);
  }
  const pace = createPollScheduler({ pollIntervalMs: 1000, requestsPerHour: perHour });
  const waited: number[] = [];
  const requests: number[] = [];
  let newest = 0;
  let nowMs = 0;
  while (nowMs < endMs) {
    let visible = newest;
    while (visible < ledgers.length && ledgers[visible]! <= nowMs + ANSWER_MS / 2) visible += 1;
    requests.push(nowMs);
    nowMs += ANSWER_MS;
    pace.saw(visible, nowMs);
    pace.spent(1);
    if (visible > newest) {
      for (let n = 0; n < reads; n++) requests.push(nowMs + n);
      nowMs += ANSWER_MS;
      pace.spent(reads);
      for (let n = newest; n < visible; n++) waited.push(nowMs - ledgers[n]!);
      newest = visible;
    }
    nowMs += pace.waitMs(nowMs);
  }
  let mostInAnHour = 0;
  for (let from = 0, to = 0; to < requests.length; to++) {
    while (requests[to]! - requests[from]! > HOUR_MS) from += 1;
    mostInAnHour = Math.max(mostInAnHour, to - from + 1);
  }
  waited.sort((a, b) => a - b);
  const at = (q: number) => Math.round(waited[Math.floor(waited.length * q)]!);
  const between = (fromMs: number, toMs: number) => requests.filter((each) => each >= fromMs && each < toMs).length;
  return { mostInAnHour, p50: at(0.5), p95: at(0.95), between };
}

const BEATS = [
  { beatMs: 5000, spreadMs: 250 },
  { beatMs: 5800, spreadMs: 500 },
  { beatMs: 6000, spreadMs: 650 },
];

t.test(
  'a ledger is seen within half a second in the median and 1.5 s in all but 5 % of cases, at 3,500 requests an hour',
  async (t) => {
    for (const beat of BEATS) {
      for (const reads of [1, 2]) {
        const { mostInAnHour, p50, p95 } = look({ ...beat, reads, perHour: 3500 });
        const what = `every ${beat.beatMs} ± ${beat.spreadMs} ms, ${reads} to read: ${mostInAnHour}/h, p50 ${p50}, p95 ${p95}`;
        t.ok(mostInAnHour <= 3500 && p50 <= 500 && p95 <= 1500, what);
      }
    }
  },
);

t.test('what reading costs and what the budget bears is kept to, however little is left for looking', async (t) => {
  for (const beat of BEATS) {
    for (const reads of [3, 4, 5]) {
      const { mostInAnHour, p50, p95 } = look({ ...beat, reads, perHour: 3500 });
      const what = `every ${beat.beatMs} ms, ${reads} to read: ${mostInAnHour}/h, p50 ${p50}, p95 ${p95}`;
      t.ok(mostInAnHour <= 3500 && p95 <= 10_000, what);
    }
    for (const perHour of [60, 600, 1200]) {
      const { mostInAnHour, p50, p95 } = look({ ...beat, reads: 1, perHour });
      t.ok(mostInAnHour <= perHour, `every ${beat.beatMs} ms, ${perHour}: ${mostInAnHour}/h, p50 ${p50}, p95 ${p95}`);
    }
  }
});

t.test(
  'from the first minutes on ledgers are seen soon: what finding the beat takes does not make the next ones late',
  async (t) => {
    const starts = Array.from({ length: 40 }, (_, n) =>
      look({ ...BEATS[n % 3]!, reads: 1, perHour: 3500, seed: n + 1, hours: 0.1 }),
    );
    const late = starts.filter(({ p95 }) => p95 > 1500).length;
    t.ok(late <= 2, `${late} of ${starts.length} times p95 > 1500 ms`);
  },
);

t.test('while no ledger comes, looks become rare; afterwards ledgers are seen as soon as before', async (t) => {
  const halt = { fromMs: HOUR_MS, toMs: HOUR_MS + 600_000 };
  const { between, p50, p95, mostInAnHour } = look({ ...BEATS[1]!, reads: 1, perHour: 3500, halt });
  const inHalt = between(halt.fromMs + 10_000, halt.toMs);
  t.ok(inHalt <= 300, `${inHalt} requests in 590 s without ledgers`);
  t.ok(mostInAnHour <= 3500 && p50 <= 500 && p95 <= 1500, `${mostInAnHour}/h, p50 ${p50}, p95 ${p95}`);
});

t.test('without a budget a ledger is looked for at a quarter of the poll interval', async (t) => {
  const pace = createPollScheduler({ pollIntervalMs: 1000, requestsPerHour: null });
  t.equal(pace.waitMs(0), 0);
  pace.saw(1, 100);
  t.equal(pace.waitMs(100), 250);
  t.equal(pace.waitMs(1000), 0);
});

t.test('room is made for other requests, but not below what reading every ledger takes', async (t) => {
  const looksOf = (perHour: number, othersPerMinute: number) => {
    const pace = createPollScheduler({ pollIntervalMs: 1000, requestsPerHour: perHour });
    let [nowMs, requests, saidMs] = [0, 0, 0];
    while (nowMs < HOUR_MS) {
      pace.saw(Math.floor(nowMs / 5000), nowMs);
      pace.spent(2);
      requests += 2;
      const minutes = (nowMs - saidMs) / 60_000;
      pace.othersSpent(minutes * othersPerMinute, nowMs);
      saidMs = nowMs;
      nowMs += Math.max(10, pace.waitMs(nowMs));
    }
    return requests;
  };
  const [alone, beside] = [looksOf(3600, 0), looksOf(3600, 30)];
  t.ok(beside <= 0.75 * alone && beside >= 1300, `${alone} alone, ${beside} beside 1800 of others`);
  t.ok(looksOf(600, 5) >= 0.9 * looksOf(600, 0), 'a small budget is the watcher’s');
});
