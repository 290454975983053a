/** The services of compose.yaml as processes on loopback, with its commands, settings and health
 *  checks, in its order. The proxy has proxy.test.ts. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { parse } from 'yaml';
import { findMongod } from '../../src/mongod/index.js';
import { request } from '../helpers/api.js';
import { builtFile, ROOT, type Running, run, start } from '../helpers/command.js';
import { LONG } from '../helpers/long.js';
import { CACHE_DIR, freePort } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

interface Service {
  entrypoint?: string[];
  command: string[];
  environment?: Record<string, string | number>;
  volumes: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[] };
}

/** As Compose does, without variables that are set. */
const interpolated = (text: string) =>
  text
    .replaceAll(/\$\{\w+:\+[^}]*\}/g, '')
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll('$$', '$');
const compose = parse(interpolated(readFileSync(join(ROOT, 'compose.yaml'), 'utf8')), { merge: true });
const services: Record<string, Service> = compose.services;

t.test('compose.yaml and the docs name the settings that .env cannot change', async (t) => {
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
  // One that is handed on from .env is for it.
  const fixed = Object.keys(services.api!.environment!)
    .filter((name) => !text.includes(`${name}: \${${name}:-`))
    .map((name) => name.replace(/_FILE$/, ''));
  for (const name of ['api', 'worker', 'backup'])
    t.same(services[name]!.environment, services.api!.environment, `${name} has the same`);
  const guide = readFileSync(join(ROOT, 'docs/operations/deploy.md'), 'utf8');
  for (const said of [text, guide]) {
    const [, list = ''] = /Not for `?\.env`?, because [^:]+: ([^.]+)\./.exec(said) ?? [];
    t.same(list.match(/[A-Z_]{2,}/g)?.sort(), [...fixed].sort());
  }
  const { api } = services;
  t.match(readFileSync(join(ROOT, 'Caddyfile'), 'utf8'), `api:${api!.environment!.PORT}`, 'where the proxy looks');
});

const mongoPort = await freePort();
const folder = t.testdir({ bin: { 'package.json': '{"type":"commonjs"}' } });
const folderOf = (volume: string) => join(folder, volume);
for (const volume of Object.keys(compose.volumes)) await mkdir(folderOf(volume));

/** What mongosh does for the health check of MongoDB, which awaits each call by itself. */
const MONGOSH = `#!/usr/bin/env node
const { MongoClient } = require(${JSON.stringify(createRequire(import.meta.url).resolve('mongodb'))});
const uri = 'mongodb://127.0.0.1:${mongoPort}/?directConnection=true';
const script = process.argv.at(-1).replaceAll(/\\b(?:admin\\.\\w+|rs\\.\\w+|db\\.hello)\\(/g, 'await $&');
(async () => {
  let client = await MongoClient.connect(uri);
  const command = (what) => client.db('admin').command(what);
  const admin = {
    auth: async (username, password) => void (client = await MongoClient.connect(uri, { auth: { username, password } })),
    createUser: ({ user, pwd, roles }) => command({ createUser: user, pwd, roles }),
  };
  const scope = {
    db: { getSiblingDB: () => admin, hello: () => command({ hello: 1 }) },
    rs: { initiate: (replSetInitiate) => command({ replSetInitiate }) },
    ...{ quit: process.exit, require },
  };
  await new Function(...Object.keys(scope), 'return (async () => {' + script + '})()')(...Object.values(scope));
  process.exit(0);
})().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
`;
const program = async (name: string, text: string) => {
  await writeFile(folderOf(`bin/${name}`), text);
  await chmod(folderOf(`bin/${name}`), 0o755);
};
await program('mongosh', MONGOSH);
await program('stellar-collect', `#!/bin/sh\nexec node ${builtFile('src/cli/main.ts')} "$@"\n`);
// Only root gives files away.
if (process.getuid?.() !== 0) await program('chown', '#!/bin/sh\n');

/** A text of the service with the folders of its volumes in place of where it mounts them. */
function inPlace(name: string, text: string): string {
  const mounts = services[name]!.volumes.map((each) => each.split(':'));
  return mounts
    .reduce((all, [volume, path]) => all.replaceAll(path!, folderOf(volume!)), text)
    .replaceAll('mongo:27017', `127.0.0.1:${mongoPort}`);
}

/** Settings of the environment, which is this machine's. */
const more: Record<string, string> = {
  PATH: `${folderOf('bin')}${delimiter}${process.env.PATH}`,
  ...{ NETWORKS: 'LOCAL', LOCAL_LEDGER_PORT: String(await freePort()), LOCAL_LEDGER_CLOSE_MS: '100' },
  ...{ HOST: '127.0.0.1', DATA_DIR: folder },
};

function begin(name: string, args: readonly string[], env: Record<string, string> = {}): Running {
  const settings = Object.entries(services[name]!.environment ?? {}).map(([key, value]) => [
    key,
    inPlace(name, String(value)),
  ]);
  const [command = '', ...rest] = args.map((each) => inPlace(name, each));
  return start(command, rest, { env: { ...Object.fromEntries(settings), ...more, ...env }, detached: true });
}
const whole = ({ entrypoint = [], command }: Service) => [...entrypoint, ...command];
const stopped = async ({ process: { pid }, ended }: Running) => {
  process.kill(-pid!, 'SIGTERM');
  return ended;
};

const contents = async (volume: string) => {
  const names = (await readdir(folderOf(volume))).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folderOf(volume), name), 'utf8')])),
  );
};
const makeSecrets = () => begin('secrets', whole(services.secrets!)).ended;

t.test('secrets are made once, each for whom it is for, and what is there stays', async (t) => {
  t.match(await makeSecrets(), { code: 0, stdout: '', stderr: '' });
  const made = { ...(await contents('secrets')), ...(await contents('mongo-secrets')) };
  t.same(Object.keys(made), ['mongodb-uri', 'secrets-key', 'keyfile', 'password']);
  t.equal(Buffer.from(made['secrets-key'], 'base64').length, 32);
  t.match(made.password, /^[0-9a-f]{48}$/);
  t.match(made['mongodb-uri'], `mongodb://collect:${made.password}@127.0.0.1:${mongoPort}/stellar-collect?`);
  const owned = (volume: string, name: string) =>
    stat(join(folderOf(volume), name)).then(({ mode, uid }) => [mode & 0o777, uid]);
  if (process.getuid?.() === 0) {
    t.same(await owned('secrets', 'secrets-key'), [0o600, 1000]);
    t.same(await owned('mongo-secrets', 'keyfile'), [0o600, 999], 'mongod refuses a key that others can read');
  }
  t.equal((await makeSecrets()).code, 0);
  t.same({ ...(await contents('secrets')), ...(await contents('mongo-secrets')) }, made);

  // As a start leaves it that was killed: a half file beside, an address that is not there yet, a
  // file without its content.
  await writeFile(join(folderOf('secrets'), 'secrets-key.new'), 'half');
  await truncate(join(folderOf('secrets'), 'mongodb-uri'));
  t.equal((await makeSecrets()).code, 0);
  t.match({ ...(await contents('secrets')), ...(await contents('mongo-secrets')) }, made);
  spawnSync('rm', [join(folderOf('secrets'), 'secrets-key.new')]);
});

/** Services, each behind those that it waits for. */
function inOrder(): string[] {
  const order: string[] = [];
  const add = (name: string) => {
    for (const needed of Object.keys(services[name]!.depends_on ?? {})) add(needed);
    if (!order.includes(name)) order.push(name);
  };
  for (const name of Object.keys(services)) add(name);
  return order;
}

t.test('in the order of compose.yaml they come up, take a payment, and back up', LONG, async (t) => {
  const order = inOrder();
  t.same(order, ['secrets', 'mongo', 'api', 'proxy', 'worker', 'backup']);
  await mkdir(folderOf('mongo'), { recursive: true });
  const mongod = await findMongod({ cacheDir: CACHE_DIR, log: pino({ level: 'silent' }), onProgress: () => undefined });
  const [, ...given] = services.mongo!.command;
  const own = [
    '--port',
    String(mongoPort),
    '--dbpath',
    folderOf('mongo'),
    // The path of a socket has room for 107 characters, and this folder's may be longer.
    '--nounixsocket',
    '--wiredTigerCacheSizeGB',
    '0.25',
  ];
  const args = given.flatMap((each) => (each === '--bind_ip_all' ? ['--bind_ip', '127.0.0.1'] : each));
  const mongo = begin('mongo', [...mongod, ...args, ...own]);
  t.teardown(() => stopped(mongo));
  const [, ...check] = services.mongo!.healthcheck!.test!;
  const checked = () => begin('mongo', check).ended;
  const takesWrites = async () => {
    if (mongo.process.exitCode !== null) throw new Error(`mongod ended: ${mongo.stdout().slice(-2_000)}`);
    return (await checked()).code === 0;
  };
  await eventually(takesWrites, 'MongoDB takes writes', 60_000);
  t.equal((await checked()).code, 0, 'and says so again');

  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const program = (name: string) => ['node', builtFile('src/main.ts'), ...services[name]!.command];
  const [, test = ''] = /^ +CMD (\[.*\])$/m.exec(image)!;
  const ports: Record<string, string> = {};
  for (const name of ['api', 'worker']) {
    ports[name] = String(await freePort());
    const running = begin(name, program(name), { PORT: ports[name], METRICS_PORT: String(await freePort()) });
    t.teardown(() => stopped(running));
    const healthy = () => run('node', JSON.parse(test).slice(1), { env: { PORT: ports[name] } });
    t.not((await run('node', JSON.parse(test).slice(1), { env: { PORT: '9' } })).code, 0);
    await eventually(async () => (await healthy()).code === 0, `${name} is healthy`, 60_000);
  }

  const cli = (...args: string[]) => begin('api', ['stellar-collect', ...args]).ended;
  const account = await cli('account', 'create', '--name', 'Shop', '--json');
  const { key } = JSON.parse(account.stdout).apiKey;
  const origin = `http://127.0.0.1:${ports.api}`;
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) };
    const answer = await request(origin, method, path, { headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.data;
  };
  const funded = await cli('ledger', 'fund', '--json');
  const wallet = await call('POST', '/wallets', {
    name: 'Shop',
    address: JSON.parse(funded.stdout).address,
    network: 'LOCAL',
  });
  const terms = { name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' };
  const product = await call('POST', '/products', terms);
  const link = await call('POST', '/payment-links', { productId: product.id });
  t.match(link.url, /^http:\/\/localhost\/p\//, 'without a domain');
  const paid = await cli('ledger', 'pay', '--to', wallet.address, '--amount', '25', '--memo', link.memo);
  t.equal(paid.code, 0, paid.stderr);
  await eventually(async () => (await call('GET', '/payments'))[0]?.status === 'COMPLETED', 'the payment');

  const day = (nth: number) => `2025-01-${String(nth).padStart(2, '0')}.backup`;
  for (let nth = 1; nth <= 20; nth += 1) await writeFile(join(folderOf('backups'), day(nth)), '');
  const killed = join(folderOf('backups'), `${day(20)}.1f.part`);
  await writeFile(killed, 'of one that was killed');
  await utimes(killed, new Date(), new Date(Date.now() - 15 * 60_000));
  const running = 'before-the-upgrade.2e.part';
  await writeFile(join(folderOf('backups'), running), 'of one that is made by hand');
  const today = `${new Date().toISOString().slice(0, 10)}.backup`;
  const backup = begin('backup', whole(services.backup!));
  const kept = async () => (await readdir(folderOf('backups'))).sort();
  await eventually(async () => (await kept()).length === 15, 'a backup, and the last 14 kept');
  t.same(await kept(), [...Array.from({ length: 13 }, (_, index) => day(index + 8)), today, running]);
  const [, healthy = ''] = services.backup!.healthcheck!.test!;
  t.equal((await begin('backup', ['sh', '-c', healthy]).ended).code, 0, 'it is fresh');
  await stopped(backup);
  const uri = (await contents('secrets'))['mongodb-uri']!.trim().replace('/stellar-collect?', '/restored?');
  const another = { MONGODB_URI: uri, MONGODB_URI_FILE: '' };
  const restored = await begin('backup', ['stellar-collect', 'restore', '--from', `/backups/${today}`], another).ended;
  t.match(restored, { code: 0, stdout: /documents restored/ });
});
