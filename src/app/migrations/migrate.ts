/** Brings a database to the newest schema version before anything else uses it. One process migrates at a time; the others wait for it. */
import type { mongo } from 'mongoose';
import { monotonicClock } from '../../kit/clock.js';
import type { LeaseStore } from '../../kit/leases.js';
import { StartupError } from '../../kit/startup-error.js';
import type { Migration } from './migration.js';

export interface SchemaVersionDoc {
  _id: 'schema';
  /** The number of migrations that the database has seen. */
  version: number;
  /** A backup is being restored, or a restore was interrupted. */
  restoring?: true;
}

export const VERSION_COLLECTION = 'schemaVersion';
const ID = 'schema';
/** Keeps every release from starting on the database, even those that do not know `restoring`. */
export const versionWhileRestoring: SchemaVersionDoc = { _id: ID, version: 1_000_000_000, restoring: true };
const LEASE = 'migration';
const LEASE_MS = 15_000;
const RENEW_MS = 5000;
const LOOK_MS = 200;

type Leases = Pick<LeaseStore, 'hold' | 'release'>;

interface MigrateDeps {
  db: mongo.Db;
  leases: Leases;
  /** Unique per process. */
  holder: string;
  /** Oldest first. */
  migrations: readonly Migration[];
  /** Gets lines for the operator about upgrades and waiting. */
  onProgress: (line: string) => void;
}

/** Runs the migrations that the database has not seen. An interrupted migration runs again from its beginning. A fresh database gets the newest version
 *  without any migration.
 *  @throws StartupError when a newer release has upgraded the database, which then stays unchanged */
export async function migrate({ db, leases, holder, migrations, onProgress }: MigrateDeps): Promise<void> {
  const versions = db.collection<SchemaVersionDoc>(VERSION_COLLECTION);
  const newest = migrations.length;
  const readVersion = async (): Promise<number | null> => {
    const { version = null, restoring } = (await versions.findOne({ _id: ID })) ?? {};
    if (restoring) throw new StartupError('The restore of this database was not finished: run `cli restore` again.');
    if (version !== null && version > newest) throw tooNew(version, newest);
    return version;
  };
  const storeVersion = (version: number) =>
    versions.updateOne({ _id: ID }, { $max: { version } }, { upsert: true, writeConcern: { w: 'majority' } });

  for (let isWaiting = false; ; isWaiting = true) {
    if ((await readVersion()) === newest) return;
    if (await leases.hold(LEASE, holder, LEASE_MS)) break;
    if (!isWaiting) onProgress('Waiting for another process that is upgrading the database.');
    await monotonicClock.sleep(LOOK_MS);
  }
  await whileHeld(leases, holder, async (lost) => {
    const known = await readVersion();
    if (known === null && (await isFresh(db))) await storeVersion(newest);
    else {
      for (const [index, { title, steps }] of migrations.entries()) {
        if (index < (known ?? 0)) continue;
        onProgress(`Upgrading the database: ${title}.`);
        for (const step of steps) {
          lost.throwIfAborted();
          await step(db);
        }
        await storeVersion(index + 1);
      }
    }
  });
}

const tooNew = (version: number, newest: number) =>
  new StartupError(
    `The database was upgraded by a newer release (schema version ${version}; this release knows ${newest}): start that release, or restore a backup from before the upgrade.`,
  );

/** Renews the lease while `work` runs. The signal aborts when another process has taken the lease, because this one was stopped for too long. */
async function whileHeld(leases: Leases, holder: string, work: (lost: AbortSignal) => Promise<void>): Promise<void> {
  const ended = new AbortController();
  const lost = new AbortController();
  const renew = async () => {
    for (;;) {
      await monotonicClock.sleep(RENEW_MS, ended.signal);
      if (ended.signal.aborted) return;
      const isHeld = await leases.hold(LEASE, holder, LEASE_MS).catch(() => true);
      if (!isHeld) lost.abort(new StartupError('Another process has taken over the upgrade of the database.'));
    }
  };
  const renewing = renew();
  try {
    await work(lost.signal);
  } finally {
    ended.abort();
    await renewing;
    // When MongoDB is unreachable, the lease expires by itself.
    await leases.release(LEASE, holder).catch(() => undefined);
  }
}

/** Whether the database holds no data of the service. The local ledger may have stored some before. */
async function isFresh(db: mongo.Db): Promise<boolean> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray();
  return collections.every(
    ({ name }) => name === 'leases' || name === VERSION_COLLECTION || /^(ledger_|system\.)/.test(name),
  );
}
