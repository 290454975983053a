/** The main job: a payment goes from the ledger to the merchant. */
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { WebhookPayload } from '../../contracts/events.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

t.test(
  'a payment on the ledger becomes COMPLETED and reaches the webhook, signed, received before completed',
  async (t) => {
    const service = await startTestService(t);
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    const { link, product, wallet } = await startSelling(service);
    const hook = await service.api('POST', '/webhooks', {
      name: 'shop',
      url: `${receiver.origin}/hook`,
      events: ['payment.completed', 'payment.received'],
    });
    t.equal(hook.status, 201);

    const { hash } = await service.context.localLedger!.client.pay({
      to: wallet.address,
      amount: '25',
      memo: link.memo,
    });
    const payment = await eventually(
      async () => (await service.api('GET', '/payments')).data[0],
      'the payment is listed',
    );
    t.match(payment, {
      status: 'COMPLETED',
      reason: null,
      amount: '25',
      expectedAmount: '25',
      assetCode: 'XLM',
      memo: link.memo,
      transactionHash: hash,
      paymentLinkId: link.id,
      walletId: wallet.id,
      product: { id: product.id },
    });
    await receiver.until(() => receiver.requests.length >= 2);
    const bodies = receiver.requests.map(
      (request) => new Webhook(hook.data.secret).verify(request.body, request.headers) as WebhookPayload,
    );
    t.same(
      bodies.map((body) => body.type),
      ['payment.received', 'payment.completed'],
    );
    t.same(bodies[1]?.data.payment, payment, 'the event shows the payment as the API does');
    t.equal((await service.api('GET', `/payment-links/${link.id}`)).data.paymentCount, 1);

    const events = await service.api('GET', '/events?order=asc');
    t.same(
      events.data.map((event: { id: string }) => event.id),
      bodies.map((body) => body.id),
    );
  },
);

t.test('a second service with another secrets key is refused with one line', async (t) => {
  const database = await testDatabase(t);
  await startTestService(t, { database });
  const other = { SECRETS_KEY: Buffer.alloc(32, 8).toString('base64') };
  await t.rejects(startTestService(t, { database, env: other }), {
    name: 'StartupError',
    message: /^SECRETS_KEY is not the one/,
  });
});
