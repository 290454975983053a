/** The main job: a payment goes from the ledger to the merchant. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { WebhookPayload } from '../../contracts/events.js';
import { systemClock } from '../../src/kit/clock.js';
import { builtFile } from '../helpers/command.js';
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
    const [, completed] = bodies;
    t.same(
      completed?.type === 'payment.completed' && completed.data.payment,
      payment,
      'the event shows the payment as the API does',
    );
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

t.test('the page warns when the wallet cannot receive what is asked for, and no longer once it can', async (t) => {
  let aheadMs = 0;
  const nowMs = () => Date.now() + aheadMs;
  const service = await startTestService(t, { clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
  const { client } = service.context.localLedger!;
  const { assetIssuer } = await client.issue({ code: 'USD', amount: '1000' });
  const shop = await client.fund();
  const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address: shop.address, network: 'LOCAL' }))
    .data;
  const product = { name: 'P', walletId: wallet.id, assetCode: 'USD', assetIssuer, priceType: 'FIXED', price: '1' };
  const { id: productId } = (await service.api('POST', '/products', product)).data;
  const { url } = (await service.api('POST', '/payment-links', { productId })).data;
  const page = async () => (await fetch(url)).text();
  t.match(await page(), /does not accept this asset yet/);
  await client.trust({ secret: shop.secret, assetCode: 'USD', assetIssuer });
  aheadMs = 20_000;
  t.notMatch(await page(), /does not accept this asset yet/);
});

t.test('webhook listen registers itself, prints verified events, and is gone after Ctrl-C', async (t) => {
  const service = await startTestService(t);
  const { wallet, link } = await startSelling(service);
  const args = ['webhook', 'listen', '--key', service.apiKey, '--url', service.url, '--json'];
  const cli = spawn(process.execPath, [builtFile('src/cli/main.ts'), ...args], {
    env: { ...process.env, DATA_DIR: service.dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => cli.kill('SIGKILL'));
  let printed = '';
  cli.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const lines = () => printed.split('\n').filter((line) => line !== '');
  await eventually(async () => lines().length === 1, 'it listens', 20_000);
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => lines().length === 3, 'both events are printed');
  t.same(
    lines()
      .slice(1)
      .map((line) => JSON.parse(line).type),
    ['payment.received', 'payment.completed'],
  );
  t.equal((await service.api('GET', '/webhooks')).meta?.total, 1);
  cli.kill('SIGINT');
  const [code] = await once(cli, 'exit');
  t.equal(code, 0);
  t.equal((await service.api('GET', '/webhooks')).meta?.total, 0);
});
