/** What a merchant relies on while the ledger, Horizon and the wallets change under way. */
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import type { FaultInput } from '../../src/local-ledger/index.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

const paymentsOf = async (service: TestService, query = '') => (await service.api('GET', `/payments${query}`)).data;
const syncOf = async (service: TestService, id: string) => (await service.api('GET', `/wallets/${id}`)).data.sync;

const FAULTS: FaultInput[] = [
  { kind: 'rate_limited', retryAfterSeconds: 1, count: 1 },
  { kind: 'unavailable', count: 1 },
  { kind: 'stale_history', count: 2 },
  { kind: 'server_error', count: 1 },
  { kind: 'timeout', emptyBody: true, count: 1 },
  { kind: 'html', count: 1 },
  { kind: 'bad_gateway', count: 1 },
  { kind: 'cut_json', count: 1 },
  { kind: 'reset_connection', count: 1 },
  { kind: 'lag', ledgers: 5, durationMs: 700 },
  { kind: 'slow', delayMs: 300, count: 1 },
];

t.test('a payment made while Horizon fails is found once it answers again, once', LONG, async (t) => {
  const service = await startTestService(t);
  const { link, wallet } = await startSelling(service);
  const { client } = service.context.localLedger!;
  for (const fault of FAULTS) {
    const before = (await paymentsOf(service, '?pageSize=100')).length;
    // The paths of the watcher only: the payment itself must get through.
    const path = fault.kind === 'lag' ? {} : { path: `/accounts/${wallet.address}/payments` };
    await client.faults.add({ ...fault, ...path } as FaultInput);
    await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    await eventually(
      async () => (await paymentsOf(service, '?pageSize=100')).length === before + 1,
      `the payment made during ${fault.kind}`,
      15_000,
    );
    await client.faults.clear();
    t.pass(fault.kind);
  }
  t.equal((await paymentsOf(service, '?pageSize=100')).length, FAULTS.length);
});

t.test('a source has named a newest ledger far ahead of the network → payments are found all the same', async (t) => {
  const { uri, db } = await testDatabase(t);
  const service = await startTestService(t, { database: { uri } });
  const { link, wallet } = await startSelling(service);
  const ledger = service.context.localLedger!.client;
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 1, 'the payment before');
  // What a round stores by such a claim.
  await db.collection('networkStates').updateMany({}, { $set: { latestLedger: 9_000_000 } });
  await db.collection('cursors').updateMany({}, { $set: { ledger: 9_000_000 } });
  const paid = await ledger.pay({ to: wallet.address, amount: '26', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 2, 'the payment afterwards');
  // The cursor heals before what is known of the network.
  await eventually(async () => {
    const { ledger: read, state } = await syncOf(service, wallet.id);
    return read >= paid.ledger && read < 9_000_000 && state === 'OK';
  }, 'what was really read');
});

t.test('a record that cannot be understood is parked, holds up nothing, and can be tried again', async (t) => {
  const service = await startTestService(t);
  const { link, wallet } = await startSelling(service);
  const { client } = service.context.localLedger!;
  const { parkedRecords } = service.context.stores.system;
  await client.inject({ accounts: [wallet.address], record: { type: 'teleport', type_i: 99, to: wallet.address } });
  await client.inject({
    accounts: [wallet.address],
    record: {
      type: 'payment',
      type_i: 1,
      to: wallet.address,
      from: wallet.address.replace(/^G/, 'G'),
      asset_type: 'native',
    },
  });
  await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 1, 'the payment after the records');
  t.equal(await parkedRecords.count(['LOCAL']), 2);
  const [one] = (await parkedRecords.list({ page: 1, pageSize: 1 })).items;
  // A record of a network that was watched once.
  await parkedRecords.park([{ ...one!, _id: 'TESTNET:1', network: 'TESTNET' }]);
  t.match(await (await fetch(`${service.url}/metrics`)).text(), /collect_records_parked 2\n/);
});

t.test(
  'ledgers that Horizon dropped unread show as GAP until the wallet is made inactive and active again',
  async (t) => {
    const service = await startTestService(t);
    const { link, wallet } = await startSelling(service);
    const { client } = service.context.localLedger!;
    await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    await eventually(async () => (await paymentsOf(service)).length === 1, 'the payment before');
    const { sequence } = await client.status();
    await client.faults.add({ kind: 'retention', elderLedger: sequence + 500 });
    await eventually(async () => (await syncOf(service, wallet.id)).state === 'GAP', 'the gap');
    await client.faults.clear();
    await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    t.equal((await syncOf(service, wallet.id)).state, 'GAP', 'it stays');
    await service.api('PATCH', `/wallets/${wallet.id}`, { active: false });
    await service.api('PATCH', `/wallets/${wallet.id}`, { active: true });
    await client.pay({ to: wallet.address, amount: '26', memo: link.memo });
    await eventually(async () => (await paymentsOf(service))[0]?.amount === '26', 'a payment afterwards');
    t.equal((await syncOf(service, wallet.id)).state, 'OK');
  },
);

t.test('a reset of a network is a GAP, and payments on the new chain are found', async (t) => {
  const service = await startTestService(t);
  const { link, wallet } = await startSelling(service);
  const { client } = service.context.localLedger!;
  await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 1, 'the payment on the old chain');
  // Close times have whole seconds: a chain of the same second cannot be told from a base
  // that lags.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await client.reset();
  await eventually(async () => (await syncOf(service, wallet.id)).state === 'GAP', 'the gap');
  await client.fund(wallet.address);
  await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 2, 'the payment on the new chain');
});

t.test('history before a wallet is never replayed, and what came while it was inactive neither', async (t) => {
  const service = await startTestService(t);
  const ledger = service.context.localLedger!.client;
  const { address } = await ledger.fund();
  await ledger.pay({ to: address, amount: '1' });
  const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  await ledger.pay({ to: address, amount: '2' });
  await service.api('PATCH', `/wallets/${wallet.id}`, { active: false });
  await ledger.pay({ to: address, amount: '3' });
  await service.api('PATCH', `/wallets/${wallet.id}`, { active: true });
  await ledger.pay({ to: address, amount: '4' });
  await eventually(
    async () =>
      (await paymentsOf(service, '?status=UNMATCHED')).some((payment: { amount: string }) => payment.amount === '4'),
    'the last payment',
  );
  t.same(
    (await paymentsOf(service, '?status=UNMATCHED')).map((payment: { amount: string }) => payment.amount),
    ['4', '2'],
  );
  const { ledger: newest } = await ledger.pay({ to: address, amount: '5' });
  await eventually(async () => (await syncOf(service, wallet.id)).ledger >= newest, 'the watermark');
  t.equal((await syncOf(service, wallet.id)).state, 'OK');
});

t.test('a payment is judged by the terms in force when its ledger closed', async (t) => {
  const service = await startTestService(t);
  const { link, product, wallet } = await startSelling(service);
  const ledger = service.context.localLedger!.client;
  const pay = (amount: string) => ledger.pay({ to: wallet.address, amount, memo: link.memo });
  await pay('25');
  await service.api('PATCH', `/products/${product.id}`, { price: '30' });
  await pay('25');
  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  await pay('30');
  await service.api('PATCH', `/payment-links/${link.id}`, { active: true });
  await service.api('PATCH', `/products/${product.id}`, { active: false });
  await pay('30');
  await service.api('PATCH', `/products/${product.id}`, { active: true });
  await pay('30');
  await eventually(async () => (await paymentsOf(service)).length === 5, 'all payments');
  t.same(
    (await paymentsOf(service))
      .reverse()
      .map(({ status, reason }: { status: string; reason: string }) => [status, reason]),
    [
      ['COMPLETED', null],
      ['UNDERPAID', 'below_price'],
      ['REJECTED', 'link_inactive'],
      ['REJECTED', 'product_inactive'],
      ['COMPLETED', null],
    ],
  );
  t.equal(
    (await service.api('GET', `/payment-links/${link.id}`)).data.paymentCount,
    3,
    'rejected ones are not counted',
  );
});

t.test(
  'many wallets are read by the feed, few one by one again, and no payment is lost in either change',
  async (t) => {
    const service = await startTestService(t);
    const { link, wallet } = await startSelling(service);
    const ledger = service.context.localLedger!.client;
    const more: string[] = [];
    let paid = 0;
    const pay = async () => {
      await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
      paid += 1;
    };
    const seesAll = () =>
      eventually(async () => (await paymentsOf(service, '?pageSize=100')).length === paid, `${paid} payments`);
    await pay();
    for (let n = 0; n < 6; n++) {
      const { address } = await ledger.fund();
      more.push((await service.api('POST', '/wallets', { name: `W${n}`, address, network: 'LOCAL' })).data.id);
      await pay();
    }
    await seesAll();
    await eventually(() => service.context.stores.system.cursors.byId('LOCAL:feed'), 'the feed');
    await pay();
    await seesAll();
    for (const id of more) {
      await service.api('PATCH', `/wallets/${id}`, { active: false });
      await pay();
    }
    await eventually(async () => !(await service.context.stores.system.cursors.byId('LOCAL:feed')), 'no feed');
    await pay();
    await seesAll();
    t.equal((await paymentsOf(service, '?pageSize=100')).length, paid);
  },
);

t.test(
  'a wallet on a network that no source has shown yet says what is missing, and readiness within 30 s, until one shows it',
  async (t) => {
    let aheadMs = 0;
    const nowMs = () => Date.now() + aheadMs;
    const env = { NETWORKS: 'LOCAL,TESTNET', HORIZON_URLS_TESTNET: 'http://127.0.0.1:9' };
    const service = await startTestService(t, { env, clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
    const address = Keypair.random().publicKey();
    const silent = (await service.api('POST', '/wallets', { name: 'Silent', address, network: 'TESTNET' })).data;
    t.match(silent.sync.reason, /^no ledger source of TESTNET has shown a ledger yet/, 'from the first answer on');
    const { wallet } = await startSelling(service);
    await eventually(async () => (await syncOf(service, wallet.id)).state === 'OK', 'a first reading of the other');
    t.equal((await syncOf(service, wallet.id)).reason, null);
    await eventually(async () => /127\.0\.0\.1:9/.test((await syncOf(service, silent.id)).reason), 'the source’s name');
    aheadMs = 30_000;
    t.match(await syncOf(service, silent.id), { state: 'SYNCING', ledger: null, at: null });
    const ready = await fetch(`${service.url}/health/ready`);
    t.equal(ready.status, 503);
    t.match(
      ((await ready.json()) as { reasons: string[] }).reasons.join(),
      /TESTNET has not been read for 3\d s: .*127\.0\.0\.1:9/,
    );
    aheadMs = 61_000;
    t.equal((await syncOf(service, silent.id)).state, 'SYNCING', 'and stays so');
    const { networkStates } = service.context.stores.system;
    t.equal(await networkStates.byNetwork('TESTNET'), null, 'a trouble is not a state');
    const seen = { latestLedger: 1000, latestClosedAt: new Date(nowMs()), seenAt: new Date(nowMs()) };
    await networkStates.save('TESTNET', { ...seen, anchor: null, trouble: null });
    t.match(await syncOf(service, silent.id), { state: 'SYNCING', reason: null });
  },
);

t.test(
  'with Horizon away for 60 s by the clock a wallet is LAGGING and the service not ready, until it is back',
  async (t) => {
    let aheadMs = 0;
    const nowMs = () => Date.now() + aheadMs;
    const service = await startTestService(t, { clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
    const { wallet } = await startSelling(service);
    const { client } = service.context.localLedger!;
    const isReady = async () => (await fetch(`${service.url}/health/ready`)).status === 200;
    await eventually(async () => (await syncOf(service, wallet.id)).state === 'OK', 'a first reading');
    t.ok(await isReady());
    const lastHeard = async () =>
      (await service.context.stores.system.networkStates.byNetwork('LOCAL'))?.seenAt.getTime();
    await eventually(lastHeard, 'a first round');
    await client.faults.add({ kind: 'reset_connection', path: '/accounts' });
    await client.faults.add({ kind: 'reset_connection', path: '/ledgers' });
    await client.faults.add({ kind: 'html', path: '/', method: 'GET' });
    await eventually(async () => Date.now() - (await lastHeard())! > 2000, 'the end of the round that was under way');
    aheadMs = 61_000;
    await eventually(async () => (await syncOf(service, wallet.id)).state === 'LAGGING', 'lagging');
    t.notOk(await isReady());
    const { reasons } = (await (await fetch(`${service.url}/health/ready`)).json()) as { reasons: string[] };
    t.match(reasons[0], /^LOCAL has not been read for \d+ s/);
    await fetch(`${service.context.localLedger!.url}/faults`, { method: 'DELETE' });
    await eventually(async () => (await syncOf(service, wallet.id)).state === 'OK', 'back', 20_000);
    t.ok(await isReady());
  },
);
