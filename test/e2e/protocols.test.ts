/** What newer protocols write reaches the merchant, by whichever source: each payment is recorded
 *  once and its checkout PAID. Only what can be read in no way is parked: it holds back nothing but
 *  what it may have paid, and is recorded once it can be read. */
import t, { type Test } from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { type LedgerClient, madeUpContract, muxedContract } from '../../src/local-ledger/index.js';
import { startTestLedger } from '../helpers/ledger.js';
import { IS_LONG, LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { CLOSE_MS, eventually, startTestService } from '../helpers/service.js';

type Source = 'horizon' | 'rpc';
/** From now until the end of each checkout. */
const END_MS = 70_000;

interface Wanted {
  to: string;
  amount: string;
  memo: string;
  memoId: string;
}

async function startShop(t: Test, source: Source) {
  const database = await testDatabase(t);
  const time = { aheadMs: 0 };
  const nowMs = () => Date.now() + time.aheadMs;
  const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
  const { url, client } = await startTestLedger(t, { uri: database.uri, closeMs: CLOSE_MS, clock });
  const env: Record<string, string> = source === 'rpc' ? { RPC_URLS_LOCAL: `${url}/rpc` } : { HORIZON_URLS_LOCAL: url };
  const service = await startTestService(t, { database, clock, env });
  const { api } = service;
  const open = async () => {
    const { address, secret } = await client.fund();
    const { id } = (await api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
    const sync = async () => (await api('GET', `/wallets/${id}`)).data.sync;
    await eventually(async () => (await sync()).state === 'OK', 'the wallet is read');
    const order = async () => {
      const fields = { walletId: id, name: 'Order', assetCode: 'XLM', amount: '50' };
      const expiresAt = new Date(nowMs() + END_MS).toISOString();
      return (await api('POST', '/checkouts', { ...fields, expiresAt })).data;
    };
    return { id, address, secret, sync, order };
  };
  const statusOf = async (id: string) => (await api('GET', `/checkouts/${id}`)).data.status;
  const paymentsOf = async (id: string) => (await api('GET', `/payments?checkoutId=${id}`)).data;
  return { api, client, time, open, statusOf, paymentsOf };
}

const CONTRACT_CALL = { type: 'invoke_host_function', type_i: 24 };
const NATIVE_TRANSFER = { asset_type: 'native', type: 'transfer' };

/** One call that pays a muxed contract, and the shop beside it. */
async function payBeside(client: LedgerClient, { to, amount, memoId }: Wanted) {
  const { address: from } = await client.fund();
  const elsewhere = muxedContract({ contract: madeUpContract('exchange'), id: '7' });
  await client.inject({
    accounts: [from, to],
    moves: true,
    record: {
      ...CONTRACT_CALL,
      source_account: from,
      asset_balance_changes: [
        { ...NATIVE_TRANSFER, from, to: elsewhere, amount: '1.0000000' },
        { ...NATIVE_TRANSFER, from, to, amount: `${amount}.0000000`, destination_muxed_id: memoId },
      ],
    },
  });
}

type Pay = (client: LedgerClient, wanted: Wanted) => Promise<unknown>;

const calls: Record<string, Pay> = Object.fromEntries(
  (['address_v2', 'address_with_delegates', 'unknown'] as const).map((signedBy) => [
    `a contract’s call signed by ${signedBy}`,
    (client, { to, amount, memoId }) => client.payByContract({ to, amount, muxedId: memoId, signedBy }),
  ]),
);

const spellings: Record<string, Pay> = {
  'a text memo': (client, { to, amount, memo }) => client.pay({ to, amount, memo }),
  'a memo of type id': (client, { to, amount, memoId }) => client.pay({ to, amount, memoId }),
  'a muxed destination': (client, { to, amount, memoId }) =>
    client.pay({ to, amount, muxedId: memoId, memo: 'hidden', fromMuxedId: '9' }),
};

const parts = [['envelope'], ['result'], ['events'], ['envelope', 'result', 'events']] as const;

/** Transactions of which some parts have an arm of the future. */
const future: Record<string, Pay> = Object.fromEntries(
  parts.flatMap((each) =>
    Object.entries({ ...spellings, 'a contract’s call': calls['a contract’s call signed by unknown']! }).map(
      ([name, pay]) => [
        `${name}, ${each.join(', ')} of the future`,
        async (client: LedgerClient, wanted: Wanted) => {
          await client.faults.add({ kind: 'undecodable', account: wanted.to, parts: [...each] });
          await pay(client, wanted);
        },
      ],
    ),
  ),
);

for (const source of ['horizon', 'rpc'] as const) {
  t.test(`what newer protocols write pays its checkout, by ${source}`, source === 'rpc' ? LONG : {}, async (t) => {
    const { client, open, statusOf, paymentsOf } = await startShop(t, source);
    const cases = Object.entries({ ...calls, 'a transfer beside a W…': payBeside, ...future });
    // npm test takes every fourth.
    for (const [name, pay] of cases.filter((_, index) => IS_LONG || index % 4 === 0)) {
      const wallet = await open();
      const { id, memo, memoId } = await wallet.order();
      await pay(client, { to: wallet.address, amount: '50', memo, memoId });
      await eventually(async () => (await statusOf(id)) === 'PAID', `${name} pays its checkout`);
      const payments = await paymentsOf(id);
      t.match(payments, [{ status: 'COMPLETED', amount: '50' }], name);
      t.equal(payments.length, 1);
      t.match(await wallet.sync(), { state: 'OK', parked: 0 });
      await client.faults.clear();
    }
  });

  t.test(`a payment from a wallet to a W… is not a payment to it, by ${source}`, async (t) => {
    const { api, client, open } = await startShop(t, source);
    const wallet = await open();
    const to = muxedContract({ contract: madeUpContract('exchange'), id: '7' });
    await client.payByContract({ from: wallet.address, to, amount: '3' });
    await client.pay({ to: wallet.address, amount: '4' });
    const payments = async () => (await api('GET', `/payments?walletId=${wallet.id}&status=UNMATCHED`)).data;
    await eventually(
      async () => (await payments()).some(({ amount }: { amount: string }) => amount === '4'),
      'it is read',
    );
    t.notOk((await payments()).some(({ amount }: { amount: string }) => amount === '3'));
    if (source === 'horizon') {
      const { data } = await api('GET', `/wallets/${wallet.id}/statement?from=${new Date(0).toISOString()}`);
      const sent = data.assets[0].movements.filter(({ kind }: { kind: string }) => kind === 'sent');
      t.match(sent, [{ amount: '-3', counterparty: to }]);
    }
    t.match(await wallet.sync(), { state: 'OK', parked: 0 });
  });
}

t.test('what not even the server can decode is parked, and recorded once it can be read', async (t) => {
  const { client, time, open, statusOf, paymentsOf } = await startShop(t, 'rpc');
  const [wallet, other] = [await open(), await open()];
  const [checkout, unpaid] = [await wallet.order(), await other.order()];
  await client.faults.add({ kind: 'undecodable', account: wallet.address, decodedByServer: false });
  await client.pay({ to: wallet.address, amount: '50', memo: checkout.memo });
  await eventually(async () => (await wallet.sync()).parked === 1, 'it is parked');
  t.match(await other.sync(), { state: 'OK', parked: 0 }, 'and may have paid no other wallet');
  time.aheadMs += END_MS + 5000;
  await eventually(async () => (await statusOf(unpaid.id)) === 'EXPIRED', 'the other checkout ends');
  t.equal(await statusOf(checkout.id), 'OPEN');
  await client.faults.clear();
  await eventually(async () => {
    time.aheadMs += 5000;
    return (await statusOf(checkout.id)) === 'PAID';
  }, 'it is paid');
  t.match(await paymentsOf(checkout.id), [{ status: 'COMPLETED', amount: '50' }]);
  t.match(await wallet.sync(), { state: 'OK', parked: 0 });
});

t.test('an undecodable transaction that pays no wallet is ignored', async (t) => {
  const { client, open, statusOf } = await startShop(t, 'rpc');
  const wallet = await open();
  const { address: stranger } = await client.fund();
  await client.faults.add({ kind: 'undecodable', account: stranger, decodedByServer: false });
  await client.pay({ to: stranger, amount: '50' });
  const { id, memo } = await wallet.order();
  await client.pay({ to: wallet.address, amount: '50', memo });
  await eventually(async () => (await statusOf(id)) === 'PAID', 'the payment behind it');
  t.match(await wallet.sync(), { state: 'OK', parked: 0 });
});
