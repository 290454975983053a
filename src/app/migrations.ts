/** Brings a database to the newest schema version before anything else uses it. One process
 *  migrates at a time; the others wait for it. */
import type { mongo } from 'mongoose';
import type { Logger } from 'pino';
import { monotonicClock } from '../kit/clock.js';
import { type LeaseStore, whileHeld } from '../kit/leases.js';
import { StartupError } from '../kit/startup-error.js';

/** One change of the whole database. It may be interrupted at any moment and then runs again from
 *  its beginning, even beside a slow earlier run: so a step changes only documents that still have
 *  the old form. It names collections, fields and indexes itself, because those of the stores
 *  keep changing. */
export interface Migration {
  /** What changes, for the operator: follows "Upgrading the database: ". */
  title: string;
  /** In order. */
  steps: readonly ((db: mongo.Db) => Promise<void>)[];
}

/** Oldest first. A released migration never changes. */
export const MIGRATIONS: readonly Migration[] = [];

/** The schema version of release 0.1.0; each migration makes the next one. Smaller ones were
 *  never released. */
export const FIRST_VERSION = 18;

export interface SchemaVersionDoc {
  _id: 'schema';
  version: number;
  /** A backup is being restored, or a restore was interrupted. */
  restoring?: true;
  /** The restore that fills the database: of two at once the later one. */
  by?: string;
}

export const VERSION_COLLECTION = 'schemaVersion';
const ID = 'schema';
/** Keeps every release from starting on the database, even those that do not know `restoring`. */
export const versionWhileRestoring: SchemaVersionDoc = { _id: ID, version: 1_000_000_000, restoring: true };
const LEASE = 'migration';
const LEASE_MS = 15_000;
const LOOK_MS = 200;

interface MigrateDeps {
  db: mongo.Db;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  /** Unique per process. */
  holder: string;
  /** Oldest first. */
  migrations: readonly Migration[];
  log: Logger;
  /** Gets lines for the operator about upgrades and waiting. */
  onProgress: (line: string) => void;
}

/** Runs the migrations that the database has not seen. An interrupted migration runs again from its
 *  beginning. A fresh database gets the newest version without any migration.
 *  @throws StartupError when a newer release has upgraded the database or an unreleased version
 *  made it, which then stays unchanged */
export async function migrate({ db, leases, holder, migrations, log, onProgress }: MigrateDeps): Promise<void> {
  const versions = db.collection<SchemaVersionDoc>(VERSION_COLLECTION);
  const newest = FIRST_VERSION + migrations.length;
  const readVersion = async (): Promise<number | null> => {
    const { version = null, restoring } = (await versions.findOne({ _id: ID })) ?? {};
    if (restoring) throw new StartupError('The restore of this database was not finished: run `cli restore` again.');
    if (version !== null && version > newest) throw tooNew(version, newest);
    if (version === null ? await isOlder(db) : version < FIRST_VERSION) throw tooOld();
    return version;
  };
  const storeVersion = (version: number) =>
    versions.updateOne({ _id: ID }, { $max: { version } }, { upsert: true, writeConcern: { w: 'majority' } });

  const upgrade = async (held: AbortSignal): Promise<true> => {
    const known = (await readVersion()) ?? newest;
    for (const [index, { title, steps }] of migrations.entries()) {
      if (FIRST_VERSION + index < known) continue;
      onProgress(`Upgrading the database: ${title}.`);
      for (const step of steps) {
        if (held.aborted) throw new StartupError('Another process has taken over the upgrade of the database.');
        await step(db);
      }
      await storeVersion(FIRST_VERSION + index + 1);
    }
    await storeVersion(newest);
    return true;
  };

  const lease = { leases, name: LEASE, holder, ms: LEASE_MS, clock: monotonicClock, log };
  for (let isWaiting = false; ; isWaiting = true) {
    if ((await readVersion()) === newest) return;
    if (await whileHeld(lease, new AbortController().signal, upgrade)) return;
    if (!isWaiting) onProgress('Waiting for another process that is upgrading the database.');
    await monotonicClock.sleep(LOOK_MS);
  }
}

const tooNew = (version: number, newest: number) =>
  new StartupError(
    `The database was upgraded by a newer release (schema version ${version}; this release knows ${newest}): start that release, or restore a backup from before the upgrade.`,
  );

const tooOld = () =>
  new StartupError(
    'The database was made by a version before release 0.1.0, which is not upgraded: give an empty one.',
  );

/** Whether a version of before there were schema versions has filled the database. Others'
 *  collections may lie in it too. */
const isOlder = async (db: mongo.Db): Promise<boolean> => (await db.collection('paymentLinks').findOne({})) !== null;
