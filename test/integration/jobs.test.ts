/** Jobs run by Agenda on a real MongoDB, whose locks expire, are cleared, and say nothing of what
 *  their holder still does. */
import mongoose from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { retryWebhooks } from '../../src/app/job-runs.js';
import { startJobs } from '../../src/app/jobs/agenda.js';
import type { Job, Run } from '../../src/app/jobs/run.js';
import { createJobStore, type JobStore } from '../../src/app/jobs/store.js';
import { jobsOf } from '../../src/app/jobs/table.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

const log = pino({ level: 'silent' });

const jobOf = (name: string, run: Run, info: Partial<Job> = {}): Job => ({
  name,
  schedule: '',
  does: '',
  everyMs: 1000,
  lastsMs: null,
  processes: 'each',
  run,
  ...info,
});

async function open(t: { teardown(end: () => unknown): void }) {
  const { uri, db: plain } = await testDatabase(t);
  const connection = await mongoose.createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  const db = connection.db! as mongoose.mongo.Db;
  const store = createJobStore(connection);
  const start = (jobs: readonly Job[], processId = 'p1', its: JobStore = store) =>
    startJobs({ db, store: its, jobs, processId, clock, log });
  return { db, store, documents: plain.collection('agendaJobs'), start };
}

const stateOf = async (store: JobStore, name: string) => (await store.states([name], new Date()))[0]!;

t.test(
  'whatever becomes of Agenda’s locks, a process never runs a job twice at once, and ends them all',
  LONG,
  async (t) => {
    const { store, documents, start } = await open(t);

    /** A job that goes on until its signal aborts, as watching and delivering do. */
    function endless(name: string) {
      const seen = { runs: 0, atOnce: 0, most: 0 };
      const job = jobOf(name, async ({ enough }) => {
        seen.runs += 1;
        seen.atOnce += 1;
        seen.most = Math.max(seen.most, seen.atOnce);
        await new Promise<void>((resolve) => enough.addEventListener('abort', () => resolve(), { once: true }));
        seen.atOnce -= 1;
        return { result: {} };
      });
      return { seen, job };
    }
    const own = [endless('watch'), endless('watch')];
    const started = await Promise.all(own.map(({ job }, index) => start([job], `p${index}`)));
    await eventually(async () => own.every(({ seen }) => seen.atOnce === 1), 'both processes work', 20_000);
    t.equal((await stateOf(store, 'watch')).running, 2);

    let called = 0;
    for (let round = 0; round < 4; round++) {
      // As happens to a lock that is not renewed, or with another process whose clock is ahead.
      const { modifiedCount } = await documents.updateMany({}, { $set: { lockedAt: null, nextRunAt: new Date() } });
      called += modifiedCount;
      await eventually(
        async () => (await documents.countDocuments({ lockedAt: { $ne: null } })) === own.length,
        'Agenda has called the handlers again',
        20_000,
      );
    }
    t.ok(called >= 4, `locks were cleared ${called} times`);
    t.same(
      own.map(({ seen }) => seen),
      own.map(() => ({ runs: 1, atOnce: 1, most: 1 })),
    );
    const stoppedAt = performance.now();
    await Promise.all(started.map((each) => each.close()));
    t.ok(performance.now() - stoppedAt < 9000, `stopped in ${Math.round(performance.now() - stoppedAt)} ms`);
    t.same(
      own.map(({ seen }) => seen.atOnce),
      [0, 0],
    );
    t.equal(await documents.countDocuments(), 0, 'a process leaves no jobs of its own behind');
    t.equal((await stateOf(store, 'watch')).record?.runs, 2, 'what ran is remembered');
  },
);

t.test(
  'a run that has lasted its time is followed by the next one at once, and a failed one is recorded',
  async (t) => {
    const { store, start } = await open(t);
    const gaps: number[] = [];
    let endedAt = 0;
    let failures = 0;
    const drains = jobOf(
      'drain',
      async ({ enough }) => {
        if (endedAt > 0) gaps.push(performance.now() - endedAt);
        await new Promise<void>((resolve) => enough.addEventListener('abort', () => resolve(), { once: true }));
        endedAt = performance.now();
        return { result: { items: 3 } };
      },
      { lastsMs: 50 },
    );
    const fails = jobOf(
      'fail',
      async () => {
        failures += 1;
        throw new Error(`no ${failures}`);
      },
      { processes: 'one' },
    );
    const jobs = await start([drains, fails]);
    t.teardown(() => jobs.close());
    await eventually(async () => gaps.length >= 8 && failures >= 2, 'several runs', 30_000);
    gaps.sort((a, b) => a - b);
    // Without the notification each would wait for Agenda's next look, half a second on average.
    t.ok(gaps[4]! < 300, `half of the gaps are below ${Math.round(gaps[4]!)} ms`);
    // While it runs, nothing says when it runs next.
    const isDueAgain = async () => (await stateOf(store, 'fail')).nextRunAt instanceof Date;
    await eventually(isDueAgain, 'the failed run is tried again');
    await jobs.close();

    const drained = (await stateOf(store, 'drain')).record!;
    t.ok(drained.runs >= 8);
    t.equal(drained.failures, 0);
    t.match(drained.lastRun, { result: { items: 3 }, error: null, process: 'p1' });
    t.ok(drained.lastRun.durationMs >= 0 && drained.lastRun.durationMs < 20_000);
    const failed = await stateOf(store, 'fail');
    t.ok(failed.record!.failures >= 2);
    t.equal(failed.record!.failures, failed.record!.runs);
    t.match(failed.record!.lastError?.message, /^no \d+$/);
  },
);

t.test(
  'a slow MongoDB makes no errors: a run whose end takes long to store is not reported as one without a lock',
  async (t) => {
    const { db, store } = await open(t);
    const lines: { level: number; msg: string; err?: { message: string } }[] = [];
    const heard = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const slowToEnd = (collection: mongoose.mongo.Collection) =>
      new Proxy(collection, {
        get(target, name) {
          const own = Reflect.get(target, name);
          if (name !== 'updateOne') return typeof own === 'function' ? own.bind(target) : own;
          return async (filter: object, update: { $set?: { lockedAt?: Date | null } }, options?: object) => {
            if (update.$set?.lockedAt === null) await clock.sleep(3000);
            return target.updateOne(filter, update, options);
          };
        },
      });
    const slow = new Proxy(db, {
      get(target, name) {
        if (name === 'collection') return (collection: string) => slowToEnd(target.collection(collection));
        const own = Reflect.get(target, name);
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
    let runs = 0;
    const job = jobOf('quick', async () => {
      runs += 1;
      return { result: {} };
    });
    const jobs = await startJobs({ db: slow, store, jobs: [job], processId: 'p1', clock, log: heard });
    await eventually(
      async () => lines.some(({ err }) => /no lockedAt date/.test(err?.message ?? '')),
      'Agenda said it',
      20_000,
    );
    await jobs.close();
    t.ok(runs > 0);
    t.same(
      lines.filter(({ level }) => level >= 40),
      [],
    );
  },
);

t.test('no run starts after the end', async (t) => {
  const { store, documents, start } = await open(t);
  let runs = 0;
  let called = 0;
  const count = async () => {
    runs += 1;
    return { result: {} };
  };
  const slowToEnd: JobStore = {
    ...store,
    async unschedule(names) {
      const before = runs;
      await documents.updateMany({}, { $set: { lockedAt: null, nextRunAt: new Date(0), lastFinishedAt: null } });
      await eventually(
        async () => documents.findOne({ lastFinishedAt: { $ne: null } }),
        'Agenda has called a handler',
        20_000,
      );
      called += 1;
      t.equal(runs, before);
      await store.unschedule(names);
    },
  };
  const jobs = await start([jobOf('counts', count)], 'p1', slowToEnd);
  await eventually(async () => runs > 0, 'it runs', 20_000);
  await jobs.close();
  t.equal(called, 1);
});

t.test('jobs of a killed process, and clocks that were set, delay no other process', LONG, async (t) => {
  const { store, documents, start } = await open(t);
  const inAnHour = new Date(Date.now() + 3_600_000);
  const runs = { each: 0, one: 0 };
  const count = (which: 'each' | 'one') => async () => {
    runs[which] += 1;
    return { result: {} };
  };
  const table = [jobOf('each', count('each')), jobOf('one', count('one'), { processes: 'one' })];
  // As a process leaves them that is killed while its clock is an hour ahead.
  await store.schedule([
    { name: 'each @dead', everyMs: 1000, dueNow: true },
    { name: 'one', everyMs: 1000, dueNow: true },
  ]);
  await documents.updateMany({}, { $set: { lockedAt: inAnHour, nextRunAt: inAnHour } });
  await documents.updateOne({ name: 'one' }, { $set: { nextRunAt: new Date() } });
  const jobs = await start(table);
  t.teardown(() => jobs.close());
  await eventually(async () => runs.each > 0 && runs.one > 0, 'both run', 20_000);

  // Its own documents are set an hour ahead, or removed, while the process lives.
  await documents.updateOne({ name: 'each @p1' }, { $set: { nextRunAt: inAnHour, lockedAt: null } });
  await documents.deleteOne({ name: 'one' });
  const before = { ...runs };
  await eventually(async () => runs.each > before.each + 1 && runs.one > before.one + 1, 'both go on', 30_000);

  await documents.updateOne({ name: 'each @dead' }, { $set: { lockedAt: null, lastRunAt: new Date(0) } });
  t.equal(await store.removeOrphans(new Date()), 1);
  t.equal(await documents.countDocuments({ name: 'each @dead' }), 0);
});

t.test('processes that start at once make one document of each shared job', async (t) => {
  const { store, documents } = await open(t);
  const names = Array.from({ length: 10 }, (_, index) => `shared ${index}`);
  const jobs = names.map((name) => ({ name, everyMs: 1000, dueNow: false }));
  await Promise.all(Array.from({ length: 20 }, () => store.schedule(jobs)));
  t.equal(await documents.countDocuments(), names.length);
});

t.test('the next run of the retries is when the next retry is due', async (t) => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z');
  let woken: number[] = [];
  const cases = [
    { due: 0, inMs: null, wakes: 0, nextInMs: 10_000 },
    { due: 2, inMs: null, wakes: 1, nextInMs: 10_000 },
    { due: 0, inMs: 4000, wakes: 0, nextInMs: 4000 },
    { due: 1, inMs: 20, wakes: 1, nextInMs: 1000 },
    { due: 0, inMs: 3_600_000, wakes: 0, nextInMs: 10_000 },
  ];
  for (const { due, inMs, wakes, nextInMs } of cases) {
    woken = [];
    const run = retryWebhooks({
      deliveries: { retries: async () => ({ due, nextAt: inMs === null ? null : new Date(nowMs + inMs) }) },
      deliveriesDue: () => void woken.push(due),
      clock: { ...clock, nowMs: () => nowMs, now: () => new Date(nowMs) },
    });
    const signal = new AbortController().signal;
    t.same(await run({ enough: signal, ended: signal }), { result: { due }, nextInMs });
    t.equal(woken.length, wakes);
  }
});

t.test('the table has a job for each network that is watched, and no name twice', async (t) => {
  t.same(
    jobsOf(['LOCAL', 'TESTNET']).map(({ name }) => name),
    [
      'poll ledger TESTNET',
      'poll ledger LOCAL',
      'number events',
      'deliver webhooks',
      'retry webhooks',
      'send e-mails',
      'expire checkouts',
      'audit wallets',
      'make proofs',
      'sample rates',
      'housekeeping',
    ],
  );
});
