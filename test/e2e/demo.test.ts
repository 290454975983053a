/** The demo of a first start: a start that dies while it makes it leaves no half of it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { createDemo, type Demo } from '../../src/app/demo.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { startProgram } from '../helpers/command.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const WHOLE = { accounts: 1, 'api-keys': 1, wallets: 1, products: 3, paymentLinks: 3, checkouts: 1 };
type Db = Awaited<ReturnType<typeof testDatabase>>['db'];

async function countsOf(db: Db) {
  const names = Object.keys(WHOLE);
  const found = await Promise.all(names.map((name) => db.collection(name).countDocuments()));
  return Object.fromEntries(names.map((name, at) => [name, found[at]]));
}

type Context = Parameters<typeof createDemo>[0];

/** The context of a process that ends after so many writes: of the ledger, the mark, and
 *  each resource. */
function dyingAfter(writes: number, { services, stores, commit, localLedger }: Context): Context {
  let left = writes;
  const dying =
    <Given extends unknown[], Answer>(act: (...given: Given) => Promise<Answer>) =>
    async (...given: Given): Promise<Answer> => {
      if (left === 0) throw new Error('killed');
      left -= 1;
      const answer = await act(...given);
      if (left === 0) throw new Error('killed');
      return answer;
    };
  const created = ['apiKeys', 'wallets', 'products', 'paymentLinks', 'checkouts'] as const;
  const makers = created.map((name) => [name, { ...services[name], create: dying(services[name].create as never) }]);
  const { installation } = stores.system;
  const system = { ...stores.system, installation: { ...installation, saveDemo: dying(installation.saveDemo) } };
  const client = { ...localLedger!.client, fund: dying(localLedger!.client.fund as never) };
  return {
    services: { ...services, ...Object.fromEntries(makers) },
    stores: { ...stores, system },
    commit: dying(commit as never) as never,
    localLedger: { ...localLedger!, client } as never,
  };
}

t.test('a first start that dies after any of its writes: the next one completes the demo, once', LONG, async (t) => {
  const database = await testDatabase(t);
  const { db } = database;
  const { context, url } = await startTestService(t, { database });
  const tools = { clock: systemClock, newId: createIds(systemClock), log: pino({ level: 'silent' }) };
  let writes = 0;
  for (let isWhole = false; !isWhole; ) {
    for (const name of Object.keys(WHOLE)) await db.collection(name).deleteMany({});
    await db.collection('installation').updateOne({}, { $unset: { demo: 1 } });
    const shown: Demo[] = [];
    const start = (each: Context) => createDemo(each, tools, (demo) => demo && shown.push(demo));
    isWhole = await start(dyingAfter(writes + 1, context)).then(
      () => true,
      () => false,
    );
    if (isWhole) break;
    writes += 1;
    await start(context);
    t.same(await countsOf(db), WHOLE, `after ${writes} writes`);
    t.equal(shown.length, 1, 'it is shown');
    const { apiKey, pageUrl, checkoutUrl } = shown[0]!;
    const answer = await fetch(`${url}/api/v1/wallets`, { headers: { authorization: `Bearer ${apiKey}` } });
    t.match(await answer.json(), { meta: { total: 1 } }, 'its key is good');
    t.equal((await fetch(pageUrl)).status, 200);
    t.equal((await fetch(checkoutUrl)).status, 200);
    await start(context);
    t.equal(shown.length, 1, 'and not made again');
  }
  t.ok(writes >= 12, `${writes} writes`);
});

t.test('two starts at once make one demo, which one of them shows', async (t) => {
  const database = await testDatabase(t);
  const { context } = await startTestService(t, { database });
  for (const name of Object.keys(WHOLE)) await database.db.collection(name).deleteMany({});
  const shown: (Demo | null)[] = [];
  const start = () => {
    const tools = { clock: systemClock, newId: createIds(systemClock), log: pino({ level: 'silent' }) };
    return createDemo(context, tools, (demo) => shown.push(demo));
  };
  await Promise.all([start(), start()]);
  t.equal(shown.filter((demo) => demo !== null).length, 1);
  t.equal(shown.length, 2);
  t.same(await countsOf(database.db), WHOLE);
});

t.test('a first start that is killed while it makes the demo: the next one shows its key', LONG, async (t) => {
  const { uri, db } = await testDatabase(t);
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-demo-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const env = {
    ...{ MONGODB_URI: uri, DATA_DIR: dataDir, NETWORKS: 'LOCAL', LOG_LEVEL: 'warn', SECRETS_KEY: TEST_SECRETS_KEY },
    ...{ PORT: '0', LOCAL_LEDGER_PORT: '0', LOCAL_LEDGER_CLOSE_MS: '200' },
  };
  const first = startProgram('src/main.ts', [], { env });
  await eventually(async () => (await db.collection('accounts').countDocuments()) > 0, 'its account', 60_000);
  first.process.kill('SIGKILL');
  await first.ended;
  t.notMatch(first.stdout(), 'API key  ', 'it was killed before it showed the key');

  const second = startProgram('src/main.ts', [], { env });
  t.teardown(() => second.process.kill('SIGKILL'));
  const [, api] = await second.says(/API +(http\S+)/);
  const [, key] = await second.says(/API key +(\S+)/);
  const answer = await fetch(`${api}/wallets`, { headers: { authorization: `Bearer ${key}` } });
  t.match(await answer.json(), { meta: { total: 1 } });
  t.same(await countsOf(db), WHOLE);
});
