/** A dump is taken while everything runs, and the service goes on from it elsewhere. */
import { randomBytes } from 'node:crypto';
import { mongo } from 'mongoose';
import t from 'tap';
import { isReady, keepPaying, NO_FAULTS, openShop, prepareKillable, tally } from '../e2e/kill-rounds.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

// Processes start slowly on a busy machine.
t.setTimeout(300_000);

t.test(
  'a dump taken while everything runs, restored elsewhere: nothing is lost, nothing that it holds as delivered is sent again',
  async (t) => {
    const [original, copy] = [await testDatabase(t, { own: true }), await testDatabase(t, { own: true })];
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
