/** The whole service on Stellar RPC alone: what it shows a merchant is the same, and what it cannot rely on it refuses. */

import { pino } from 'pino';
import t from 'tap';
import { systemClock } from '../../src/clock.js';
import { readConfig } from '../../src/config.js';
import { createContext } from '../../src/core/context.js';
import { startTestLedger } from '../helpers/ledger.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const { uri } = await testDatabase(t);
const { url, client } = await startTestLedger(t, { uri, closeMs: 100 });
const RPC_URLS_LOCAL = `${url}/rpc`;

t.test('a payment is seen, judged and told by Stellar RPC alone', async (t) => {
  // Horizon's side answers nothing to anybody.
  await client.fund();
  const { id } = await client.faults.add({ kind: 'unavailable', api: 'horizon', path: '/payments' });
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const service = await startTestService(t, { env: { RPC_URLS_LOCAL, WEBHOOK_ALLOW_PRIVATE: 'true' } });
  t.equal(service.context.localLedger, null, 'no built-in ledger starts');
  await service.api('POST', '/webhooks', {
    name: 'shop',
    url: `${receiver.origin}/hook`,
    events: ['payment.completed'],
  });
  const { address, link } = await startSellingOn(service);
  await client.pay({ to: address, amount: '10', memo: link.memo });
  await receiver.until(() => receiver.requests.length >= 1, 20_000);
  const { data } = JSON.parse(receiver.requests[0]!.body);
  t.match(data.payment, { status: 'COMPLETED', amount: '10', memo: link.memo });
  await client.faults.remove(id);

  async function startSellingOn(of: typeof service) {
    const { address: to } = await client.fund();
    const wallet = await of.api('POST', '/wallets', { name: 'W', address: to, network: 'LOCAL' });
    const terms = { walletId: wallet.data.id, assetCode: 'XLM', priceType: 'FIXED', price: '10' };
    const product = await of.api('POST', '/products', { name: 'Thing', ...terms });
    const made = await of.api('POST', '/payment-links', { productId: product.data.id });
    return { address: to, link: made.data };
  }
});

t.test('a server without EMIT_CLASSIC_EVENTS and one of another network are refused with one line', async (t) => {
  await client.fund();
  const start = async (env: Record<string, string>) => {
    const database = await testDatabase(t);
    const config = readConfig({ MONGODB_URI: database.uri, SECRETS_KEY: TEST_SECRETS_KEY, PORT: '0', ...env });
    return createContext({ config, role: 'all', clock: systemClock, log: pino({ level: 'silent' }) });
  };
  const { id } = await client.faults.add({ kind: 'blind' });
  const besides: Record<string, string>[] = [{}, { HORIZON_URLS_LOCAL: url }];
  for (const beside of besides) {
    await t.rejects(start({ RPC_URLS_LOCAL, ...beside }), {
      name: 'StartupError',
      message: /^[^\n]*EMIT_CLASSIC_EVENTS=true[^\n]*$/,
    });
  }
  await client.faults.remove(id);
  const testnet = { NETWORKS: 'TESTNET', RPC_URLS_TESTNET: RPC_URLS_LOCAL };
  await t.rejects(start(testnet), { name: 'StartupError', message: /Test SDF Network.*check HORIZON_URLS, RPC_URLS/ });
});
