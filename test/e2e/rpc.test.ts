/** The whole service on Stellar RPC alone: what it shows a merchant is the same, and what it cannot
 *  rely on it refuses. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import t from 'tap';
import { readConfig } from '../../src/app/config.js';
import { createContext } from '../../src/app/context.js';
import { systemClock } from '../../src/kit/clock.js';
import { startTestLedger } from '../helpers/ledger.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const { uri } = await testDatabase(t);
const { url, client } = await startTestLedger(t, { uri, closeMs: 100 });
const RPC_URLS_LOCAL = `${url}/rpc`;

t.test('a payment is seen, judged, told and given back by Stellar RPC alone', async (t) => {
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
  const [payer, till] = [await client.fund(), await client.fund()];
  const { address, link } = await startSellingOn(service, till);
  await client.pay({ to: address, amount: '10', memo: link.memo, fromSecret: payer.secret });
  await receiver.until(() => receiver.requests.length >= 1, 60_000);
  const { data } = JSON.parse(receiver.requests[0]!.body);
  t.match(data.payment, { status: 'COMPLETED', amount: '10', memo: link.memo });

  const { id: paymentId } = data.payment;
  const giveBack = (amount: string, memo: string | null) =>
    client.pay({ to: payer.address, amount, memo, fromSecret: till.secret });
  const refunded = async () => (await service.api('GET', `/payments/${paymentId}`)).data.refundedAmount;
  await giveBack('4', `refund ${link.memo}`);
  await eventually(async () => (await refunded()) === '4', 'seen by its memo');
  const { hash: transactionHash } = await giveBack('6', null);
  t.equal((await service.api('POST', `/payments/${paymentId}/refunds`, { transactionHash })).status, 200);
  t.equal(await refunded(), '10', 'booked by its hash');
  const unknown = { transactionHash: '0'.repeat(64) };
  t.equal((await service.api('POST', `/payments/${paymentId}/refunds`, unknown)).status, 409);
  await client.faults.remove(id);

  async function startSellingOn(of: typeof service, { address: to }: { address: string }) {
    const wallet = await of.api('POST', '/wallets', { name: 'W', address: to, network: 'LOCAL' });
    const terms = { walletId: wallet.data.id, assetCode: 'XLM', priceType: 'FIXED', price: '10' };
    const product = await of.api('POST', '/products', { name: 'Thing', ...terms });
    const made = await of.api('POST', '/payment-links', { productId: product.data.id });
    return { address: to, link: made.data };
  }
});

t.test(
  'a Horizon that forgets an account it has shown is not believed: another is asked, and the cursor stays',
  LONG,
  async (t) => {
    await client.fund();
    const payTo = async (env: Record<string, string>) => {
      const service = await startTestService(t, { env: { HORIZON_URLS_LOCAL: url, ...env } });
      const to = (await client.fund()).address;
      const wallet = await service.api('POST', '/wallets', { name: 'W', address: to, network: 'LOCAL' });
      const pay = (amount: string) => client.pay({ to, amount });
      // What opened the account in the same second may count, too.
      const amounts = async (): Promise<string[]> => {
        const { data } = await service.api('GET', '/payments?status=UNMATCHED');
        return data.map(({ amount }: { amount: string }) => amount).filter((amount: string) => amount.length === 1);
      };
      await pay('1');
      await eventually(async () => (await amounts()).length === 1, 'Horizon shows the first payment');
      const fault = await client.faults.add({ kind: 'not_found', api: 'horizon', path: `/accounts/${to}/payments` });
      const { ledger: forgotten } = await pay('2');
      const sync = async () => (await service.api('GET', `/wallets/${wallet.data.id}`)).data.sync;
      return { service, fault, forgotten, amounts, sync };
    };
    const alone = await payTo({});
    await client.pay({ to: (await client.fund()).address, amount: '1' });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    t.same(await alone.amounts(), ['1']);
    t.ok((await alone.sync()).ledger < alone.forgotten, 'what was not shown does not count as read');
    await client.faults.remove(alone.fault.id);
    await eventually(
      async () => (await alone.amounts()).length === 2,
      'it is read once Horizon knows the account again',
    );

    const beside = await payTo({ RPC_URLS_LOCAL });
    await eventually(async () => (await beside.amounts()).length === 2, 'Stellar RPC is asked instead');
    await client.faults.remove(beside.fault.id);
  },
);

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

t.test(
  'an audit takes balances from Stellar RPC, of as many assets as it can name, and movements from Horizon',
  LONG,
  async (t) => {
    const service = await startTestService(t, { env: { RPC_URLS_LOCAL, HORIZON_URLS_LOCAL: url } });
    const [issuer, till] = [await client.fund(), await client.fund()];
    const from = Keypair.fromSecret(till.secret);
    const trust = (first: number, count: number) => {
      const operations = Array.from({ length: count }, (_, n) =>
        Operation.changeTrust({ asset: new Asset(`A${first + n}`, issuer.address) }),
      );
      return client.submit({ from, operations });
    };
    await trust(0, 100);
    const wallet = (await service.api('POST', '/wallets', { name: 'W', address: till.address, network: 'LOCAL' })).data;
    const audit = async () => {
      const { id } = (await service.api('POST', `/wallets/${wallet.id}/audits`)).data;
      return eventually(async () => {
        const { data } = await service.api('GET', `/wallets/${wallet.id}/audits`);
        return data.find((each: { id: string; status: string }) => each.id === id && each.status !== 'RUNNING');
      }, 'the end of the audit');
    };
    const [horizon, rpc] = [/\(1\)$/, /\(2\)$/];
    t.match(await audit(), { status: 'PROVEN', balanceSource: rpc, movementSource: horizon, assets: { length: 101 } });
    t.match(await audit(), { status: 'PROVEN', balanceSource: rpc, assets: { length: 101 } }, 'nothing has changed');
    await trust(100, 99);
    await client.submit({
      from: Keypair.fromSecret(issuer.secret),
      operations: [
        Operation.payment({ destination: till.address, asset: new Asset('A150', issuer.address), amount: '7' }),
      ],
    });
    const whole = await audit();
    t.match(
      whole,
      { status: 'PROVEN', balanceSource: rpc, assets: { length: 200 } },
      'a balance that it did not hold before counts',
    );
    t.match(
      whole.assets.filter(({ closing }: { closing: string }) => closing === '7'),
      [{ assetCode: 'A150', movements: { received: '7' } }],
    );
    await trust(199, 1);
    const listed = await audit();
    t.match(
      listed,
      { status: 'PROVEN', balanceSource: horizon, assets: { length: 201 } },
      'more than one request can name',
    );
  },
);
