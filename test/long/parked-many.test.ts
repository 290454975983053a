/** What ten thousand parked records of one network cost: whatever is asked looks at no more of them
 *  than it answers, and all of them are gone through once where that is needed. */
import t from 'tap';
import { registerParkedCommands } from '../../src/cli/parked.js';
import { createProgram, runProgram } from '../../src/cli/program.js';
import { BudgetUsedUp } from '../../src/ledger/source.js';
import { planTries } from '../../src/watching/parked.js';
import type { ParkedRecordDoc } from '../../src/watching/parked-store.js';
import { testDatabase } from '../helpers/mongo.js';
import { openStores } from '../helpers/stores.js';

const COUNT = 10_000;
const HOUR_MS = 3_600_000;
const NETWORK = 'TESTNET';

await testDatabase(t, { own: true });
const { stores, db } = await openStores(t);
const { parkedRecords } = stores.system;
const nowMs = Date.now();
const ago = (ms: number) => new Date(nowMs - ms);
/** Each a second after the one before it, the last one now. */
const parked = (nth: number, concerns: string[]): ParkedRecordDoc => ({
  ...{
    _id: `${NETWORK}:${nth}`,
    network: NETWORK,
    reason: 'lacks its transaction',
    raw: JSON.stringify('x'.repeat(2000)),
  },
  ...{ createdAt: ago((COUNT - nth) * 1000), closedFrom: ago((COUNT - nth) * 1000), payableUntil: ago(-24 * HOUR_MS) },
  ...{ concerns, ledger: 1000 + nth, tries: nth % 20, nextTryAt: ago(1000), dismissed: null },
});

await db.createCollection('system.profile', { capped: true, size: 16 * 2 ** 20 });
/** What it looked at, by the profiler, and how long it took. */
async function costOf(run: () => Promise<unknown>) {
  await run();
  await db.command({ profile: 2, filter: { ns: /\.parkedRecords$/ } });
  const from = new Date();
  const startedMs = performance.now();
  const answer = await run();
  const ms = Math.round(performance.now() - startedMs);
  await db.command({ profile: 0 });
  const seen = await db
    .collection('system.profile')
    .find({ ts: { $gte: from } })
    .toArray();
  const sum = (name: string) => seen.reduce((total, each) => total + (each[name] ?? 0), 0);
  return { answer, docs: sum('docsExamined'), keys: sum('keysExamined'), ms };
}

for (const [whose, concernsOf] of [
  ['any wallet', () => ['*']],
  ['a hundred wallets', (nth: number) => [`G${nth % 100}`]],
] as const) {
  t.test(`${COUNT} records that may have paid ${whose}`, async (t) => {
    await db.collection('parkedRecords').deleteMany({});
    for (let nth = 0; nth < COUNT; nth += 500)
      await parkedRecords.park(Array.from({ length: 500 }, (_, n) => parked(nth + n, [...concernsOf(nth + n)])));
    const span = { network: NETWORK, address: 'G1' } as const;
    const check = async (what: string, most: number, expected: unknown, run: () => Promise<unknown>) => {
      const { answer, docs, keys, ms } = await costOf(run);
      t.comment(`${what}: ${docs} documents, ${keys} keys, ${ms} ms`);
      if (expected !== undefined) t.same(answer, expected, what);
      t.ok(docs <= most, `${what}: ${docs} documents`);
    };
    await check('a checkout that one may have paid', 1, true, () =>
      parkedRecords.mayHavePaid({ ...span, from: ago(HOUR_MS), until: ago(0) }),
    );
    await check('a checkout that none can have paid', 0, false, () =>
      parkedRecords.mayHavePaid({ ...span, from: ago(30 * HOUR_MS), until: ago(20 * HOUR_MS) }),
    );
    const ledgers = Array.from({ length: 200 }, (_, n) => 500_000 + n);
    await check('an audit’s page, none of whose ledgers has one', 0, [], () =>
      parkedRecords.openIn(NETWORK, 'G1', ledgers),
    );
    await check('what may have come back to an issuer', COUNT / 100, [], () =>
      parkedRecords.toIssuerIn(NETWORK, 'G1', { after: 0, upTo: 600_000, isIssuer: false }),
    );
    await check('what is due', 500, undefined, () => parkedRecords.due(NETWORK, ago(0), 500));
    await check('when the next is due', 1, ago(1000), () => parkedRecords.nextTryAt(NETWORK));
    await check('a wallet’s count', COUNT, undefined, () => parkedRecords.countFor(NETWORK, 'G1', new Date(0)));
    await check('all', COUNT, COUNT, () => parkedRecords.count([NETWORK]));
    await check('those of an hour', COUNT, undefined, () => parkedRecords.countSince(NETWORK, ago(HOUR_MS)));
    await check('whether there are any', 1, new Set([NETWORK]), () => parkedRecords.networksWithOpen([NETWORK]));
    const due = await parkedRecords.due(NETWORK, ago(0), 500);
    t.ok(
      planTries(due, 16).every(({ tries }) => tries === 0),
      'those that were tried least come first',
    );

    await db.command({ profile: 2, filter: { ns: /\.parkedRecords$/, op: 'query' } });
    const from = new Date();
    await parkedRecords.lose(NETWORK, ago(0), { at: ago(0), why: 'the network was reset' });
    await db.command({ profile: 0 });
    const seen = await db
      .collection('system.profile')
      .find({ ts: { $gte: from }, op: 'query' })
      .toArray();
    const looked = seen.reduce((total, { docsExamined = 0 }) => total + docsExamined, 0);
    t.comment(`a reset: ${looked} documents`);
    t.ok(looked <= 2.1 * COUNT, `a reset goes through them once: ${looked} documents`);
    t.equal(await db.collection('parkedRecords').countDocuments({ lostSince: ago(0) }), COUNT);
  });
}

t.test('the cli asks for no more once the share of the budget is used up, and names what is left', async (t) => {
  await db.collection('parkedRecords').deleteMany({});
  await parkedRecords.park(Array.from({ length: 250 }, (_, nth) => parked(nth, ['*'])));
  let asked = 0;
  const program = createProgram('cli', '');
  registerParkedCommands(program, async () => ({
    parkedRecords,
    async retryParked() {
      asked += 1;
      if (asked === 4) throw new BudgetUsedUp(60_000);
      return { payments: 0, reason: 'lacks its transaction' };
    },
    dismissParked: async () => null,
    close: async () => undefined,
  }));
  const said = t.capture(process.stdout, 'write', () => true);
  const code = await runProgram(program, ['parked', 'retry', '--json']);
  const [line] = said().map(({ args: [text] }) => String(text));
  said.restore();
  t.equal(code, 0);
  t.equal(asked, 4);
  const { retried } = JSON.parse(line!) as { retried: { reason: string }[] };
  t.equal(retried.length, 250);
  t.equal(retried.filter(({ reason }) => reason === 'the request budget is used up').length, 247);
});
