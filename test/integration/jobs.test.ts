/** Works of a worker run by Agenda on a real MongoDB, whose locks expire, are cleared, and say nothing of what their holder still does. */
import mongoose from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { systemClock as clock } from '../../src/clock.js';
import { startJobs, type Work } from '../../src/jobs/agenda.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

t.setTimeout(120_000);
const log = pino({ level: 'silent' });

t.test(
  'whatever becomes of Agenda’s locks, a process never runs a work twice at once, and ends them all',
  async (t) => {
    const { uri, db: plain } = await testDatabase(t);
    const connection = await mongoose.createConnection(uri).asPromise();
    t.teardown(() => connection.close());
    const db = connection.db! as mongoose.mongo.Db;
    const documents = plain.collection('agendaJobs');

    /** A work that goes on until its signal aborts, as watching and delivering do. */
    function endless(name: string) {
      const seen = { runs: 0, atOnce: 0, most: 0 };
      const work: Work = {
        name,
        everyMs: null,
        run: async (signal) => {
          seen.runs += 1;
          seen.atOnce += 1;
          seen.most = Math.max(seen.most, seen.atOnce);
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
          seen.atOnce -= 1;
        },
      };
      return { seen, work };
    }
    const own = [endless('watch'), endless('watch')];
    const jobs = await Promise.all(
      own.map(({ work }, index) => startJobs({ db, works: [work], processId: `p${index}`, clock, log })),
    );
    await eventually(async () => own.every(({ seen }) => seen.atOnce === 1), 'both processes work', 20_000);

    let called = 0;
    for (let round = 0; round < 4; round++) {
      // As `every()` of a process that starts does, and as time does to a lock that nobody touched.
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
    await Promise.all(jobs.map((each) => each.close()));
    t.ok(performance.now() - stoppedAt < 9000, `stopped in ${Math.round(performance.now() - stoppedAt)} ms`);
    t.same(
      own.map(({ seen }) => seen.atOnce),
      [0, 0],
    );
    t.equal(await documents.countDocuments(), 0, 'a process leaves no jobs of its own behind');
  },
);
