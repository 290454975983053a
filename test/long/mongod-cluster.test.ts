/** The cluster, with real processes that are really killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { openCluster } from '../../src/mongod/index.js';
import { CACHE_DIR } from '../helpers/mongo.js';

const HOLDER = fileURLToPath(new URL('./cluster-holder.ts', import.meta.url));

/** Where the clusters keep their data. */
const directory = mkdtempSync(join(tmpdir(), 'stellar-collect-mongod-'));
process.env.TMPDIR = directory;
t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

const portsOf = (uris: readonly string[]) =>
  uris.flatMap((uri) => [...uri.matchAll(/:(\d+)[,/]/g)].map(([, port]) => Number(port)));

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });

async function untilFree(ports: readonly number[]): Promise<void> {
  const deadlineMs = Date.now() + 20_000;
  for (const port of ports)
    while (!(await isFree(port))) {
      if (Date.now() > deadlineMs) throw new Error(`${port} is not free`);
      await delay(50);
    }
}

t.test(
  'a cluster has its documents on both shards, outlives the death of one, and leaves nothing behind',
  async (t) => {
    const cluster = await openCluster({ cacheDir: CACHE_DIR, log: pino({ level: 'silent' }), routers: 2 });
    t.teardown(() => cluster.close());
    t.equal(cluster.shards.length, 2);
    t.equal(new mongo.MongoClient(cluster.uri).options.hosts.length, 2, 'both routers are named');
    const client = await mongo.MongoClient.connect(cluster.uri);
    const admin = client.db('admin');
    await admin.command({ shardCollection: 'test.things', key: { owner: 1 } });
    await admin.command({ split: 'test.things', middle: { owner: 'm' } });
    await admin.command({ moveRange: 'test.things', min: { owner: 'm' }, toShard: 'shard1' });
    const things = client.db('test').collection('things');
    await things.insertMany([{ owner: 'a' }, { owner: 'z' }]);

    const ownersOn = async (uri: string) => {
      const direct = await mongo.MongoClient.connect(uri);
      const found = await direct.db('test').collection('things').find().toArray();
      await direct.close();
      return found.map(({ owner }) => owner);
    };
    const [shard0, shard1] = cluster.shards as [(typeof cluster.shards)[0], (typeof cluster.shards)[0]];
    const distributed = { a: await ownersOn(shard0.uri), z: await ownersOn(shard1.uri) };
    t.same(Object.values(distributed).flat().sort(), ['a', 'z']);
    t.same(
      Object.values(distributed).map(({ length }) => length),
      [1, 1],
    );

    await shard1.kill();
    await t.rejects(ownersOn(`${shard1.uri}&serverSelectionTimeoutMS=300`));
    await shard1.start();
    t.same(await ownersOn(shard1.uri), distributed.z);
    t.equal(await things.countDocuments(), 2);

    await client.close();
    await cluster.close();
    await untilFree(portsOf([cluster.uri, cluster.config.uri, shard0.uri, shard1.uri]));
    t.same(readdirSync(directory), []);
  },
);

t.test('a cluster ends with its process, even if that is killed', async (t) => {
  const holder = spawn(process.execPath, ['--import=tsx', HOLDER, CACHE_DIR], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => holder.kill('SIGKILL'));
  const { value } = await createInterface({ input: holder.stdout })[Symbol.asyncIterator]().next();
  const ports = portsOf(value.split(' '));
  t.equal(ports.length, 3);
  t.notOk(await isFree(ports[0]!), 'it listens');
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  await untilFree(ports);
});
