/** A MongoDB with troubles of its own: it refuses writes, as with a full disk, or reads
 *  take long. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { findMongod } from '../../src/mongod/index.js';
import { CACHE_DIR, freePort } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';
import { CODE, startEmpty } from '../helpers/setup.js';

t.setTimeout(120_000);

const WRITES = ['insert', 'update', 'delete', 'findAndModify', 'bulkWrite', 'commitTransaction'];
const OUT_OF_DISK_SPACE = 14_031;
const TOLD_WITHIN_MS = 10_000;

/** A mongod whose writes can be made to fail. */
async function startMongod(): Promise<{ child: ChildProcess; directory: string; client: mongo.MongoClient }> {
  const command = await findMongod({
    ...{ cacheDir: CACHE_DIR, log: pino({ level: 'silent' }) },
    onProgress: () => undefined,
  });
  const directory = await mkdtemp(join(tmpdir(), 'stellar-collect-disk-'));
  const port = await freePort();
  const options = ['--dbpath', directory, '--port', `${port}`, '--bind_ip', '127.0.0.1', '--nounixsocket', '--quiet'];
  const [program, ...rest] = [...command, ...options, '--replSet', 'disk', '--setParameter', 'enableTestCommands=1'];
  const env = { ...process.env, GLIBC_TUNABLES: 'glibc.pthread.rseq=0' };
  const child = spawn(program!, rest, { stdio: 'ignore', env });
  const uri = `mongodb://127.0.0.1:${port}`;
  const direct = await mongo.MongoClient.connect(`${uri}/?directConnection=true&serverSelectionTimeoutMS=30000`);
  const host = `127.0.0.1:${port}`;
  await direct.db('admin').command({ replSetInitiate: { _id: 'disk', members: [{ _id: 0, host }] } });
  await direct.close();
  const client = await mongo.MongoClient.connect(`${uri}/test_disk?replicaSet=disk`);
  return { child, directory, client };
}

const { child, directory, client } = await startMongod();
t.teardown(async () => {
  await client.close();
  child.kill();
  await once(child, 'exit');
  await rm(directory, { recursive: true, force: true });
});
const { host, port } = client.options.hosts[0]!;
const uri = `mongodb://${host}:${port}/test_disk?replicaSet=disk`;
const { api, url, apiKey } = await startTestService(t, { database: { uri } });

const fail = (mode: 'alwaysOn' | 'off', failCommands = WRITES) =>
  client.db('admin').command({
    configureFailPoint: 'failCommand',
    ...(mode === 'off' ? { mode } : { mode, data: { failCommands, errorCode: OUT_OF_DISK_SPACE } }),
  });

t.test('a client that hangs up ends the read of its list in MongoDB too', async (t) => {
  const admin = client.db('admin');
  const isReading = async () => {
    const { inprog } = await admin.command({
      currentOp: 1,
      ns: 'test_disk.payments',
      op: { $in: ['query', 'command'] },
    });
    return inprog.length > 0;
  };
  const held = { nss: 'test_disk.payments', shouldCheckForInterrupt: true };
  await admin.command({ configureFailPoint: 'shardWaitInFindBeforeMakingBatch', mode: 'alwaysOn', data: held });
  t.teardown(() => admin.command({ configureFailPoint: 'shardWaitInFindBeforeMakingBatch', mode: 'off' }));
  const leaving = new AbortController();
  const asked = fetch(`${url}/api/v1/payments?pageSize=5`, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: leaving.signal,
  });
  await eventually(isReading, 'its read in MongoDB');
  leaving.abort();
  await t.rejects(asked);
  await eventually(async () => !(await isReading()), 'the end of the read', 5000);
});

t.test('while MongoDB refuses writes they are 503 and readiness says so, and reads go on', async (t) => {
  const readiness = async () => {
    const answer = await fetch(`${url}/health/ready`);
    return { status: answer.status, body: await answer.text() };
  };
  t.equal((await api('PATCH', '/account', { brand: { name: 'Before' } })).status, 200);

  await fail('alwaysOn');
  const refused = [
    await api('PATCH', '/account', { brand: { name: 'During' } }),
    await api('POST', '/api-keys', { name: 'till', scope: 'READ' }),
  ];
  for (const { status, error } of refused) t.match({ status, error }, { status: 503, error: { code: 'unavailable' } });
  await eventually(async () => (await readiness()).status === 503, 'readiness to say it', TOLD_WITHIN_MS);
  t.match((await readiness()).body, /refuses writes/);
  t.match(await api('GET', '/account'), { status: 200, data: { brand: { name: 'Before' } } }, 'nothing was changed');

  await fail('off');
  await eventually(async () => (await readiness()).status === 200, 'readiness again');
  t.match(await api('PATCH', '/account', { brand: { name: 'After' } }), { status: 200 });
});

t.test(
  'an installation is set up while the disk is full: a sentence, nothing half made, and it is gone on with',
  async (t) => {
    const db = client.db('test_disk_setup');
    const { setUp, get } = await startEmpty(t, { uri: uri.replace('/test_disk?', '/test_disk_setup?') });
    t.teardown(() => fail('off'));
    const body = { code: CODE, accountName: 'Bean & Leaf', userName: 'Ana', passkeys: false };
    // Full at once, and full in the middle.
    for (const commands of [WRITES, ['insert'], ['commitTransaction']]) {
      await fail('alwaysOn', commands);
      t.match(await setUp(body), { status: 503, error: { code: 'unavailable', message: /\.$/ } }, `${commands}`);
      t.equal((await get('/dashboard/setup')).status, 200);
      for (const name of ['accounts', 'users', 'api-keys'])
        t.equal(await db.collection(name).countDocuments(), 0, name);
      await fail('off');
    }
    t.match(await setUp(body), { status: 200, data: { apiKey: /^sk_/ } });
  },
);
