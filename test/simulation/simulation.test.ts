/** Some seeds of the simulation; `npm run simulate` runs ten thousand. */
import t from 'tap';
import { testDatabase } from '../helpers/mongo.js';
import { openDatabaseServer } from './database.js';
import { simulate } from './simulate.js';

const SEEDS = 60;
const SEEDS_ON_MONGOD = [1, 2, 3, 4];

t.test(
  'whatever dies and whenever, every payment is recorded once, judged once, and its events delivered',
  async (t) => {
    const { uri } = await testDatabase(t);
    const server = await openDatabaseServer(uri, 'memory');
    t.teardown(() => server.close());
    const sum = { crashes: 0, payments: 0, arrivals: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations, crashes, payments, arrivals } = await simulate(server, seed);
      if (violations.length > 0) t.same(violations, [], `seed ${seed}; to see it: npm run simulate -- --seed ${seed}`);
      sum.crashes += crashes;
      sum.payments += payments;
      sum.arrivals += arrivals;
    }
    t.ok(
      sum.crashes > SEEDS / 2 && sum.payments > 5 * SEEDS && sum.arrivals > SEEDS,
      `the seeds crashed, paid and delivered: ${JSON.stringify(sum)}`,
    );
  },
);

t.test('the database in memory is a faithful one: the same seeds take the same steps on a real mongod', async (t) => {
  const { uri } = await testDatabase(t);
  const stepsOf = async (kind: 'memory' | 'real') => {
    const server = await openDatabaseServer(uri, kind);
    const traces: string[][] = [];
    for (const seed of SEEDS_ON_MONGOD) {
      const trace: string[] = [];
      const { violations } = await simulate(server, seed, (line) => trace.push(line));
      t.same(violations, [], `seed ${seed} (${kind})`);
      traces.push(trace);
    }
    await server.close();
    return traces;
  };
  t.same(await stepsOf('real'), await stepsOf('memory'));
});
