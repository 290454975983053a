/** The embedded MongoDB, with real processes that are really killed. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';

import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { deflateSync, gzipSync } from 'node:zlib';
import { BSON, MongoClient } from 'mongodb';
import { pino } from 'pino';
import t from 'tap';
import { LONG } from '../../../test/helpers/long.js';
import { MongoUnavailableError } from '../error.js';
import { fetchProgram, UBUNTU_24 } from '../fetch.js';
import { findMongod } from '../find.js';
import { openMongo } from '../index.js';
import { freePort, isFree } from '../sockets.js';
import { isPatched } from '../version.js';

const MEMBER = fileURLToPath(new URL('./member.ts', import.meta.url));
const CACHE_DIR = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stellar-collect');
const log = pino({ level: 'silent' });

const openEmbedded = (dataDir: string) => openMongo({ uri: null, dataDir, cacheDir: CACHE_DIR, log });

type T = { teardown(end: () => unknown): void; comment(text: string): void };

function dataDirectory(t: T): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'stellar-collect-mongod-'));
  t.teardown(async () => {
    await until(() => mongodOf(dataDir) === null);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return dataDir;
}

/** A separate process that holds the MongoDB of `dataDir`. */
function member(t: T, dataDir: string, as: { uid?: number; gid?: number; cacheDir?: string; home?: string } = {}) {
  const { uid, gid, cacheDir = CACHE_DIR, home = homedir() } = as;
  const child = spawn(process.execPath, ['--import=tsx', MEMBER, dataDir, cacheDir], {
    ...{ uid, gid, env: { ...process.env, HOME: home } },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (text) => {
    complaints += text;
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (word: string): Promise<string> => {
    const { value = 'nothing' } = await lines.next();
    if (!value.startsWith(word)) throw new Error(`expected ${word}: ${value} ${complaints}`);
    return value.slice(word.length + 1);
  };
  const ask = (command: string, word: string) => {
    child.stdin.write(`${command}\n`);
    return answer(word);
  };
  return {
    /** The connection string. */
    ready: () => answer('ready'),
    failed: () => answer('failed'),
    /** Writes one more document with majority. Resolves with the number of documents. */
    write: async () => Number(await ask('write', 'wrote')),
    close: () => ask('close', 'closed'),
    kill: () => killed(child),
  };
}

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** The running mongod of a data directory, found by the lock on its data. */
function mongodOf(dataDir: string): number | null {
  try {
    const pid = Number(readFileSync(join(dataDir, 'mongodb/data/mongod.lock'), 'utf8'));
    return readlinkSync(`/proc/${pid}/cwd`) === join(dataDir, 'mongodb') ? pid : null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  // An ended process keeps its entry, without a working directory, until its parent collects it.
  return existsSync(`/proc/${pid}/cwd`);
}

function keeperOf(dataDir: string): number {
  const stat = readFileSync(`/proc/${mongodOf(dataDir)}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** @returns the milliseconds that it took */
async function until(condition: () => boolean): Promise<number> {
  const startMs = performance.now();
  while (!condition()) {
    if (performance.now() - startMs > 20_000) throw new Error(`not within 20 s: ${condition}`);
    await delay(20);
  }
  return performance.now() - startMs;
}

async function took(t: T, what: string, work: Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work;
  const ms = Math.round(performance.now() - startMs);
  t.comment(`${what}: ${ms} ms`);
  return ms;
}

t.test(
  'two that start at once share one mongod, which goes on without the first and ends with the last',
  LONG,
  async (t) => {
    const dataDir = dataDirectory(t);
    const [one, two] = [member(t, dataDir), member(t, dataDir)];
    const [uri, other] = await Promise.all([one.ready(), two.ready()]);
    t.equal(other, uri);
    t.equal(await one.write(), 1);
    t.equal(await two.write(), 2);
    const mongod = mongodOf(dataDir);
    await took(t, 'the first of two closes', one.close());
    t.equal(await two.write(), 3);
    t.equal(mongodOf(dataDir), mongod);
    await took(t, 'the last of two closes', two.close());
    t.equal(mongodOf(dataDir), null, 'when the last has closed, mongod has ended');
    t.notOk(existsSync(join(dataDir, 'mongodb/keeper.sock')));

    const next = member(t, dataDir);
    await took(t, 'ready again', next.ready());
    t.equal(await next.write(), 4, 'the data is still there');
  },
);

t.test('after the kill of any of them, the others have their MongoDB at the same address', LONG, async (t) => {
  const dataDir = dataDirectory(t);
  const starter = member(t, dataDir);
  const uri = await starter.ready();
  const [two, three] = [member(t, dataDir), member(t, dataDir)];
  t.same(await Promise.all([two.ready(), three.ready()]), [uri, uri]);

  const mongod = mongodOf(dataDir);
  await starter.kill();
  t.equal(await two.write(), 1);
  t.equal(mongodOf(dataDir), mongod, 'the starter was killed: nothing happened to mongod');

  /** Kills the process and has the survivors write. */
  const survive = async (what: string, pid: number, documents: number) => {
    const before = mongodOf(dataDir);
    process.kill(pid, 'SIGKILL');
    await until(() => mongodOf(dataDir) !== before);
    t.ok((await took(t, `a write over the death of ${what}`, two.write())) < 10_000);
    t.equal(await three.write(), documents + 2);
  };
  await survive('mongod', mongodOf(dataDir)!, 1);
  await survive('its keeper', keeperOf(dataDir), 3);
  await survive('its second keeper', keeperOf(dataDir), 5);

  process.kill(keeperOf(dataDir), 'SIGTERM');
  await delay(200);
  t.equal(await three.write(), 8, 'a signal for the whole service does not take the database from under it');

  await Promise.all([two.kill(), three.kill()]);
  t.ok((await until(() => mongodOf(dataDir) === null)) < 5_000, 'all were killed: mongod ends by itself');
});

t.test('after everything was killed, keeper and mongod too, the next start has the data', LONG, async (t) => {
  const dataDir = dataDirectory(t);
  const one = member(t, dataDir);
  const uri = await one.ready();
  t.equal(await one.write(), 1);
  const [keeper, mongod] = [keeperOf(dataDir), mongodOf(dataDir)!];
  const dead = one.kill();
  process.kill(keeper, 'SIGKILL');
  process.kill(mongod, 'SIGKILL');
  await Promise.all([dead, until(() => !isAlive(mongod))]);
  t.ok(existsSync(join(dataDir, 'mongodb/keeper.sock')), 'the socket is left behind');
  t.ok(statSync(join(dataDir, 'mongodb/data/mongod.lock')).size > 0, 'the lock is left behind');

  const { port } = new URL(uri);
  // The threads of a killed mongod release its port one by one.
  while (!(await isFree(Number(port)))) await delay(20);
  const stranger = createServer((socket) => socket.destroy()).listen(Number(port), '127.0.0.1');
  t.teardown(() => stranger.close());
  const next = member(t, dataDir);
  const moved = await next.ready();
  t.not(new URL(moved).port, port, 'a stranger has the port, so another is taken');
  t.equal(await next.write(), 2);
});

t.test('a keeper that is killed takes its mongod along, so that none is left without members', async (t) => {
  const dataDir = dataDirectory(t);
  const one = member(t, dataDir);
  await one.ready();
  const [keeper, mongod] = [keeperOf(dataDir), mongodOf(dataDir)!];
  await one.kill();
  process.kill(keeper, 'SIGKILL');
  t.ok((await until(() => !isAlive(mongod))) < 5_000);
});

t.test('only a user who can read the data directory can use the database', async (t) => {
  const dataDir = join(dataDirectory(t), 'deep'.repeat(30), 'data');
  const opened = await openEmbedded(dataDir);
  t.teardown(() => opened.close());
  t.ok(opened.embedded);
  const mode = (path: string) => (statSync(join(dataDir, path)).mode & 0o777).toString(8);
  t.equal(mode(''), '700');
  t.equal(mode('mongodb'), '700');
  t.equal(mode('mongodb/keyfile'), '400');
  t.equal(mode('mongodb/mongod.log'), '600');

  const withoutCredentials = new MongoClient(`mongodb://127.0.0.1:${new URL(opened.uri).port}/?directConnection=true`);
  t.teardown(() => withoutCredentials.close());
  await t.rejects(withoutCredentials.db('stellar-collect').collection('documents').findOne(), {
    code: 13,
  });
  await t.rejects(withoutCredentials.db('admin').command({ createUser: 'thief', pwd: 'x', roles: ['root'] }), {
    code: 13,
  });
});

t.test(
  'the embedded mongod does not unpack compressed messages of strangers, so that CVE-2025-14847 leaks nothing',
  async (t) => {
    const opened = await openEmbedded(dataDirectory(t));
    t.teardown(() => opened.close());
    const port = Number(new URL(opened.uri).port);
    t.ok((await answerTo(port, hello())).length > 0, 'a plain hello is answered');
    t.equal((await answerTo(port, compressed(hello()))).length, 0, 'a compressed one is not');
  },
);

/** An OP_MSG with `{hello: 1, $db: "admin"}`. */
function hello(): Buffer {
  const document = BSON.serialize({ hello: 1, $db: 'admin' });
  return message(2013, Buffer.concat([Buffer.alloc(5), document]));
}

function message(opcode: number, body: Buffer): Buffer {
  const header = Buffer.alloc(16);
  for (const [index, value] of [16 + body.length, 1, 0, opcode].entries()) header.writeInt32LE(value, 4 * index);
  return Buffer.concat([header, body]);
}

/** The same message in an OP_COMPRESSED with zlib. */
function compressed(original: Buffer): Buffer {
  const body = original.subarray(16);
  const head = Buffer.alloc(9);
  head.writeInt32LE(2013, 0);
  head.writeInt32LE(body.length, 4);
  head.writeUInt8(2, 8);
  return message(2012, Buffer.concat([head, deflateSync(body)]));
}

/** The port's answer; empty when it closes the connection or stays silent for a second. */
function answerTo(port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const settle = (answer: Buffer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => settle(Buffer.alloc(0)));
    socket.once('data', settle);
    socket.on('error', () => settle(Buffer.alloc(0))).on('close', () => settle(Buffer.alloc(0)));
  });
}

t.test('a mongod on the PATH is used only with the fix for CVE-2025-14847', async (t) => {
  const path = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = path;
  });
  const bin = dataDirectory(t);
  // There is no build for such a system, so only the PATH is left.
  const deps = { cacheDir: bin, log, onProgress: () => undefined };
  const system = { platform: 'freebsd', arch: 'arm64', glibc: null, cpu: '' };
  const find = (version: string) => {
    writeFileSync(join(bin, 'mongod'), `#!/bin/sh\necho db version v${version}\n`, { mode: 0o755 });
    return findMongod({ ...deps, system });
  };
  process.env.PATH = `${bin}:/bin`;
  for (const version of ['6.0.27', '7.0.27', '7.3.4', '8.0.16', '8.1.2', '8.2.2', '8.2.3-rc0', 'next']) {
    await t.rejects(find(version), { name: 'MongoUnavailableError' }, version);
  }
  for (const version of ['7.0.28', '7.0.101', '8.0.17', '8.2.3', '8.2.10', '8.3.0', '9.0.0']) {
    t.same(await find(version), ['mongod'], version);
  }
});

const asRoot = { skip: process.getuid?.() !== 0 && 'only root can become another user' };

t.test('a user without any rights can run it, out of a home of his own', { ...asRoot, ...LONG }, async (t) => {
  const home = dataDirectory(t);
  const nobody = { uid: 65_534, gid: 65_534, home, cacheDir: join(home, 'cache') };
  if (existsSync(CACHE_DIR)) cpSync(CACHE_DIR, nobody.cacheDir, { recursive: true });
  execFileSync('chown', ['-R', `${nobody.uid}:${nobody.gid}`, home]);
  const one = member(t, join(home, 'data'), nobody);
  await took(t, 'ready as nobody', one.ready());
  t.equal(await one.write(), 1);
  t.equal(statSync(`/proc/${mongodOf(join(home, 'data'))}`).uid, nobody.uid);
  await one.close();

  const refused = member(t, join(dataDirectory(t), 'data'), nobody);
  t.match(await refused.failed(), /^DATA_DIR cannot be used: EACCES/);
});

t.test('the reason why mongod does not start is one line', async (t) => {
  const dataDir = dataDirectory(t);
  mkdirSync(join(dataDir, 'mongodb/data'), { recursive: true });
  for (const name of ['WiredTiger', 'WiredTiger.turtle']) writeFileSync(join(dataDir, 'mongodb/data', name), 'rubbish');
  const error = await openEmbedded(dataDir).then(
    () => null,
    (error) => error,
  );
  t.type(error, MongoUnavailableError);
  t.match(error.message, /^The embedded MongoDB cannot start: mongod: .*mongod\.log\)$/);

  const file = join(dataDir, 'file');
  writeFileSync(file, '');
  await t.rejects(
    openEmbedded(file),
    new MongoUnavailableError(`DATA_DIR cannot be used: ${file} is not a directory. Set it to a writable directory.`),
  );
});

t.test('what the registry gives is checked, and a registry that is away is named as the reason', async (t) => {
  const cacheDir = dataDirectory(t);
  const own = process.env.npm_config_registry;
  t.teardown(() => {
    if (own === undefined) delete process.env.npm_config_registry;
    else process.env.npm_config_registry = own;
  });
  const fetched = (registry: string) => {
    process.env.npm_config_registry = registry;
    return fetchProgram(UBUNTU_24, 'mongod', cacheDir, () => undefined);
  };
  const [name, version] = UBUNTU_24.package.split('@') as [string, string];
  const rubbish = gzipSync('rubbish');
  const registry = createHttpServer((request, response) => {
    const tarball = `http://${request.headers.host}/rubbish.tgz`;
    if (request.url === '/rubbish.tgz') response.end(rubbish);
    else response.end(JSON.stringify({ name, versions: { [version]: { name, version, dist: { tarball } } } }));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  const { port } = registry.address() as AddressInfo;
  await t.rejects(fetched(`http://127.0.0.1:${port}/`), {
    name: 'MongoUnavailableError',
    message: /is not MongoDB's own build/,
  });
  registry.closeAllConnections();
  registry.close();
  await t.rejects(fetched(`http://127.0.0.1:1/`), {
    name: 'MongoUnavailableError',
    message: /npm registry \(ECONNREFUSED\)/,
  });
  t.same(readdirSync(cacheDir), [], 'nothing of it is kept');
});

async function versionAt(uri: string): Promise<{ version: string }> {
  const client = await MongoClient.connect(uri);
  try {
    return (await client.db('admin').command({ buildInfo: 1 })) as unknown as { version: string };
  } finally {
    await client.close();
  }
}

t.test('the operator’s MongoDB is checked before it is used', LONG, async (t) => {
  const dataDir = dataDirectory(t);
  const embedded = await openEmbedded(dataDir);
  t.teardown(() => embedded.close());
  const refusal = async (uri: string): Promise<string> => {
    const error = await openMongo({ uri, dataDir, log }).then(
      () => null,
      (error) => error,
    );
    t.type(error, MongoUnavailableError);
    t.notMatch(error.message, /secret|\n/, 'one line without credentials');
    return error.message;
  };
  const warnings: string[] = [];
  const listening = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  const given = await openMongo({ uri: embedded.uri, dataDir, log: listening });
  const { version } = await versionAt(embedded.uri);
  t.equal(
    warnings.some((line) => line.includes('CVE-2025-14847')),
    !isPatched(version),
    `a warning of ${version}`,
  );
  t.same({ ...given, close: null }, { uri: embedded.uri, embedded: false, close: null });
  await given.close();

  const { host } = new URL(embedded.uri);
  t.match(await refusal(`mongodb://thief:secret@${host}/?authSource=admin`), `${host} refuses the credentials`);
  t.match(await refusal(`mongodb://thief:secret@127.0.0.1:1/`), '127.0.0.1:1');
  t.match(await refusal('mongodb://thief:secret@'), 'not a valid connection string');

  const port = await freePort();
  const [program, ...args] = await findMongod({ cacheDir: CACHE_DIR, log, onProgress: () => undefined });
  const standalone = spawn(program!, [
    ...args,
    '--dbpath',
    dataDirectory(t),
    '--port',
    `${port}`,
    '--bind_ip',
    '127.0.0.1',
    '--nounixsocket',
  ]);
  t.teardown(() => killed(standalone));
  for await (const line of createInterface({ input: standalone.stdout }))
    if (line.includes('Waiting for connections')) break;
  t.match(
    await refusal(`mongodb://127.0.0.1:${port}`),
    'is a standalone, but a replica set is needed: start mongod with --replSet',
  );
});
