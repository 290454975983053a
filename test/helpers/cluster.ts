/** A real cluster of two shards for a test file: routers for the tested code, and direct
 *  connections to each shard for assertions. */
import { randomBytes } from 'node:crypto';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { type Cluster, type ClusterOptions, openCluster } from '../../src/mongod/index.js';
import { CACHE_DIR, type TestDatabase } from './mongo.js';

export interface TestCluster extends Omit<Cluster, 'uri'> {
  /** A database through these routers, by default all. It is new unless `name` is an existing one,
   *  and is dropped with the cluster. */
  database(routers?: readonly number[], name?: string): TestDatabase;
  /** Queries each shard directly, in the order of the shards: to count documents, or to profile. */
  onShards<T>(name: string, ask: (db: mongo.Db) => Promise<T>): Promise<T[]>;
}

/** Closed with `t`. @param options.routers 1 by default */
export async function testCluster(
  t: { teardown(end: () => unknown): void },
  options: Pick<ClusterOptions, 'routers' | 'parameters'> = {},
): Promise<TestCluster> {
  const cluster = await openCluster({ cacheDir: CACHE_DIR, log: pino({ level: 'warn' }), ...options });
  const hosts = cluster.uri.split('@')[1]!.split('/')[0]!.split(',');
  const clients: mongo.MongoClient[] = [];
  const connected = (uri: string) => {
    const client = new mongo.MongoClient(uri);
    clients.push(client);
    return client;
  };
  t.teardown(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await cluster.close();
  });
  const shards = cluster.shards.map(({ uri }) => connected(uri));
  return {
    ...cluster,
    database(routers = hosts.map((_, index) => index), name = `test_${randomBytes(8).toString('hex')}`) {
      const uri = cluster.uri
        .replace(hosts.join(','), routers.map((index) => hosts[index]).join(','))
        .replace(/\/[\w-]+\?/, `/${name}?`);
      return { uri, name, db: connected(uri).db(name) };
    },
    onShards: (name, ask) => Promise.all(shards.map((client) => ask(client.db(name)))),
  };
}
