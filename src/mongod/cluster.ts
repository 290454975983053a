/** A sharded cluster on this machine, for trials and tests: a config server, shards of one member
 *  each, and routers, all children of this process. Its data is in a directory of its own, which is
 *  removed with it. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Db, MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { MongoUnavailableError } from './error.js';
import type { OnProgress } from './fetch.js';
import { findMongod, findMongos } from './find.js';
import { MONGOD_OPTIONS, SERVER_OPTIONS, startServer } from './server.js';
import { freePort } from './sockets.js';
import { sleep } from './time.js';

const USER = 'stellar-collect';
const PRIMARY_TIMEOUT_MS = 60_000;
/** Ends without waiting for clients to move to another member: there is none. */
const DATA_OPTIONS = [
  ...['--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '256', ...MONGOD_OPTIONS],
  ...['--setParameter', 'shutdownTimeoutMillisForSignaledShutdown=100'],
];
const ROUTER_OPTIONS = ['--setParameter', 'mongosShutdownTimeoutMillisForSignaledShutdown=100'];

export interface ClusterServer {
  /** `config`, `shard0`, `router0` and so on; also a shard's name in the cluster. */
  name: string;
  /** Connects directly to this server, past the routers, with all rights. */
  uri: string;
  /** Kills it, like kill -9. */
  kill(): Promise<void>;
  /** Starts it again on the same port with the same data. Resolves when it accepts writes. */
  start(): Promise<void>;
}

export interface Cluster {
  /** Names every router. It holds a password, so it must not be logged. */
  uri: string;
  config: ClusterServer;
  shards: readonly ClusterServer[];
  routers: readonly ClusterServer[];
  /** Ends all servers and removes their data. */
  close(): Promise<void>;
}

export interface ClusterOptions {
  cacheDir: string;
  log: Logger;
  onProgress?: OnProgress;
  /** Default 2. */
  shards?: number;
  /** Default 1. */
  routers?: number;
  /** `--setParameter` of config server and shards. */
  parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** Takes some five seconds. @throws MongoUnavailableError when mongod or mongos cannot run */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { shards = 2, routers = 1, parameters = {}, onProgress = () => undefined } = options;
  const mongod = await findMongod({ ...options, onProgress });
  const mongos = await findMongos(mongod, { ...options, onProgress });
  const directory = mkdtempSync(join(tmpdir(), 'stellar-collect-cluster-'));
  const key = randomBytes(72).toString('base64');
  writeFileSync(join(directory, 'keyfile'), key, { mode: 0o400 });
  const password = randomBytes(24).toString('hex');
  const servers: Server[] = [];
  const close = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };

  const begin = async (name: string, command: readonly string[], login: string): Promise<Server> => {
    const server = createServer({ name, command, login, port: await freePort(), directory });
    servers.push(server);
    await server.launch();
    return server;
  };
  const set = Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]);
  const system = `__system:${encodeURIComponent(key)}`;
  const member = async (name: string, role: '--configsvr' | '--shardsvr'): Promise<Server> => {
    const command = [...mongod, role, '--dbpath', join(directory, name), '--replSet', name, ...DATA_OPTIONS, ...set];
    const server = await begin(name, command, `${system}@?local`);
    await inAdmin(server.uri, (admin) => initiate(admin, name, server.host));
    return server;
  };
  const names = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}${index}`);

  try {
    const members = Promise.all(names('shard', shards).map((name) => member(name, '--shardsvr')));
    // The rejection is awaited below.
    members.catch(() => undefined);
    const config = await member('config', '--configsvr');
    await inAdmin(config.uri, (admin) => admin.command({ createUser: USER, pwd: password, roles: ['root'] }));
    const configdb = ['--configdb', `config/${config.host}`, ...ROUTER_OPTIONS];
    const login = `${USER}:${password}@?admin`;
    const opened = await Promise.all(
      names('router', routers).map((name) => begin(name, [...mongos, ...configdb], login)),
    );
    await inAdmin(opened[0]!.uri, async (admin) => {
      for (const { name, host } of await members) await admin.command({ addShard: `${name}/${host}`, name });
    });
    const hosts = opened.map(({ host }) => host).join(',');
    const uri = `mongodb://${USER}:${password}@${hosts}/stellar-collect?authSource=admin`;
    return { uri, config, shards: await members, routers: opened, close };
  } catch (error) {
    await close();
    throw error instanceof MongoUnavailableError ? error : new MongoUnavailableError((error as Error).message);
  }
}

interface Server extends ClusterServer {
  host: string;
  /** Resolves when it listens. */
  launch(): Promise<void>;
}

/** @param options.login `user:password@?database` */
function createServer(options: {
  name: string;
  command: readonly string[];
  login: string;
  port: number;
  directory: string;
}): Server {
  const { name, command, login, port, directory } = options;
  const host = `127.0.0.1:${port}`;
  const [credentials, authSource] = login.split('@?');
  const uri = `mongodb://${credentials}@${host}/?authSource=${authSource}&directConnection=true`;
  const args = ['--port', `${port}`, '--keyFile', join(directory, 'keyfile'), ...SERVER_OPTIONS];
  mkdirSync(join(directory, name), { mode: 0o700 });
  let child: ChildProcess | null = null;

  async function launch(): Promise<void> {
    const server = startServer([...command, ...args], join(directory, `${name}.log`));
    child = server.child;
    const start = await server.started;
    if (start !== 'listening') throw new MongoUnavailableError(`The cluster's ${name} cannot start: ${start.reason}`);
  }
  return {
    name,
    uri,
    host,
    launch,
    async kill() {
      const { exitCode, signalCode, pid } = child ?? {};
      if (pid === undefined || exitCode !== null || signalCode !== null) return;
      const ended = new Promise((resolve) => child!.once('close', resolve));
      child!.kill('SIGKILL');
      await ended;
    },
    async start() {
      await launch();
      await inAdmin(uri, isWritable);
    },
  };
}

async function initiate(admin: Db, name: string, host: string): Promise<void> {
  await admin.command({ replSetInitiate: { _id: name, members: [{ _id: 0, host }] } });
  await isWritable(admin);
}

async function isWritable(admin: Db): Promise<void> {
  const deadlineMs = Date.now() + PRIMARY_TIMEOUT_MS;
  while ((await admin.command({ hello: 1 })).isWritablePrimary !== true) {
    if (Date.now() > deadlineMs) throw new MongoUnavailableError('A server of the cluster does not become primary.');
    await sleep(20);
  }
}

async function inAdmin<T>(uri: string, work: (admin: Db) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 10_000, maxPoolSize: 1 });
  try {
    return await work(client.db('admin'));
  } finally {
    await client.close();
  }
}
