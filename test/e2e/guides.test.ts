/** What the guides show, done as they say, and the provider of a Medusa shop. The button's guide is
 *  run in a browser (test/browser/payment.test.ts). */
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { tsImport } from 'tsx/esm/api';
import { ROOT } from '../helpers/command.js';
import { bash, blocksOf, end, literally } from '../helpers/documents.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const ledger = service.context.localLedger!;
const { address } = await ledger.client.fund();
const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
const env = {
  MONGODB_URI: database.uri,
  SECRETS_KEY: TEST_SECRETS_KEY,
  DATA_DIR: service.dataDir,
  HORIZON_URLS_LOCAL: ledger.url,
};
const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-guides-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));

/** What the provider needs of `@medusajs/framework/utils`, whose packages are not installed here:
 *  its base class keeps what it is given. */
const MEDUSA = `
export class AbstractPaymentProvider {
  constructor(container, config = {}) { Object.assign(this, { container, config }); }
}
export const PaymentSessionStatus = { PENDING: 'pending', CAPTURED: 'captured', CANCELED: 'canceled' };
export const PaymentActions = { SUCCESSFUL: 'captured', CANCELED: 'canceled', NOT_SUPPORTED: 'not_supported' };
`;

interface Session {
  status: string;
  data: { session_id: string; checkout_id: string; url: string } & Record<string, unknown>;
}

/** The sources of the example as they are, beside that base class. */
async function medusaProvider(options: Record<string, unknown>) {
  const home = join(folder, 'medusa');
  const framework = join(home, 'node_modules/@medusajs/framework');
  await mkdir(framework, { recursive: true });
  await cp(join(ROOT, 'scripts/examples/medusa/src'), join(home, 'src'), { recursive: true });
  await writeFile(join(home, 'package.json'), '{"type":"module"}');
  const exported = { type: 'module', exports: { './utils': './utils.js' } };
  await writeFile(join(framework, 'package.json'), JSON.stringify(exported));
  await writeFile(join(framework, 'utils.js'), MEDUSA);
  await symlink(join(ROOT, 'src/client'), join(home, 'node_modules/stellar-collect-client'));
  const { StellarCollectProvider } = await tsImport(join(home, 'src/provider.ts'), import.meta.url);
  return { Provider: StellarCollectProvider, provider: new StellarCollectProvider({}, options) };
}

// Before `webhook listen` puts its own authority in the place of the receiver's.
t.test(
  'a Medusa shop has its sessions captured when the ledger says so, and refunds when the money went back',
  async (t) => {
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    const { apiKey } = await service.openAccount('Medusa');
    const api = (method: string, path: string, body?: unknown) => service.api(method, path, body, apiKey);
    const { address, secret: walletSecret } = await ledger.client.fund();
    const wallet = (await api('POST', '/wallets', { name: 'Medusa', address, network: 'LOCAL' })).data;
    const events = ['checkout.paid', 'checkout.expired'];
    const { secret } = (await api('POST', '/webhooks', { name: 'medusa', url: receiver.origin, events })).data;
    const options = {
      url: service.url,
      apiKey,
      webhookSecret: secret,
      walletId: wallet.id,
      assets: { xlm: { assetCode: 'XLM' } },
      successUrl: 'https://shop.example/thanks',
    };
    const { Provider, provider } = await medusaProvider(options);
    t.doesNotThrow(() => Provider.validateOptions(options));
    t.throws(() => Provider.validateOptions({ ...options, webhookSecret: '' }), /webhookSecret is missing/);
    const begin = (amount: unknown, session_id = 'payses_1'): Promise<Session> =>
      provider.initiatePayment({ amount, currency_code: 'XLM', data: { session_id, checkout_id: 'of somebody' } });
    for (const wrong of ['1e-7', -1, '0.00000001', 'NaN', '']) await t.rejects(begin(wrong), String(wrong));
    await t.rejects(provider.initiatePayment({ amount: '1', currency_code: 'eur', data: { session_id: 'x' } }), /eur/);

    // As Medusa keeps amounts: with the exact value beside a float.
    const first = await begin({ numeric: 12.3, raw: { value: '12.3', precision: 20 } });
    t.equal(first.status, 'pending');
    t.match(await (await fetch(first.data.url)).text(), /Pay 12\.3 XLM/);
    t.strictSame(
      (await provider.updatePayment({ amount: '12.30', currency_code: 'xlm', data: first.data })).data,
      first.data,
    );
    const { data } = (await provider.updatePayment({ amount: 25, currency_code: 'xlm', data: first.data })) as Session;
    t.equal((await provider.getPaymentStatus({ data: first.data })).status, 'canceled', 'another took its place');
    const { data: checkout } = await api('GET', `/checkouts/${data.checkout_id}`);
    t.match(checkout, { amount: '25', reference: 'payses_1', status: 'OPEN' });
    t.equal((await provider.authorizePayment({ data })).status, 'pending');
    await t.rejects(provider.capturePayment({ data }), /not paid/);

    const payer = await ledger.client.fund();
    await ledger.client.pay({ to: address, amount: '10', memo: checkout.memo, fromSecret: payer.secret });
    const state = async () => (await provider.retrievePayment({ data })).data.checkout;
    await eventually(async () => (await state()).receivedAmount === '10', 'a part');
    await t.rejects(provider.updatePayment({ amount: 30, currency_code: 'xlm', data }), /has come/);
    await ledger.client.pay({ to: address, amount: '16', memo: checkout.memo, fromSecret: payer.secret });
    await receiver.until(() => receiver.requests.length > 0, 30_000);
    const { body, headers } = receiver.requests[0]!;
    const hear = (rawData: string | Buffer) => provider.getWebhookActionAndData({ data: {}, rawData, headers });
    const captured = { action: 'captured', data: { session_id: 'payses_1', amount: '25' } };
    t.strictSame(await hear(Buffer.from(body)), captured, 'the price, and not what came beyond it');
    await t.rejects(hear(body.replace('payses_1', 'payses_2')), { name: 'WebhookVerificationError' });
    t.equal((await provider.authorizePayment({ data })).status, 'captured');
    const foreign = { ...data, session_id: 'payses_2' };
    await t.rejects(provider.authorizePayment({ data: foreign }), /not the checkout of this session/);
    await t.resolves(provider.capturePayment({ data }));
    await t.rejects(provider.cancelPayment({ data }), /send the money back/);
    t.strictSame(await provider.deletePayment({ data: { session_id: 'x' } }), { data: { session_id: 'x' } });

    await t.rejects(provider.refundPayment({ amount: '4', data }), {
      message: `Send 4 XLM from your wallet to ${payer.address} with the memo "refund ${checkout.memo}"`,
    });
    await ledger.client.pay({
      to: payer.address,
      amount: '4',
      memo: `refund ${checkout.memo}`,
      fromSecret: walletSecret,
    });
    await eventually(async () => {
      const { data: payments } = await api('GET', `/payments?checkoutId=${checkout.id}`);
      return payments.some(({ refundedAmount }: { refundedAmount: string }) => refundedAmount === '4');
    }, 'the ledger shows it');
    const refunded = await provider.refundPayment({ amount: '3.5', data });
    t.equal(refunded.data.refunded, '3.5');
    await t.rejects(provider.refundPayment({ amount: '1', data: refunded.data }), /^Send 0\.5 XLM/);
  },
);

t.test('the first order is taken, paid and shipped', async (t) => {
  const block = blocksOf('docs/guides/first-order.md');
  const prepared = literally(block('sh', 'pick()'), service, { 'sk_…': service.apiKey });
  const made = await bash(`${prepared}\n${block('sh', 'export PRODUCT')}`, env).ended;
  t.match(made.stdout, /^prod_\w+$/m, made.stderr);

  const port = String(await freePort());
  const open = { $API_KEY: service.apiKey, ':4000': `:${port}` };
  const listen = bash(`${literally(block('sh', 'webhook listen').trim(), service, open)} --url ${service.url}`, env);
  t.teardown(() => end(listen));
  const [secret] = await listen.says(/whsec_\S+/);
  const shopIn = { 'PORT=4000': `PORT=${port}`, 'whsec_…': secret };
  const shop = bash(`${prepared}\n${literally(block('sh', 'examples/shop.ts'), service, shopIn)}`, {
    ...env,
    PRODUCT: made.stdout.trim(),
  });
  t.teardown(() => end(shop));
  await shop.says(/open http/);
  const page = await (await fetch(`http://127.0.0.1:${port}`)).text();
  t.match(page, `${service.url}/page/button-v1.js`);
  const order = () => fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST', redirect: 'manual' });
  for (const { status } of [await order(), await order()]) t.equal(status, 303);
  const [{ memo }] = (await service.api('GET', '/checkouts?reference=order-1')).data;
  await ledger.client.pay({ to: address, amount: '25', memo });
  await shop.says(/ship order-1: 25 XLM arrived/);
});

t.test('the books agree to the stroop, and what differs is named', async (t) => {
  const block = blocksOf('docs/guides/books.md');
  const dateAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const dated = (text: string) => text.replaceAll('2026-11-01', dateAfter(-1)).replaceAll('2026-12-01', dateAfter(2));
  const prepared = literally(block('sh', 'get()'), service, { 'sk_…': service.apiKey });
  const follow = (text: string) => bash(`${prepared}\n${dated(text)}`, env, folder).ended;

  const reconcile = block('sh', 'reconcile.ts').replace(
    'npx tsx scripts',
    `node --import=${import.meta.resolve('tsx')} ${ROOT}scripts`,
  );
  t.match(await follow(reconcile), { code: 0, stdout: 'nothing differs: 2 orders\n' });
  const [checkout] = (await service.api('GET', '/checkouts?reference=order-2')).data;
  await ledger.client.pay({ to: address, amount: '25.0000001', memo: checkout.memo });
  await eventually(async () => (await service.api('GET', `/checkouts/${checkout.id}`)).data.status === 'PAID', 'paid');
  const ofNobody = { walletId: wallet.id, name: 'x', assetCode: 'XLM', amount: '1', reference: 'order-4' };
  const unknown = (await service.api('POST', '/checkouts', ofNobody)).data;
  await ledger.client.pay({ to: address, amount: '0.5', memo: unknown.memo });
  await eventually(
    async () => (await service.api('GET', `/checkouts/${unknown.id}`)).data.receivedAmount === '0.5',
    'a part',
  );
  const orders = [
    { reference: 'order-1', assetCode: 'XLM', amount: '24.9999999', shipped: true },
    { reference: 'order-2', assetCode: 'XLM', amount: '25.0', shipped: false },
    { reference: 'order-3', assetCode: 'XLM', amount: '25', shipped: true },
  ];
  await writeFile(join(folder, 'orders.jsonl'), orders.map((order) => JSON.stringify(order)).join('\n'));
  const differing = await follow(reconcile.replace(/^cat[\s\S]*?^END\n/m, ''));
  t.equal(differing.code, 1, differing.stderr);
  t.strictSame(
    differing.stdout
      .replaceAll(/chk_\w+/g, 'chk')
      .split('\n')
      .sort(),
    [
      '',
      'chk: 0.5 XLM came for order-4, no order of yours',
      'order-1: costs 24.9999999 XLM here and 25 XLM there (chk)',
      'order-2: 0.0000001 XLM too much came (chk)',
      'order-2: paid, but not shipped (chk)',
      'order-3: no checkout was made for it',
    ],
  );

  const statement = block('sh', 'statement.csv').replace('wallet_…', wallet.id);
  t.match(await follow(statement), { code: 0, stderr: '' });
  t.match(await readFile(join(folder, 'statement.csv'), 'utf8'), /opening[\s\S]*25\.0000001[\s\S]*closing/);
  const audits = await follow(`WALLET=${wallet.id}\n${block('sh', 'audits')}`);
  t.match(JSON.parse(audits.stdout), { error: null, meta: { pageSize: 1 } }, audits.stderr);
  const came = await follow(block('sh', 'payments.csv'));
  t.match(JSON.parse(came.stdout).error, null, came.stderr);
  t.equal((await readFile(join(folder, 'payments.csv'), 'utf8')).trimEnd().split('\n').length, 4);
  const text = await readFile(join(ROOT, 'docs/guides/books.md'), 'utf8');
  const [, waiting = ''] = /`(get "[^`]*)` shows how many/.exec(text) ?? [];
  const left = await follow(waiting);
  t.equal(JSON.parse(left.stdout).meta.total, 1, 'the part that came for order-4');
});
