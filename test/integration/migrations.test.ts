/** A database of an older release comes up in today's form, whatever interrupts that, and one of a newer release is left alone. */
import mongoose, { type mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { MIGRATIONS, migrate } from '../../src/app/migrations/index.js';
import { openDatabase } from '../../src/app/open-database.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { createLeaseStore } from '../../src/kit/leases.js';
import { StartupError } from '../../src/kit/startup-error.js';
import { request } from '../helpers/api.js';
import { dumpDatabase, loadDatabase, readFixture } from '../helpers/database-fixture.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver, verified } from '../helpers/receiver.js';
import { eventually, startTestService } from '../helpers/service.js';

const FIXTURE = 'database-v0.json.gz';
/** Fields that documents of before may lack: their absence has a meaning of its own. */
const MAY_BE_ABSENT = new Set([
  'accounts.creations',
  'leases.sessions',
  'accounts.brand',
  'accounts.rateMarkups',
  'accounts.booksCurrencies',
  'accounts.booksCurrency',
  'accounts.notifications',
  'checkouts.customerEmail',
  'checkouts.language',
  'webhooks.toldFailing',
  'products.currency',
  'products.history.terms.currency',
  'payments.value',
  'checkouts.currency',
  'checkouts.price',
  'checkouts.paidIn',
  'checkouts.excess',
  'products.hasPayments',
  'products.archived',
  'webhooks.lastFailure',
  'webhooks.starts',
  'webhooks.replays',
  'replays.count',
  'replays.made',
  'wallets.takesCheckouts',
  'wallets.checkoutEpoch',
  'wallets.nextAuditAt',
  'countSegments.room',
  'payments.refundedAmount',
  'payments.refunds',
  'payments.afterAcceptance',
  'payments.dismissal',
  'payments.soldBy',
  'checkouts.soldBy',
  'checkouts.partsLeft',
  'paymentLinks.earlyRefunds',
  'checkouts.earlyRefunds',
  'checkouts.returned',
  'networkStates.resetAt',
  'networkStates.gapWaitsSince',
  'networkStates.latestSeen',
  'networkStates.clockAheadMs',
  'networkStates.clockHost',
  'networkStates.sourceVersion',
  'networkStates.sourceWarning',
  'networkStates.isSourceBehind',
  'requestBudgets.expiresAt',
  'audits.isAskedFor',
  'gaps.lostSince',
  'parkedRecords.lostSince',
  'checkouts.gapBefore',
  'users.passkeys.name',
  'users.passkeys.lastUsedAt',
]);

type Test = { teardown(end: () => unknown): void };

/** A database as the older release left it. */
async function oldDatabase(t: Test) {
  const { uri, db } = await testDatabase(t);
  const fixture = readFixture(FIXTURE);
  await loadDatabase(db, fixture.collections);
  // MongoDB would remove what has ended since, at any moment.
  await db.collection('idempotency').updateMany({}, { $set: { expiresAt: new Date(Date.now() + 3_600_000) } });
  return { uri, db, fixture };
}

/** What a process migrates with. */
async function connect(t: Test, uri: string) {
  const connection = await mongoose.createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  return { leases: createLeaseStore(connection), db: connection.db as unknown as mongo.Db };
}

async function open(t: Test, uri: string) {
  const lines: string[] = [];
  const deps = { clock: systemClock, newId: createIds(systemClock), log: pino({ level: 'silent' }) };
  const settings = { mongodbUri: uri, dataDir: '.', cacheDir: '.' };
  const opened = await openDatabase({ ...deps, onProgress: (line) => lines.push(line) }, settings);
  t.teardown(() => opened.close());
  return { connection: opened.database.connection, lines };
}

/** The part of `value` that `pattern` has fields for. */
function asIn(pattern: any, value: any): any {
  if (Array.isArray(pattern) && Array.isArray(value)) return value.map((each, index) => asIn(pattern[index], each));
  if (pattern === null || value === null || typeof pattern !== 'object' || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(pattern).map((key) => [key, asIn(pattern[key], value[key])]));
}

/** Without what a restart, a look at it or the test itself changes. */
const settled = (list: any[]) =>
  list.map(({ sync: _, lastUsedAt: __, url: ___, ...rest }) => rest) as Record<string, unknown>[];

t.test(
  'the service goes on with a database of before the schema versions: nothing is lost, everything works',
  async (t) => {
    const { uri, db, fixture } = await oldDatabase(t);
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    // The endpoints of then have another port now.
    for (const { _id, name } of await db.collection('webhooks').find().toArray()) {
      await db.collection('webhooks').updateOne({ _id }, { $set: { url: `${receiver.origin}/${name}` } });
    }

    const service = await startTestService(t, { database: { uri }, role: 'api' });
    for (const { apiKey, answers } of fixture.accounts) {
      for (const [path, before] of Object.entries(answers)) {
        const separator = path.includes('?') ? '&' : '?';
        const { data, meta, error } = await service.api('GET', `${path}${separator}pageSize=100`, undefined, apiKey);
        t.equal(meta?.total, before.length, `${path} counts as before ${JSON.stringify(error)}`);
        t.strictSame(settled(asIn(before, data)), settled(before), `${path} answers as before`);
      }
    }
    const [first] = fixture.accounts;
    const { apiKey } = first!;
    t.equal((await service.api('GET', '/wallets', undefined, fixture.readerKey)).status, 200);
    const { key, body, answer } = fixture.idempotent;
    const repeated = await request(service.url, 'POST', '/payment-links', {
      headers: { authorization: `Bearer ${apiKey}`, 'idempotency-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.equal(repeated.data.id, answer.id, 'a repeated request is the same request');

    await db
      .collection('deliveries')
      .updateMany({ nextAttemptAt: { $ne: null } }, { $set: { nextAttemptAt: new Date() } });
    await service.join('worker');
    const failing = first!.answers['/webhooks'].find(({ name }: any) => name === 'failing');
    const pending = first!.answers[`/webhooks/${failing.id}/deliveries`].filter(
      ({ status }: any) => status === 'PENDING',
    );
    t.equal(pending.length, 2);
    await receiver.until(() => receiver.at('/failing').length >= 2);
    const [secret] = fixture.webhookSecrets[failing.id]!;
    const delivered = receiver.at('/failing').map((each) => verified(each, secret!).id);
    t.strictSame(
      delivered.sort(),
      pending.map(({ eventId }: any) => eventId).sort(),
      'what was pending goes out, signed',
    );
    t.equal(receiver.at('/paused').length, 0);

    const { coffee } = fixture.links;
    const wallet = first!.answers['/wallets'].find(({ name }: any) => name === 'Demo wallet');
    await service.context.localLedger!.client.pay({ to: wallet.address, amount: '26', memo: coffee.memo });
    const path = `/payments?paymentLinkId=${coffee.id}&status=COMPLETED&status=UNDERPAID&pageSize=100`;
    const ofLink = (list: any[]) => list.filter(({ paymentLinkId }) => paymentLinkId === coffee.id).length;
    const paymentsBefore = ofLink(
      first!.answers[Object.keys(first!.answers).find((each) => /^\/payments\?/.test(each))!],
    );
    await eventually(
      async () => (await service.api('GET', path, undefined, apiKey)).data.length === paymentsBefore + 1,
      'a new payment to an old link',
    );
    await receiver.until(() => receiver.at('/good').length >= 2);
    const good = first!.answers['/webhooks'].find(({ name }: any) => name === 'good');
    for (const each of receiver.at('/good')) t.ok(verified(each, fixture.webhookSecrets[good.id]![0]!));
  },
);

t.test('what a migration leaves has the fields and the indexes of today, and no others', async (t) => {
  const { uri, db } = await oldDatabase(t);
  const { connection, lines } = await open(t, uri);
  t.match(lines, [/^Upgrading the database: .*\.$/]);
  for (const { schema, collection } of Object.values(connection.models)) {
    const fields = Object.keys(schema.paths);
    const optional = fields.filter((field) => MAY_BE_ABSENT.has(`${collection.name}.${field}`));
    for (const doc of await db.collection(collection.name).find().toArray()) {
      const there = [...new Set([...Object.keys(doc), ...optional])].sort();
      if (there.join() !== [...fields].sort().join())
        t.strictSame(there, [...fields].sort(), `${collection.name} ${doc._id}`);
    }
  }
  const fresh = await testDatabase(t);
  await open(t, fresh.uri);
  const indexesOf = async (from: mongo.Db) =>
    Object.fromEntries(
      Object.entries(await dumpDatabase(from))
        .filter(([name]) => !/^(agenda|ledger_)/.test(name))
        .map(([name, { indexes }]) => [name, indexes.map((index) => JSON.stringify(index)).sort()]),
    );
  const made = await indexesOf(fresh.db);
  const left = await indexesOf(db);
  for (const name of Object.keys(left)) t.strictSame(left[name], made[name] ?? left[name], name);
  t.notOk('positions' in left || 'stretches' in left);
});

t.test('products with payments are marked, and wallets count their products right', async (t) => {
  const { uri, db } = await oldDatabase(t);
  await db.collection('wallets').updateMany({}, { $inc: { productCount: 3 } });
  const { _id, ...product } = (await db.collection('products').findOne())!;
  await db.collection('products').insertOne({ ...product, _id: 'prod_unpaid' as never });
  await open(t, uri);
  const products = await db.collection('products').find().toArray();
  const paid = new Set(await db.collection('payments').distinct('productId', { paymentLinkId: { $ne: null } }));
  t.ok(paid.size > 0 && paid.size < products.length);
  for (const { _id, hasPayments = false } of products) t.equal(hasPayments, paid.has(String(_id)));
  for (const { _id, productCount } of await db.collection('wallets').find().toArray())
    t.equal(productCount, products.filter(({ walletId }) => walletId === _id).length);
});

t.test('payments of before say whether a decision is due', async (t) => {
  const { uri, db } = await oldDatabase(t);
  const payments = db.collection('payments');
  const { _id, ...payment } = (await payments.findOne())!;
  await db
    .collection<{ _id: string }>('checkouts')
    .insertMany([
      { _id: 'chk_paid', accountId: payment.accountId, status: 'PAID', memo: 'M1', slug: 's1' } as never,
      { _id: 'chk_open', accountId: payment.accountId, status: 'OPEN', memo: 'M2', slug: 's2' } as never,
    ]);
  const made = Object.entries({
    whole: { status: 'UNDERPAID' },
    back: { status: 'UNDERPAID', refundedAmount: '10' },
    tooMuchBack: { status: 'REJECTED', refundedAmount: '10.5' },
    partlyBack: { status: 'REJECTED', refundedAmount: '9.9999999' },
    part: { status: 'UNDERPAID', checkoutId: 'chk_paid' },
    refusedPart: { status: 'REJECTED', checkoutId: 'chk_paid' },
    openPart: { status: 'UNDERPAID', checkoutId: 'chk_open' },
    nobodys: { status: 'UNMATCHED' },
    fine: { status: 'COMPLETED' },
  });
  await payments.insertMany(
    made.map(([name, fields], n) => ({
      ...{ ...payment, checkoutId: null, amount: '10', operationId: `${n}`, ...fields },
      _id: `pay_${name}` as never,
    })),
  );
  await open(t, uri);
  const toDecide = await payments.distinct('_id', { needsDecision: true, amount: '10' });
  t.same(toDecide.filter((id) => made.some(([name]) => `${id}` === `pay_${name}`)).sort(), [
    'pay_nobodys',
    'pay_openPart',
    'pay_partlyBack',
    'pay_refusedPart',
    'pay_whole',
  ]);
  t.equal(await payments.countDocuments({ needsDecision: { $exists: false } }), 0);
});

t.test('wallets and products of before are found by their folded names', async (t) => {
  const { uri, db } = await oldDatabase(t);
  const { _id, ...product } = (await db.collection('products').findOne())!;
  const name = 'ΟΔΌΣΑ Straße';
  await db
    .collection('products')
    .insertOne({ ...product, _id: 'prod_old' as never, name, nameKey: name.toLowerCase() });
  const wallet = (await db.collection('wallets').findOne())!;
  await db.collection('wallets').updateOne({ _id: wallet._id }, { $set: { name }, $unset: { nameKey: 1 } });
  await open(t, uri);
  const found = { nameKey: 'οδοσα strasse' };
  t.same(await db.collection('products').distinct('_id', found), ['prod_old']);
  t.same(await db.collection('wallets').distinct('_id', found), [wallet._id]);
});

t.test('what was parked before is open, and may have paid any wallet until it was set aside', async (t) => {
  const { uri, db } = await oldDatabase(t);
  const parked = db.collection('parkedRecords');
  await parked.deleteMany({});
  const createdAt = new Date('2026-01-02T03:04:10Z');
  const of = (_id: string, raw: unknown) => ({
    _id: _id as never,
    network: 'TESTNET',
    reason: 'x',
    raw: JSON.stringify(raw),
    createdAt,
  });
  const id = `TESTNET:${(1000n << 32n) + 1n}`;
  await parked.insertMany([of(id, { created_at: '2026-01-02T03:04:05Z' }), of('TESTNET:f00', ['odd'])]);
  await open(t, uri);
  const fresh = { concerns: ['*'], payableUntil: createdAt, tries: 0, nextTryAt: new Date(0), dismissed: null };
  t.match(await parked.findOne({ _id: id as never }), {
    ...fresh,
    ledger: 1000,
    closedFrom: new Date('2026-01-02T03:04:05Z'),
  });
  t.match(await parked.findOne({ _id: 'TESTNET:f00' as never }), { ...fresh, ledger: null, closedFrom: new Date(0) });
});

t.test('links and checkouts whose refunds wait are marked, and the index of before is gone', async (t) => {
  const { uri, db } = await oldDatabase(t);
  const link = (await db.collection('paymentLinks').findOne())!;
  const refunds = db.collection('refunds');
  await refunds.createIndex({ targetId: 1 }, { partialFilterExpression: { paymentId: null }, name: 'waiting' });
  const targetId = String(link._id);
  await refunds.insertMany([
    { _id: 'one' as never, targetId, paymentId: null },
    { _id: 'two' as never, targetId, paymentId: null },
    { _id: 'booked' as never, targetId, paymentId: 'pay_1' },
    { _id: 'by hash' as never, targetId: null, paymentId: 'pay_1' },
  ]);
  await open(t, uri);
  t.match(await db.collection('paymentLinks').findOne({ _id: link._id }), { earlyRefunds: 2 });
  t.equal(await db.collection('paymentLinks').countDocuments({ earlyRefunds: { $exists: true } }), 1);
  t.notOk((await refunds.indexes()).some(({ name }) => name === 'waiting'));
});

t.test(
  'a refund that was booked by both hashes of its transaction is booked once, and open orders are without it',
  async (t) => {
    const { uri, db } = await oldDatabase(t);
    const payment = (await db.collection('payments').findOne())!;
    const { accountId, network } = payment;
    const at = new Date(1_700_000_000_000);
    const refund = (transactionHash: string, operationId: string) => ({
      ...{ _id: `${accountId}:${operationId}:0:${transactionHash}` as never, accountId, network, targetId: null },
      ...{ paymentId: payment._id, transactionHash, operationId, changeIndex: 0, ledger: 6, ledgerClosedAt: at },
      ...{ receiver: payment.senderAddress, assetCode: 'XLM', assetIssuer: null, amount: '2.5' },
    });
    await db.collection('refunds').insertMany([refund('outer', '7'), refund('inner', '7'), refund('other', '8')]);
    const order = { _id: 'chk_open' as never, accountId, status: 'OPEN', received: '100000000', memo: 'M', slug: 's' };
    await db.collection('checkouts').insertOne(order);
    const shown = ['outer', 'inner', 'other'].map((transactionHash) => ({
      transactionHash,
      amount: '2.5',
      ledger: 6,
      at,
    }));
    const paid = { checkoutId: 'chk_open', status: 'UNDERPAID', amount: '10', refundedAmount: '7.5', refunds: shown };
    await db.collection('payments').updateOne({ _id: payment._id }, { $set: paid });
    await open(t, uri);
    const left = await db.collection('refunds').find().sort({ _id: 1 }).toArray();
    t.strictSame(
      left.map(({ _id }) => String(_id)),
      ['7', '8'].map((operationId) => `${accountId}:${network}:${operationId}:0:1700000000`),
    );
    const after = (await db.collection('payments').findOne({ _id: payment._id }))!;
    t.match([after.refundedAmount, after.refunds.length], ['5', 2]);
    t.match(await db.collection('checkouts').findOne({ _id: order._id }), {
      received: '50000000',
      returned: [{ stroops: '25000000' }, { stroops: '25000000' }],
    });
  },
);

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
  const onProgress = () => undefined;
  const whole = await oldDatabase(t);
  const deps = { holder: 'whole', migrations: MIGRATIONS, onProgress };
  const { leases, db: wholeDb } = await connect(t, whole.uri);
  await migrate({ ...deps, leases, db: wholeDb });
  // MongoDB removes the repeated requests, which have expired since, when it likes.
  const { leases: _, idempotency: _expired, ...expected } = await dumpDatabase(whole.db);

  const cut = await oldDatabase(t);
  const process = await connect(t, cut.uri);
  let kills = 0;
  for (let last = 1; ; last++) {
    try {
      await migrate({ ...deps, holder: `killed ${last}`, leases: process.leases, db: dyingAt(process.db, last) });
      break;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      kills += 1;
    }
  }
  t.ok(kills > 5, `killed ${kills} times`);
  const { leases: __, idempotency: __expired, ...ended } = await dumpDatabase(cut.db);
  t.strictSame(ended, expected);
});

t.test('one of two processes that start at once migrates, and the other waits for it', async (t) => {
  const { uri, db: old } = await testDatabase(t);
  await old.createCollection('wallets');
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
    const done = migrate({ db, leases, holder, migrations, onProgress: (line) => lines.push(line) });
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
  const { uri, db } = await testDatabase(t);
  const { lines } = await open(t, uri);
  t.strictSame(lines, []);
  t.equal((await db.collection('schemaVersion').findOne())!.version, MIGRATIONS.length);
});

t.test('an older release refuses the database of a newer one with one line, and changes nothing', async (t) => {
  const { uri, db } = await testDatabase(t);
  await db.collection('schemaVersion').insertOne({ _id: 'schema' as never, version: MIGRATIONS.length + 1 });
  const before = await dumpDatabase(db);
  const refusal = await startTestService(t, { database: { uri } }).catch((error: unknown) => error);
  t.ok(refusal instanceof StartupError);
  t.match((refusal as Error).message, /newer release/);
  t.notMatch((refusal as Error).message, /\n/);
  t.strictSame(await dumpDatabase(db), before);
});
