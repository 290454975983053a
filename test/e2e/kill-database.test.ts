/** MongoDB goes away and comes back; a dump is taken while everything runs, and the service goes on from it elsewhere. */
import { randomBytes } from 'node:crypto';
import { mongo } from 'mongoose';
import t from 'tap';
import { testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';
import { isReady, keepPaying, openShop, prepareKillable, tally } from './kill-rounds.js';

const NO_FAULTS = { lost: 0, doubled: 0, misjudged: 0, miscounted: 0, undelivered: 0, disordered: 0 };

t.test('a MongoDB that hangs makes the service unready and is forgiven when it is back', async (t) => {
  const place = await prepareKillable(t);
  const service = await place.start();
  await eventually(() => isReady(service.url), 'the service is ready', 60_000);
  const shop = await openShop(place, service.url);
  const paying = keepPaying(place, shop);
  await place.receiver.until(() => place.receiver.requests.length > 2, 60_000);

  const pid = (await place.mongodPid())!;
  process.kill(pid, 'SIGSTOP');
  t.teardown(() => {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It has ended.
    }
  });
  const reasons = await eventually(
    async () => {
      const response = await fetch(`${service.url}/health/ready`);
      return response.status === 503 && (await response.text());
    },
    'the service says that it is not ready',
    10_000,
  );
  t.match(reasons, 'MongoDB does not answer');
  t.equal((await fetch(`${service.url}/health/live`)).status, 200, 'it lives');
  const paidBefore = paying.hashes.length;
  await eventually(async () => paying.hashes.length > paidBefore + 4, 'payments go on meanwhile', 20_000);
  process.kill(pid, 'SIGCONT');
  await eventually(() => isReady(service.url), 'the service is ready again', 30_000);
  const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop());
  t.ok(payments > 4);
  t.same({ ...faults, repeated }, { ...NO_FAULTS, repeated: 0 });
});

t.test(
  'a dump taken while everything runs, restored elsewhere: nothing is lost, nothing that it holds as delivered is sent again',
  async (t) => {
    const [original, copy] = [await testDatabase(t), await testDatabase(t)];
    const secrets = { SECRETS_KEY: randomBytes(32).toString('base64') };
    const place = await prepareKillable(t, { MONGODB_URI: original.uri, ...secrets });
    const service = await place.start();
    await eventually(() => isReady(service.url), 'the service is ready', 60_000);
    const shop = await openShop(place, service.url);
    const paying = keepPaying(place, shop);
    await place.receiver.until(() => place.receiver.requests.length > 10, 60_000);

    // One point in time for all collections, as `mongodump --oplog` has.
    const client = await mongo.MongoClient.connect(original.uri);
    t.teardown(() => client.close());
    const session = client.startSession({ snapshot: true });
    const names = (await original.db.listCollections({ type: 'collection' }).toArray()).map(({ name }) => name);
    const dump = new Map<string, mongo.Document[]>();
    for (const name of names)
      dump.set(name, await client.db(original.name).collection(name).find({}, { session }).toArray());
    await session.endSession();
    const delivered = new Set(
      dump
        .get('deliveries')!
        .filter(({ status }) => status === 'DELIVERED')
        .map(({ eventId }) => eventId),
    );
    t.ok(delivered.size > 0);

    service.process.kill('SIGKILL');
    await service.ended;
    const requestsBefore = place.receiver.requests.length;
    for (const [name, docs] of dump) if (docs.length > 0) await copy.db.collection(name).insertMany(docs);

    const restored = await place.start({ env: { MONGODB_URI: copy.uri } });
    await eventually(() => isReady(restored.url), 'the restored service is ready', 60_000);
    const { payments, repeated, undelivered, ...faults } = await tally(place, shop, restored.url, await paying.stop());
    t.ok(payments > 5);
    t.same({ ...faults, undelivered }, NO_FAULTS);
    const again = place.receiver.requests
      .slice(requestsBefore)
      .filter(({ body }) => delivered.has(JSON.parse(body).id));
    t.same(again, [], 'what the dump knows as delivered is not sent again');
    t.comment(
      `${payments} payments, ${delivered.size} events delivered in the dump, ${repeated} sent twice under one id`,
    );
  },
);
