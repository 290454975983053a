/** Placement of data on a cluster of two shards: moves accounts like an operator, and records the
 *  commands of each shard. */
import { mongo } from 'mongoose';
import { SHARD_KEYS } from '../../src/app/open-database.js';
import type { TestCluster } from './cluster.js';
import type { TestDatabase } from './mongo.js';

/** The collections that are sharded by accounts. */
export const BY_ACCOUNT = Object.keys(SHARD_KEYS).filter((collection) => 'accountId' in SHARD_KEYS[collection]!);
export const SHARDS = ['shard0', 'shard1'];

/** Indexes of the shard with the unsharded collections, and of the other one. */
export async function placesOf({ db, name }: TestDatabase): Promise<{ primary: number; other: number }> {
  const databases = db.client.db('config').collection<{ _id: string; primary: string }>('databases');
  const primary = SHARDS.indexOf((await databases.findOne({ _id: name }))!.primary);
  return { primary, other: 1 - primary };
}

/** Moves the data of this account and of later ones, by MongoDB's own command. Routers know of the
 *  move afterwards. */
export async function moveFrom({ db, name }: TestDatabase, accountId: string, toShard: number): Promise<void> {
  for (const collection of BY_ACCOUNT) {
    const fields = Object.keys(SHARD_KEYS[collection]!);
    const least = Object.fromEntries(fields.map((field) => [field, new mongo.BSON.MinKey()]));
    await db.client.db('admin').command({
      moveRange: `${name}.${collection}`,
      min: { ...least, accountId },
      max: Object.fromEntries(fields.map((field) => [field, new mongo.BSON.MaxKey()])),
      toShard: SHARDS[toShard],
      waitForDelete: true,
    });
    // A router learns of a move when the former shard refuses its query.
    await db.collection(collection).findOne({ accountId });
  }
}

/** A command that a shard received. */
export interface Asked {
  collection: string;
  op: string;
  command: Record<string, any>;
}

/** Commands on the database that each shard received while `work` ran, in the order of the shards.
 *  Excludes background commands: change streams, the balancer, and further batches of
 *  an answer. */
export async function askedOf(cluster: TestCluster, name: string, work: () => Promise<unknown>): Promise<Asked[][]> {
  const filter = { ns: new RegExp(`^${name}\\.(?!system\\.)`), op: { $nin: ['getmore', 'killcursors'] } };
  await cluster.onShards(name, (db) => db.command({ profile: 1, filter }));
  await work();
  return cluster.onShards(name, async (db) => {
    await db.command({ profile: 0 });
    const profiled = await db.collection('system.profile').find().toArray();
    await db.collection('system.profile').drop();
    return profiled
      .map(({ ns, op, command }) => ({ collection: ns.slice(name.length + 1), op, command }))
      .filter(({ command }) => !command.pipeline?.[0]?.$changeStream && !Object.keys(command)[0]?.startsWith('_'));
  });
}
