/** The service on a MongoDB sharded cluster. */
import { mongo } from 'mongoose';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { connectDatabase } from '../../src/kit/database.js';
import { testCluster } from '../helpers/cluster.js';
import { LONG } from '../helpers/long.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';
import { newId, openStoresOn } from '../helpers/stores.js';

// A change stream through a router waits for a note of the shard that rests: by default up to 10 s,
// here for ever.
const cluster = await testCluster(t, { routers: 2, parameters: { writePeriodicNoops: false } });

/** The data of an event stream's next event that has this text in it. */
async function heard(t: Test, url: string, headers: Record<string, string>, text: string): Promise<number> {
  const ended = new AbortController();
  t.teardown(() => ended.abort());
  const { body } = await fetch(url, { headers, signal: ended.signal });
  let read = '';
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    read += chunk;
    if (read.includes(text)) return performance.now();
  }
  throw new Error(`ended without ${text}: ${read}`);
}

t.test(
  'with one shard at rest, a payment reaches webhook, page, pull and stream without the change streams',
  LONG,
  async (t) => {
    const database = cluster.database();
    const service = await startTestService(t, { database });
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    const { link, wallet } = await startSelling(service);
    const { data: hook } = await service.api('POST', '/webhooks', {
      ...{ name: 'shop', url: `${receiver.origin}/hook`, events: ['payment.completed'] },
    });
    const authorization = `Bearer ${service.apiKey}`;
    const page = heard(t, `${service.url}/p/${link.slug}/events`, {}, '"state":"PAID"');
    const stream = heard(t, `${service.url}/api/v1/events/stream`, { authorization }, 'payment.completed');
    const pull = (async () => {
      for (;;) if ((await service.api('GET', '/events?after=0&wait=30')).data.length > 0) return performance.now();
    })();

    await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    const stored = await eventually(() => database.db.collection('payments').findOne({}), 'the payment is stored');
    const storedMs = performance.now();
    await receiver.until(() => receiver.requests.length > 0);
    const sentMs = performance.now();
    const { body, headers } = receiver.requests[0]!;
    t.match(new Webhook(hook.secret).verify(body, headers), {
      type: 'payment.completed',
      data: { payment: { id: stored._id, status: 'COMPLETED', amount: '25', paymentLinkId: link.id } },
    });
    const afterStored = { webhook: sentMs, page: await page, pull: await pull, stream: await stream };
    for (const [what, ms] of Object.entries(afterStored)) t.comment(`${what}: ${Math.round(ms - storedMs)} ms`);
    const counts = await cluster.onShards(database.name, (db) => db.collection('payments').countDocuments());
    t.same(counts.toSorted(), [0, 1], 'stored once, on one shard');
  },
);

t.test('a transaction sees what another process has committed through another router', async (t) => {
  const { name, db } = cluster.database();
  const admin = db.client.db('admin');
  await admin.command({ enableSharding: name, primaryShard: 'shard0' });
  await admin.command({ shardCollection: `${name}.things`, key: { _id: 1 } });
  await admin.command({ moveRange: `${name}.things`, min: { _id: new mongo.BSON.MinKey() }, toShard: 'shard1' });
  const processes = await Promise.all([0, 1].map((router) => connectDatabase(cluster.database([router], name).uri)));
  for (const { close } of processes) t.teardown(close);
  const [one, other] = processes.map(({ connection, transaction }) => {
    const things = connection.db!.collection<{ _id: string }>('things');
    return {
      store: (_id: string) => transaction((session) => things.insertOne({ _id }, { session })),
      find: (_id: string) => transaction((session) => things.findOne({ _id }, { session })),
    };
  });
  // The first looks bring the routers up to date.
  await Promise.all([one!.find(''), other!.find('')]);
  for (let round = 0; round < 5; round++) {
    await one!.store(`there ${round}`);
    t.ok(await other!.find(`there ${round}`));
    await other!.store(`back ${round}`);
    t.ok(await one!.find(`back ${round}`));
  }
});

t.test('what several accounts ask for in one moment → a query for each, because they have other shards', async (t) => {
  const monitored = new URL(cluster.database([0]).uri);
  monitored.searchParams.set('monitorCommands', 'true');
  const { connection, stores } = await openStoresOn(t, monitored.href);
  const asked: unknown[] = [];
  connection.getClient().on('commandStarted', ({ command }) => {
    if (command.find === 'products') asked.push(command.filter.accountId);
  });
  const ids = [newId('prod'), newId('prod')];
  const found = await Promise.all(
    ['acct_one', 'acct_other'].flatMap((accountId) => ids.map((id) => stores.forAccount(accountId).products.byId(id))),
  );
  t.same(found, [null, null, null, null]);
  t.same(asked, [{ $in: ['acct_one'] }, { $in: ['acct_other'] }]);
});
