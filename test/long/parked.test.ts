/** Records of the ledger that cannot be had, or are of an unknown kind: nothing that they may have
 *  paid counts as unpaid, no other payment waits for them, and they are recorded, or dismissed, in
 *  the end. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { startProgram } from '../helpers/command.js';
import { startTestLedger } from '../helpers/ledger.js';
import { testDatabase } from '../helpers/mongo.js';
import { CLOSE_MS, eventually, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

type Json = Record<string, any>;
/** From now until the end of each checkout. */
const END_MS = 70_000;

/** Between a service and its ledger's Horizon. */
interface Odd {
  /** Transactions that pay these accounts cannot be had: no answer joins them, and by their hash
   *  they are 404. */
  lacking: Set<string>;
  /** Payments to these accounts are of an unknown type. */
  unknown: Set<string>;
  /** Operations that pay these accounts are 404 by their number. */
  missing: Set<string>;
}

async function startOdd(t: Test, target: string) {
  const odd: Odd = { lacking: new Set(), unknown: new Set(), missing: new Set() };
  const payeeByHash = new Map<string, string>();
  const burntIn = ({ asset_balance_changes: changes }: Json): string | undefined =>
    changes?.find(({ type }: Json) => type === 'burn')?.asset_issuer;
  const payeeOf = (record: Json): string => burntIn(record) ?? record.to ?? record.account ?? '';
  function spoil(record: Json): Json {
    const payee = payeeOf(record);
    if (record.transaction_hash && payee) payeeByHash.set(record.transaction_hash, payee);
    if (record.type !== 'payment' && !burntIn(record)) return record;
    const { transaction, ...lean } = record;
    const shown = odd.lacking.has(payee) ? lean : record;
    return odd.unknown.has(payee) ? { ...shown, type: 'teleport', type_i: 99 } : shown;
  }
  async function answer({ url, method }: IncomingMessage, res: ServerResponse): Promise<void> {
    const found = await fetch(target + url, { method: method! });
    let [status, body] = [found.status, await found.text()];
    const hash = /^\/transactions\/(\w+)/.exec(url!)?.[1];
    if (status === 200 && /^\/((accounts|transactions)\/\w+\/)?(payments|operations)\b/.test(url!)) {
      const json = JSON.parse(body);
      if (json._embedded) json._embedded.records = json._embedded.records.map(spoil);
      else if (odd.missing.has(payeeOf(json))) status = 404;
      body = JSON.stringify(json._embedded ? json : spoil(json));
    } else if (hash && odd.lacking.has(payeeByHash.get(hash) ?? '')) [status, body] = [404, '{"status":404}'];
    const latest = found.headers.get('latest-ledger');
    res.writeHead(status, { 'content-type': 'application/json', ...(latest ? { 'latest-ledger': latest } : {}) });
    res.end(body);
  }
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { odd, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function startShop(t: Test) {
  const database = await testDatabase(t, { own: true });
  const time = { aheadMs: 0 };
  const nowMs = () => Date.now() + time.aheadMs;
  const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
  const { url: target, client } = await startTestLedger(t, { uri: database.uri, closeMs: CLOSE_MS, clock });
  const { odd, url } = await startOdd(t, target);
  const env = { HORIZON_URLS_LOCAL: url };
  const service = await startTestService(t, { database, clock, env });
  const { api } = service;
  const open = async (key = service.apiKey) => {
    const { address } = await client.fund();
    const made = await api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' }, key);
    const { id } = made.data;
    const sync = async () => (await api('GET', `/wallets/${id}`, undefined, key)).data.sync;
    await eventually(async () => (await sync()).state === 'OK', 'the wallet is read');
    const payments = async () => (await api('GET', `/payments?walletId=${id}&status=UNMATCHED`, undefined, key)).data;
    const order = async () => {
      const fields = { walletId: id, name: 'Order', assetCode: 'XLM', amount: '50' };
      const expiresAt = new Date(nowMs() + END_MS).toISOString();
      const { data, error } = await api('POST', '/checkouts', { ...fields, expiresAt }, key);
      if (error) throw new Error(JSON.stringify(error));
      return data;
    };
    return { id, address, sync, payments, order };
  };
  const { parkedRecords } = service.context.stores.system;
  return {
    ...{ service, client, odd, time, open, parkedRecords },
    statusOf: async (id: string) => (await api('GET', `/checkouts/${id}`)).data.status,
    isParked: (count: number) =>
      eventually(async () => (await parkedRecords.count(['LOCAL'])) === count, `${count} are parked`),
    cli: (args: string[]) =>
      startProgram('src/cli/main.ts', args, {
        env: { ...env, MONGODB_URI: database.uri, DATA_DIR: service.dataDir, SECRETS_KEY: TEST_SECRETS_KEY },
      }).ended,
    /** Lets time pass until what is parked was tried again. */
    async retried(count: number) {
      await eventually(async () => {
        time.aheadMs += 5000;
        return (await parkedRecords.count(['LOCAL'])) === count;
      }, `${count} are left`);
    },
    async audit(id: string) {
      const started = await api('POST', `/wallets/${id}/audits`);
      return eventually(async () => {
        time.aheadMs += 2000;
        const { data } = await api('GET', `/wallets/${id}/audits`);
        return data.find((each: Json) => each.id === started.data.id && each.status !== 'RUNNING');
      }, 'the end of the audit');
    },
  };
}

/** A while after a checkout's end another wallet's, which ends at the same time, is EXPIRED. */
async function passEnd({ time, statusOf }: Awaited<ReturnType<typeof startShop>>, other: string) {
  time.aheadMs += END_MS + 5000;
  await eventually(async () => (await statusOf(other)) === 'EXPIRED', 'the other checkout ends');
  time.aheadMs += END_MS;
  await new Promise((resolve) => setTimeout(resolve, 2500));
}

t.test(
  'a checkout whose payment cannot be had yet stays OPEN beyond its end, and is PAID once it is there',
  async (t) => {
    const shop = await startShop(t);
    const { client, odd, open, statusOf, isParked } = shop;
    const [wallet, other] = [await open(), await open()];
    odd.lacking.add(wallet.address);
    const [checkout, unpaid] = [await wallet.order(), await other.order()];
    await client.pay({ to: wallet.address, amount: '50', memo: checkout.memo });
    await isParked(1);
    await passEnd(shop, unpaid.id);
    t.equal(await statusOf(checkout.id), 'OPEN');
    t.match([await wallet.sync(), await other.sync()], [{ parked: 1 }, { parked: 0 }]);
    odd.lacking.clear();
    await shop.retried(0);
    await eventually(async () => (await statusOf(checkout.id)) === 'PAID', 'it is paid');
    t.match(await wallet.sync(), { state: 'OK', parked: 0 });
  },
);

t.test(
  'a record of an unknown kind keeps checkouts OPEN that it may have paid, until the operator dismisses it',
  async (t) => {
    const shop = await startShop(t);
    const { client, odd, open, statusOf, isParked, parkedRecords, cli } = shop;
    const [wallet, other] = [await open(), await open()];
    const [checkout, unpaid] = [await wallet.order(), await other.order()];
    odd.unknown.add(wallet.address);
    await client.pay({ to: wallet.address, amount: '50', memo: checkout.memo });
    await isParked(1);
    await passEnd(shop, unpaid.id);
    t.equal(await statusOf(checkout.id), 'OPEN');
    t.match(await wallet.sync(), { parked: 1 });
    const later = await wallet.order();
    const { _id: id } = (await parkedRecords.list({ page: 1, pageSize: 1 })).items[0]!;
    const why = 'It came from ourselves.';
    const { stdout, code } = await cli(['parked', 'dismiss', id, '--why', why, '--json']);
    t.match([code, JSON.parse(stdout)], [0, { dismissed: { id, why } }]);
    await eventually(async () => {
      shop.time.aheadMs += 5000;
      return (await statusOf(checkout.id)) === 'EXPIRED';
    }, 'it is EXPIRED');
    await eventually(async () => {
      shop.time.aheadMs += 5000;
      return (await statusOf(later.id)) === 'EXPIRED';
    }, 'and so is the later one');
    t.match(await wallet.sync(), { parked: 0 });
    const listed = JSON.parse((await cli(['parked', 'list', '--dismissed', '--json'])).stdout);
    t.match(listed.parked, [{ id, dismissed: { why } }]);
    const again = await cli(['parked', 'dismiss', id, '--why', 'twice']);
    t.match([again.code, again.stderr], [1, `There is no open record ${id}.\n`]);
  },
);

t.test('no audit is PROVEN over a credit that is parked, or that no answer shows', async (t) => {
  const shop = await startShop(t);
  const { client, odd, open, isParked, audit } = shop;
  for (const kind of ['lacking', 'unknown'] as const) {
    const wallet = await open();
    t.match(await audit(wallet.id), { status: 'PROVEN' });
    odd[kind].add(wallet.address);
    await client.pay({ to: wallet.address, amount: '7' });
    await isParked(1);
    t.match(await audit(wallet.id), { status: 'FAILED', reason: /parked: 1/ }, kind);
    odd[kind].clear();
    await shop.retried(0);
    t.match(await wallet.payments(), [{ amount: '7' }]);
    t.match(await audit(wallet.id), {
      status: 'PROVEN',
      missingPayments: 0,
      assets: [{ movements: { received: '7' } }],
    });
  }
  const wallet = await open();
  odd.missing.add(wallet.address);
  const hidden = await client.faults.add({ kind: 'hide', account: wallet.address });
  await client.pay({ to: wallet.address, amount: '7' });
  // Something later shows that the server goes on behind it.
  await open();
  t.match(await audit(wallet.id), { status: 'FAILED', reason: /cannot be read: 1/ });
  odd.missing.clear();
  t.match(await audit(wallet.id), { status: 'PROVEN', missingPayments: 1 });
  await client.faults.remove(hidden.id);
});

t.test('no audit of an issuer is PROVEN over a parked burn, which no balance shows', async (t) => {
  const shop = await startShop(t);
  const { client, odd, open, isParked, audit } = shop;
  const issuer = await open();
  odd.lacking.add(issuer.address);
  const burn = { to: issuer.address, assetCode: 'GIFT', assetIssuer: issuer.address };
  await client.payByContract({ ...burn, amount: '7' });
  await isParked(1);
  t.match(await audit(issuer.id), { status: 'FAILED', reason: /parked: 1/ });
  odd.lacking.clear();
  await shop.retried(0);
  t.match(await issuer.payments(), [{ amount: '7', assetCode: 'GIFT' }]);
  t.match(await audit(issuer.id), { status: 'PROVEN', missingPayments: 0 });
});

t.test('a record that cannot be had keeps no other tenant waiting', async (t) => {
  const { service, client, odd, open } = await startShop(t);
  const [first, second, third] = [await open(), await open((await service.openAccount()).apiKey), await open()];
  odd.lacking.add(first.address);
  for (let round = 1; round <= 3; round++) {
    await client.pay({ to: first.address, amount: '1' });
    const sinceMs = Date.now();
    for (const { address } of [second, third]) await client.pay({ to: address, amount: '1' });
    for (const { payments } of [second, third])
      await eventually(async () => (await payments()).length === round, 'the payment of another', 120_000);
    const seconds = (Date.now() - sinceMs) / 1000;
    t.comment(`round ${round}: ${seconds} s`);
    t.ok(seconds < 5, `${seconds} s`);
  }
});
