/** The service on a MongoDB sharded cluster. */
import { mongo } from 'mongoose';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { connectDatabase } from '../../src/stores/database.js';
import { testCluster } from '../helpers/cluster.js';
import { startReceiver } from '../helpers/receiver.js';
import { startSelling, startTestService } from '../helpers/service.js';

const cluster = await testCluster(t, { routers: 2 });

t.test('the service starts on a sharded cluster, and a payment goes from the ledger to the webhook', async (t) => {
  const database = cluster.database();
  const service = await startTestService(t, { database });
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const { link, wallet } = await startSelling(service);
  const { data: hook } = await service.api('POST', '/webhooks', {
    ...{ name: 'shop', url: `${receiver.origin}/hook`, events: ['payment.completed'] },
  });
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await receiver.until(() => receiver.requests.length > 0);
  const { body, headers } = receiver.requests[0]!;
  t.match(new Webhook(hook.secret).verify(body, headers), {
    type: 'payment.completed',
    data: { payment: { status: 'COMPLETED', amount: '25', paymentLinkId: link.id } },
  });
  const counts = await cluster.onShards(database.name, (db) => db.collection('payments').countDocuments());
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    1,
    'stored once, on one shard',
  );
});

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
