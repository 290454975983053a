/** Some seeds of the simulation; `npm run simulate` runs ten thousand. */
import t from 'tap';
import { IS_LONG, LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { openDatabaseServer } from './database.js';
import type { HardshipName } from './hardships.js';
import { WRITE_CONFLICT } from './memory-mongo.js';
import { simulate } from './simulate.js';

/** Seeds that draw webhooks for what is paid: some 60 requests arrive, in fifteen about 300. */
const FIRST_SEED = 36;
const SEEDS = IS_LONG ? 15 : 2;
/** Budget and RPC. */
const STARVED_SEED = 20_047;
/** A stop told by a host's clock, a history that leaves records out, a checkout without an owner, a
 *  stamp of another network; two windows of an address that were found in different ways, a gap
 *  just before a reset, a gap found by a clock that is behind, a clock that was set, tips that were
 *  kept too long; audits that began with a ledger of another network or behind one, or where a
 *  source was away, that listed what is too heavy, or too early; a feed that began where its
 *  server did. */
const ONCE_BROKEN = [
  32_226, 40_551, 42_102, 42_310, 102_696, 201_697, 203_710, 206_504, 202_963, 204_029, 402_956, 504_825, 700_678,
  701_540, 702_788, 908_285,
];
/** Rates while the clock is off and a source is away: what a clock alone dates, an own rate and a
 *  sample of one moment, a sample dated before the last. */
const RATES_ONCE_BROKEN = [73_017, 73_025, 73_040];
const RATES_AWAY = ['rates', 'skewMs', 'rpc'] as const;
const SEEDS_ON_MONGOD: [seed: number, hardships?: readonly HardshipName[]][] = IS_LONG
  ? [[1], [2], [36], [73_004, RATES_AWAY]]
  : [[36]];

t.test(
  'whatever dies and whenever, every payment is recorded once, judged once, and its events delivered',
  async (t) => {
    const { uri } = await testDatabase(t);
    const server = await openDatabaseServer(uri, 'memory');
    t.teardown(() => server.close());
    const sum = { crashes: 0, payments: 0, arrivals: 0 };
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const { violations, crashes, payments, arrivals } = await simulate(server, seed);
      if (violations.length > 0) t.same(violations, [], `seed ${seed}; to see it: npm run simulate -- --seed ${seed}`);
      sum.crashes += crashes;
      sum.payments += payments;
      sum.arrivals += arrivals;
    }
    t.ok(
      sum.crashes > SEEDS / 2 && sum.payments > 5 * SEEDS && sum.arrivals > 2 * SEEDS,
      `the seeds crashed, paid and delivered: ${JSON.stringify(sum)}`,
    );
  },
);

t.test('by Stellar RPC alone and one request a minute, every payment is recorded', LONG, async (t) => {
  const { uri } = await testDatabase(t);
  const server = await openDatabaseServer(uri, 'memory');
  t.teardown(() => server.close());
  const { violations, payments, hardships } = await simulate(server, STARVED_SEED);
  for (const name of ['budget', 'rpc']) t.ok(hardships.includes(name), `the seed draws ${name}`);
  t.same(violations, []);
  t.ok(payments > 0);
});

t.test('seeds that once broke a promise keep it', LONG, async (t) => {
  const { uri } = await testDatabase(t);
  const server = await openDatabaseServer(uri, 'memory');
  t.teardown(() => server.close());
  for (const seed of ONCE_BROKEN) t.same((await simulate(server, seed)).violations, [], `seed ${seed}`);
  for (const seed of RATES_ONCE_BROKEN)
    t.same((await simulate(server, seed, null, RATES_AWAY)).violations, [], `seed ${seed}`);
});

const differsByConflict = (steps: string[], expected: string[]): boolean => {
  const first = steps.find((step, index) => step !== expected[index]);
  return first !== undefined && new RegExp(` ${WRITE_CONFLICT}$`).test(first);
};

t.test('the database in memory is a faithful one: the same seeds take the same steps on a real mongod', async (t) => {
  const { uri } = await testDatabase(t);
  const stepsOf = async (kind: 'memory' | 'real') => {
    const server = await openDatabaseServer(uri, kind);
    const traces: string[][] = [];
    for (const [seed, hardships] of SEEDS_ON_MONGOD) {
      const trace: string[] = [];
      const { violations } = await simulate(server, seed, (line) => trace.push(line), hardships);
      t.same(violations, [], `seed ${seed} (${kind})`);
      traces.push(trace);
    }
    await server.close();
    return traces;
  };
  const expected = await stepsOf('memory');
  let steps = await stepsOf('real');
  // A busy mongod refuses a transaction now and then, without a conflict. Any other first
  // difference counts at once.
  for (let again = 0; again < 2 && differsByConflict(steps.flat(), expected.flat()); again++)
    steps = await stepsOf('real');
  t.same(steps, expected);
});
