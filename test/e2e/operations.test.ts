/** What operators rely on: backups, which are of one moment and restore exactly or not at all, and
 *  the files to run the service with. */

import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { parseAllDocuments, parse as parseYaml } from 'yaml';
import { backupOf, restoreBackup, restoreInto, writeBackup } from '../../src/app/backup.js';
import { FIRST_VERSION } from '../../src/app/migrations.js';
import { openDatabase } from '../../src/app/open-database.js';
import { fileOf, SECRETS, SETTINGS } from '../../src/app/settings.js';
import { systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { ROOT, startProgram } from '../helpers/command.js';
import { gate } from '../helpers/gate.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { accept, comeIn, post } from '../helpers/people.js';
import { startReceiver, verified } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

type Test = Parameters<Parameters<typeof t.test>[0]>[0];

async function connect(t: Test, uri: string) {
  const database = await connectDatabase(uri);
  t.teardown(() => database.close());
  return database.connection;
}

async function partsOf(t: Test, uri: string): Promise<Buffer[]> {
  const parts: Buffer[] = [];
  for await (const { bytes } of backupOf(await connect(t, uri), new Date())) parts.push(bytes);
  return parts;
}
const wholeBackup = async (t: Test, uri: string) => Buffer.concat(await partsOf(t, uri));

/** In pieces that end anywhere. */
async function* pieces(bytes: Buffer, size = 777): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const everyType = [
  { _id: 'a', int: new mongo.Int32(1), double: new mongo.Double(1), long: mongo.Long.fromNumber(1), none: null },
  { _id: new mongo.ObjectId(), decimal: mongo.Decimal128.fromString('1.50'), date: new Date(0), list: [1, 'x', {}] },
  { _id: 3, bytes: new mongo.Binary(Buffer.from([0, 1, 2])), text: 'Grüße\n{"documents":1}\n', big: 'x'.repeat(2e5) },
];

t.test('the restored documents equal the original ones, to the type', async (t) => {
  const [from, to] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
  await from.db.collection<any>('things').insertMany(everyType);
  await from.db.collection<any>('many').insertMany(Array.from({ length: 1203 }, (_, index) => ({ _id: index })));
  await from.db.collection<any>('schemaVersion').insertOne({ _id: 'schema', version: FIRST_VERSION });
  const backup = await wholeBackup(t, from.uri);
  t.equal(await restoreInto(to.db, () => pieces(backup)), 1203 + 3 + 1);
  const raw = async ({ db }: { db: mongo.Db }, name: string) =>
    (
      await db
        .collection(name)
        .find({}, { raw: true, sort: { _id: 1 } })
        .toArray()
    ).map((each) => Buffer.from(each as any).toString('hex'));
  for (const name of ['things', 'many', 'schemaVersion']) t.same(await raw(to, name), await raw(from, name), name);
  await t.rejects(
    restoreInto(to.db, () => pieces(backup)),
    { name: 'StartupError', message: /is not empty/ },
  );
});

t.test('a backup that is cut, damaged or none restores nothing', async (t) => {
  const [from, to] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
  await from.db.collection<any>('things').insertMany(everyType);
  const parts = await partsOf(t, from.uri);
  const backup = Buffer.concat(parts);
  const lengths = [0, 1, 40, 100, backup.length - 100, backup.length - 20, backup.length - 1];
  const broken = lengths.map((length) => backup.subarray(0, length));
  const damaged = Buffer.from(backup);
  damaged.writeInt32LE(
    2 ** 30,
    backup.indexOf('"bytes"') + backup.subarray(backup.indexOf('"bytes"')).indexOf('\n') + 1,
  );
  broken.push(
    Buffer.concat(parts.toSpliced(1, 1)),
    damaged,
    Buffer.concat([backup, Buffer.from('x')]),
    Buffer.from('{"format":"another"}\n'),
    Buffer.alloc(5000, 65),
  );
  for (const bytes of broken)
    await t.rejects(
      restoreInto(to.db, () => pieces(bytes)),
      { name: 'StartupError' },
    );
  t.same(await to.db.listCollections().toArray(), []);
});

t.test('two backups to one name at once → both are whole, and the file is one of them', async (t) => {
  const [from, to] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
  await from.db.collection<any>('things').insertMany(everyType);
  const folder = t.testdir();
  const file = join(folder, 'backup');
  const settings = { mongodbUri: from.uri, dataDir: folder, cacheDir: folder };
  const write = () => writeBackup(settings, file, systemClock, () => undefined);
  t.same(await Promise.all([write(), write()]), [3, 3]);
  t.same(await readdir(folder), ['backup']);
  t.equal(await restoreBackup({ ...settings, mongodbUri: to.uri }, file, () => undefined), 3);
});

t.test('nothing starts on a database whose restore was cut off, and another restore starts over', async (t) => {
  const [from, to] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
  const open = () =>
    openDatabase(
      {
        clock: systemClock,
        newId: createIds(systemClock),
        log: pino({ level: 'silent' }),
        onProgress: () => undefined,
      },
      { mongodbUri: to.uri, dataDir: '', cacheDir: '' },
    );
  await from.db.collection<any>('accounts').insertMany([{ _id: 'acct_1' }, { _id: 'acct_2' }]);
  await from.db.collection<any>('schemaVersion').insertOne({ _id: 'schema', version: FIRST_VERSION });
  const backup = await wholeBackup(t, from.uri);
  let reads = 0;
  const dies = async function* () {
    const isSecond = ++reads === 2;
    for await (const piece of pieces(backup, 150)) {
      yield piece;
      if (isSecond && (await to.db.collection('accounts').countDocuments()) > 0) throw new Error('killed');
    }
  };
  await t.rejects(restoreInto(to.db, dies), /killed/);
  await t.rejects(open(), { name: 'StartupError', message: /not finished: run `cli restore` again/ });
  t.equal(await restoreInto(to.db, () => pieces(backup)), 3);
  const opened = await open();
  t.equal(await opened.database.connection.db!.collection('accounts').countDocuments(), 2);
  await opened.close();
});

t.test('two restores into one database → the earlier one ends, and the later one alone opens it', async (t) => {
  const [from, to] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
  await from.db.collection<any>('accounts').insertMany([{ _id: 'acct_1' }, { _id: 'acct_2' }]);
  await from.db.collection<any>('wallets').insertMany([{ _id: 'wallet_1' }]);
  await from.db.collection<any>('schemaVersion').insertOne({ _id: 'schema', version: FIRST_VERSION });
  const backup = await wholeBackup(t, from.uri);
  /** A restore that stops once its accounts are stored, until `goOn`. */
  const begin = async () => {
    const [stopped, going] = [gate(), gate()];
    let reads = 0;
    const source = async function* () {
      const isSecond = ++reads === 2;
      for await (const piece of pieces(backup, 150)) {
        yield piece;
        if (!isSecond || (await to.db.collection('accounts').countDocuments()) === 0) continue;
        stopped.open();
        await going.passed;
      }
    };
    const done = restoreInto(to.db, source);
    done.catch(() => undefined);
    await Promise.race([stopped.passed, done]);
    return { done, goOn: going.open };
  };
  const guard = () => to.db.collection<any>('schemaVersion').findOne({ _id: 'schema' });
  const overtaken = { name: 'StartupError', message: /^Another restore of this database has begun/ };

  const [first, second] = [await begin(), await begin()];
  const ofSecond = await guard();
  first.goOn();
  await t.rejects(first.done, overtaken);
  t.same(await guard(), ofSecond, 'no release starts on it');
  t.equal(await restoreInto(to.db, () => pieces(backup)), 4);
  second.goOn();
  await t.rejects(second.done, overtaken);
  t.same(await guard(), { _id: 'schema', version: FIRST_VERSION });
  const counts = ['accounts', 'wallets'].map((name) => to.db.collection(name).countDocuments());
  t.same(await Promise.all(counts), [2, 1]);
});

t.test(
  'backup and restore of a service that runs: what came after the backup is found again, once; keys, sealed secrets and passkeys work, sessions do not',
  LONG,
  async (t) => {
    const [database, other] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
    const service = await startTestService(t, { database });
    const { wallet, link } = await startSelling(service);
    const ledger = service.context.localLedger!;
    const pay = async (count: number) => {
      await ledger.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
      await eventually(async () => (await service.api('GET', '/events')).meta!.total === 2 * count, `payment ${count}`);
    };
    await pay(1);
    const owner = await comeIn(service, 'OWNER', 'Ada');
    const { data: invited } = await service.api('POST', '/users', { name: 'Ben', role: 'CASHIER' });
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    const { data: hook } = await service.api('POST', '/webhooks', {
      ...{ name: 'shop', url: `${receiver.origin}/hook`, events: ['payment.refunded'] },
    });
    const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-backup-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const backup = join(folder, 'backup');
    const env = { MONGODB_URI: database.uri, SECRETS_KEY: TEST_SECRETS_KEY, DATA_DIR: folder };
    const cli = (args: string[], more = {}) =>
      startProgram('src/cli/main.ts', args, { env: { ...env, ...more } }).ended;
    const made = await cli(['backup', '--out', backup, '--json']);
    t.equal(made.code, 0, made.stderr);
    const leftOut = await Promise.all(
      ['sessions', 'passkeyChallenges'].map((name) => database.db.collection(name).countDocuments()),
    );
    t.ok(leftOut[0]! > 0);
    const documents = JSON.parse(made.stdout).documents - leftOut[0]! - leftOut[1]!;
    // Beside it, one whose reading goes on while another payment comes.
    const slow = backupOf(await connect(t, database.uri), new Date());
    const parts = [(await slow.next()).value!.bytes, (await slow.next()).value!.bytes];
    await pay(2);
    for await (const { bytes } of slow) parts.push(bytes);
    t.equal(await paymentsIn(t, Buffer.concat(parts)), 1, 'of one moment');

    const into = { MONGODB_URI: other.uri };
    const done = await cli(['restore', '--from', backup], into);
    t.equal(done.code, 0);
    t.match(done.stdout, `${documents} documents restored. Start the service with the same SECRETS_KEY as before.\n`);
    t.match(done.stdout, 'Sessions and open invitations were left out');
    t.match(done.stdout, 'set back the `sequence` that consumers keep');
    // The same installation, at its address.
    const here = { HORIZON_URLS_LOCAL: ledger.url, PUBLIC_URL: service.context.publicUrl };
    const again = await startTestService(t, { database: other, env: here });
    const of = (path: string) => again.api('GET', path, undefined, service.apiKey);
    await eventually(async () => (await of('/events')).meta!.total === 4, 'the second payment, from the ledger');
    t.same(
      (await of('/payments')).data.map(({ amount }: { amount: string }) => amount),
      ['25', '25'],
    );
    t.same(
      (await of('/events?after=0')).data.map(({ sequence }: { sequence: number }) => sequence),
      [1, 2, 3, 4],
    );

    t.equal((await again.api('POST', `/webhooks/${hook.id}/test`, {}, service.apiKey)).data.responseStatus, 200);
    verified(receiver.requests.at(-1)!, hook.secret);
    const session = (cookie: string) => fetch(`${again.url}/dashboard/session`, { headers: { cookie } });
    t.equal((await session(owner.cookie)).status, 401, 'a session of before the backup');
    const { data: options } = await post(again, '/passkey/options', {});
    const entered = await post(again, '/passkey', { response: owner.authenticator.sign(options) });
    t.match(await (await session(entered.cookie!)).json(), { data: { user: { name: 'Ada', role: 'OWNER' } } });
    t.equal((await accept(again, invited.url).catch(() => ({ status: 0 }))).status, 0, 'an open invitation');

    const line = async (args: string[]) => {
      const { code, stdout, stderr } = await cli(args, into);
      t.same([code, stdout, stderr.trimEnd().split('\n').length], [1, '', 1], stderr);
      return stderr;
    };
    t.match(await line(['restore', '--from', backup]), /is not empty/);
    t.match(await line(['restore', '--from', join(folder, 'none')]), /cannot be read/);
    t.match(await line(['backup', '--out', join(folder, 'no/such/folder')]), /cannot be written: there is no folder /);
    await truncate(backup, (await readFile(backup)).length - 10);
    t.match(await line(['restore', '--from', backup]), /damaged or was cut off/);
    await writeFile(backup, 'no gzip');
    t.match(await line(['restore', '--from', backup]), /damaged/);
  },
);

/** How many payments a backup has. */
async function paymentsIn(t: Test, backup: Buffer): Promise<number> {
  const { db } = await testDatabase(t, { own: true });
  await restoreInto(db, () => pieces(backup, 100_000));
  return db.collection('payments').countDocuments();
}

const file = (name: string) => readFile(join(ROOT, 'docs/operations', name), 'utf8');

t.test('the dashboard and the alerts ask for metrics, labels and values that the service has', async (t) => {
  const service = await startTestService(t);
  await startSelling(service);
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const help = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!] as const);
  const served = new Set(
    help.flatMap(([name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
  // Prometheus makes it.
  served.add('up');
  const grafana = JSON.parse(await file('grafana.json'));
  const panels: { targets: { expr: string }[] }[] = grafana.panels;
  const alerts: { groups: { rules: { alert: string; expr: string }[] }[] } = parseYaml(await file('alerts.yaml'));
  const rules = alerts.groups.flatMap((group) => group.rules);
  const expressions = [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...rules.map(({ expr }) => expr),
  ];
  for (const expression of expressions) {
    const plain = expression.replace(/\b(by|without) \([^)]*\)/g, '').replace(/\{[^}]*\}|\[[^\]]*\]/g, '');
    const names = [...plain.matchAll(/\b[a-z]\w*\b(?! *\()/g)].map(([name]) => name!);
    t.ok(names.length > 0, expression);
    for (const name of names) t.ok(served.has(name), `${name} of ${expression}`);
    for (const [, label] of expression.matchAll(/(\w+)[!=]=?~?"/g))
      t.ok(['job', 'network', 'status', 'route'].includes(label!), `${label} of ${expression}`);
  }
  t.match(
    text,
    /http_request_duration_seconds_count\{route="products.create",status="201"\}/,
    'routes are operation ids',
  );
  t.match(text, /collect_network_silence_seconds\{network="LOCAL"\}/);
});

t.test('the manifest and the unit name settings, paths and programs that there are', async (t) => {
  const manifest = await file('kubernetes.yaml');
  const documents = parseAllDocuments(manifest).map((document) => document.toJS());
  t.same(documents.map(({ kind }) => kind).sort(), [
    'ConfigMap',
    'Deployment',
    'Deployment',
    'PodDisruptionBudget',
    'PodDisruptionBudget',
    'Service',
  ]);
  const given = [...manifest.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name!);
  const settings = [...Object.keys(SETTINGS), ...SECRETS.map(fileOf)];
  for (const name of [...given, ...Object.keys(documents[0].data)]) t.ok(settings.includes(name), name);
  const secrets = given.map((name) => [fileOf(name), `/run/secrets/service/${name}`]);
  t.match(documents[0].data, Object.fromEntries(secrets), 'each secret is read from its file');
  const paths = [...manifest.matchAll(/path: (\S+),/g)].map(([, path]) => path!);
  t.same([...new Set(paths)].sort(), ['/health/live', '/health/ready']);
  const unit = await file('stellar-collect.service');
  t.match(unit, /^ExecStart=\/usr\/bin\/node dist\/src\/main\.js$/m);
  t.match(unit, /^KillMode=mixed$/m);
  const others = ['NODE_ENV', 'XDG_CACHE_HOME'];
  for (const [line, given] of unit.matchAll(/^#?Environment=(.*)$/gm))
    for (const [, name] of given!.matchAll(/(\w+)=/g)) t.ok([...settings, ...others].includes(name!), line);
});
