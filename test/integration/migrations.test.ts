/** A database of an older release comes up in today's form, whatever interrupts that; one of a
 *  newer release, or of before the first one, is left alone. */
import mongoose, { type mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { FIRST_VERSION, MIGRATIONS, type Migration, migrate } from '../../src/app/migrations.js';
import { openDatabase } from '../../src/app/open-database.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { createLeaseStore } from '../../src/kit/leases.js';
import { StartupError } from '../../src/kit/startup-error.js';
import { dumpDatabase } from '../helpers/database-dump.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

type Test = { teardown(end: () => unknown): void };

const log = pino({ level: 'silent' });
const NEWEST = FIRST_VERSION + MIGRATIONS.length;

/** What a process migrates with. */
async function connect(t: Test, uri: string) {
  const connection = await mongoose.createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  return { leases: createLeaseStore(connection), db: connection.db as unknown as mongo.Db };
}

async function open(t: Test, uri: string) {
  const lines: string[] = [];
  const deps = { clock: systemClock, newId: createIds(systemClock), log };
  const settings = { mongodbUri: uri, dataDir: '.', cacheDir: '.' };
  const opened = await openDatabase({ ...deps, onProgress: (line) => lines.push(line) }, settings);
  t.teardown(() => opened.close());
  return { lines };
}

const versionOf = async (db: mongo.Db) => (await db.collection('schemaVersion').findOne())?.version;
const storeVersion = (db: mongo.Db, version: number) =>
  db.collection('schemaVersion').insertOne({ _id: 'schema' as never, version });

/** A database of the first release, with things of its own. */
async function atFirstVersion(db: mongo.Db) {
  await storeVersion(db, FIRST_VERSION);
  await db.collection('things').insertMany(Array.from({ length: 30 }, (_, n) => ({ _id: n as never, name: `N${n}` })));
  await db.collection('things').createIndex({ name: 1 }, { name: 'old' });
}

/** Two migrations that change fields and indexes, as those of releases will. */
const SAMPLES: readonly Migration[] = [
  {
    title: 'names are folded',
    steps: [
      async (db) => {
        const old = await db
          .collection('things')
          .find({ folded: { $exists: false } })
          .toArray();
        const updates = old.map(({ _id, name }) => ({
          updateOne: { filter: { _id }, update: { $set: { folded: String(name).toLowerCase() } } },
        }));
        if (updates.length > 0) await db.collection('things').bulkWrite(updates, { ordered: false });
      },
      async (db) => {
        await db.collection('things').updateMany({ name: { $exists: true } }, { $unset: { name: 1 } });
      },
    ],
  },
  {
    title: 'things have another index',
    steps: [
      async (db) => {
        await db.collection('things').createIndex({ folded: 1 }, { name: 'new' });
      },
      async (db) => {
        const names = (await db.collection('things').indexes()).map(({ name }) => name);
        if (names.includes('old')) await db.collection('things').dropIndex('old');
      },
    ],
  },
];

class Killed extends Error {}

/** Dies in the `last` write from now: of a write of many documents only the first is done. */
function dyingAt(db: mongo.Db, last: number): mongo.Db {
  let writes = 0;
  const write = async (whole: () => unknown, part: () => unknown = whole) => {
    writes += 1;
    if (writes < last) return await whole();
    await part();
    throw new Killed();
  };
  const collectionOf = (collection: mongo.Collection) => ({
    find: collection.find.bind(collection),
    findOne: collection.findOne.bind(collection),
    distinct: collection.distinct.bind(collection),
    indexes: collection.indexes.bind(collection),
    createIndex: (...args: [any, any]) => write(() => collection.createIndex(...args)),
    dropIndex: (name: string) => write(() => collection.dropIndex(name)),
    updateOne: (...args: [any, any, any]) => write(() => collection.updateOne(...args)),
    updateMany: (...args: [any, any, any]) =>
      write(
        () => collection.updateMany(...args),
        () => collection.updateOne(...args),
      ),
    bulkWrite: ([first, ...rest]: any[], options: mongo.BulkWriteOptions) =>
      write(
        () => collection.bulkWrite([first, ...rest], options),
        () => collection.bulkWrite([first], options),
      ),
    aggregate: (pipeline: mongo.Document[]) => ({
      toArray: () => write(() => collection.aggregate(pipeline).toArray()),
    }),
  });
  return {
    collection: (name: string) => collectionOf(db.collection(name)),
    listCollections: db.listCollections.bind(db),
    dropCollection: (name: string) => write(() => db.dropCollection(name)),
  } as unknown as mongo.Db;
}

t.test('a migration that is killed at any write ends the same when it is run again', async (t) => {
  const deps = { migrations: SAMPLES, log, onProgress: () => undefined };
  const { uri: wholeUri, db: wholeDb } = await testDatabase(t, { own: true });
  await atFirstVersion(wholeDb);
  await migrate({ ...deps, ...(await connect(t, wholeUri)), holder: 'whole' });
  const { leases: _, ...expected } = await dumpDatabase(wholeDb);
  t.equal(await versionOf(wholeDb), FIRST_VERSION + SAMPLES.length);

  for (let last = 1; ; last++) {
    const { uri, db } = await testDatabase(t, { own: true });
    await atFirstVersion(db);
    const process = await connect(t, uri);
    const dying = migrate({ ...deps, holder: 'killed', leases: process.leases, db: dyingAt(process.db, last) });
    const wasKilled = await dying.then(
      () => false,
      (error) => error instanceof Killed || Promise.reject(error),
    );
    if (!wasKilled) {
      t.ok(last > 7, `killed ${last - 1} times`);
      return;
    }
    await migrate({ ...deps, ...process, holder: 'next' });
    const { leases: __, ...ended } = await dumpDatabase(db);
    t.strictSame(ended, expected, `killed at write ${last}`);
  }
});

t.test('one of two processes that start at once migrates, and the other waits for it', async (t) => {
  const { uri, db: old } = await testDatabase(t, { own: true });
  await atFirstVersion(old);
  let runs = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const step = async () => {
    runs += 1;
    await finished;
  };
  const start = async (holder: string) => {
    const lines: string[] = [];
    const { leases, db } = await connect(t, uri);
    const migrations = [{ title: 'a long one', steps: [step] }];
    const done = migrate({ db, leases, holder, migrations, log, onProgress: (line) => lines.push(line) });
    return { lines, done };
  };
  const first = await start('first');
  await eventually(async () => runs === 1, 'the first begins');
  const second = await start('second');
  await eventually(async () => second.lines.length > 0, 'the second says that it waits');
  t.match(second.lines, ['Waiting for another process']);
  finish();
  await Promise.all([first.done, second.done]);
  t.equal(runs, 1);
});

t.test('a fresh database has the newest version without any migration', async (t) => {
  const { uri, db } = await testDatabase(t, { own: true });
  const { lines } = await open(t, uri);
  t.strictSame(lines, []);
  t.equal(await versionOf(db), NEWEST);
});

for (const [what, prepare, said] of [
  ['a newer release', (db: mongo.Db) => storeVersion(db, NEWEST + 1), /newer release/],
  [
    'a version before the first release',
    (db: mongo.Db) => storeVersion(db, FIRST_VERSION - 1),
    /before release 0\.1\.0/,
  ],
  [
    'before there were schema versions',
    (db: mongo.Db) => db.collection('paymentLinks').insertOne({ _id: 'plink_1' as never }),
    /before release 0\.1\.0/,
  ],
] as const)
  t.test(`a start refuses the database of ${what} with one line, and changes nothing`, async (t) => {
    const { uri, db } = await testDatabase(t, { own: true });
    await prepare(db);
    const before = await dumpDatabase(db);
    const refusal = await startTestService(t, { database: { uri } }).catch((error: unknown) => error);
    t.ok(refusal instanceof StartupError);
    t.match((refusal as Error).message, said);
    t.notMatch((refusal as Error).message, /\n/);
    t.strictSame(await dumpDatabase(db), before);
  });
