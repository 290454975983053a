/** The service on a MongoDB sharded cluster. */
import { Webhook } from 'standardwebhooks';
import t from 'tap';
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
