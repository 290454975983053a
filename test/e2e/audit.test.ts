/** An audit proves that nothing was missed: it finds and records hidden payments, tells a
 *  difference to the stroop and once, and raises no false alarm. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import t, { type Test } from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { startTestLedger } from '../helpers/ledger.js';
import { IS_LONG, LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import {
  allNumbered,
  CLOSE_MS,
  eventually,
  startSelling,
  startTestService,
  type TestService,
} from '../helpers/service.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const database = await testDatabase(t);
const service = await startTestService(t, { database, clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
const { client } = service.context.localLedger!;
const auditsOf = async (id: string, at: TestService = service) => (await at.api('GET', `/wallets/${id}/audits`)).data;

/** Starts an audit and waits for its end. */
async function audit(id: string, at: TestService = service): Promise<any> {
  const started = await at.api('POST', `/wallets/${id}/audits`);
  if (started.status !== 201) throw new Error(JSON.stringify(started.error));
  return eventually(
    async () => (await auditsOf(id, at)).find((each: any) => each.id === started.data.id && each.status !== 'RUNNING'),
    'the end of the audit',
    30_000,
  );
}

const watch = async (address: string) =>
  (await service.api('POST', '/wallets', { name: address.slice(0, 6), address, network: 'LOCAL' })).data;
const paymentsOf = async (walletId: string) =>
  (await service.api('GET', `/payments?walletId=${walletId}&pageSize=100&status=UNMATCHED&status=COMPLETED`)).data;

const stroops = (amount: string): bigint => {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
  return BigInt(whole + fraction.padEnd(7, '0')) * (amount.startsWith('-') ? -1n : 1n);
};

t.test('whatever kind of money moves, every balance is explained', async (t) => {
  const parties = await openAccounts(client);
  const [shop, payer] = [parties.shop.publicKey(), parties.payer.publicKey()];
  const wallets = [await watch(shop), await watch(payer), await watch(parties.issuer)];
  const first = await audit(wallets[0].id);
  t.match(first, {
    status: 'PROVEN',
    missingPayments: 0,
    reason: null,
    openingSource: 'HISTORY',
    balanceSource: String,
  });
  t.equal((await audit(wallets[0].id)).fromLedger, first.toLedger, 'the next one goes on');
  await payEveryKind(client, parties);
  for (const wallet of wallets) {
    const { status, assets, missingPayments } = await audit(wallet.id);
    t.equal(status, 'PROVEN', JSON.stringify(assets));
    t.equal(missingPayments, 0);
    for (const { difference } of assets) t.equal(difference, '0');
    const told = (await service.api('GET', `/wallets/${wallet.id}/statement`)).data;
    for (const { assetCode, opening, closing, movements } of told.assets) {
      const sum = movements.reduce((all: bigint, { amount }: any) => all + stroops(amount), 0n);
      t.equal(stroops(opening) + sum, stroops(closing), assetCode);
      t.ok(movements.every(({ transactionHash }: any) => /^[0-9a-f]{64}$/.test(transactionHash)));
    }
  }
  const [own] = await auditsOf(wallets[0].id);
  t.equal(own.openingSource, 'PREVIOUS_AUDIT');
  t.ok(own.assets.every(({ movements }: any) => movements.received !== '0'));
  t.same(
    await service.context.stores.system.parkedRecords.list({ page: 1, pageSize: 5 }).then(({ items }) => items),
    [],
  );
});

t.test('a statement begins and ends with what was held, and every movement between explains it', async (t) => {
  const { address, secret } = await client.fund();
  const wallet = await watch(address);
  const payer = await client.fund();
  await client.pay({ to: address, amount: '25', memo: 'order 7', fromSecret: payer.secret });
  await eventually(async () => (await paymentsOf(wallet.id)).length === 1, 'the payment');
  const statement = async (query = '') => (await service.api('GET', `/wallets/${wallet.id}/statement${query}`)).data;
  t.match(await statement(), { walletId: wallet.id, from: wallet.createdAt, to: String });
  // Ledgers close on whole seconds: the payment's can be the second in which the wallet was made.
  const since = `from=${new Date(Date.parse(wallet.createdAt) - 1000).toISOString()}`;
  const whole = await statement(`?${since}`);
  const [payment] = await paymentsOf(wallet.id);
  t.equal(whole.assets.length, 1);
  // Ledgers here close several times a second, so what the account began with may be among them.
  t.match(whole.assets[0].movements.slice(-1), [
    {
      at: payment.ledgerClosedAt,
      ledger: payment.ledger,
      transactionHash: payment.transactionHash,
      operationId: payment.operationId,
      kind: 'received',
      amount: '25',
      counterparty: payer.address,
      memo: 'order 7',
      paymentId: payment.id,
    },
  ]);
  const { hash } = await client.pay({ to: payer.address, amount: '4.5', memo: 'back', fromSecret: secret });
  const sumOf = ({ movements }: any) => movements.reduce((sum: bigint, { amount }: any) => sum + stroops(amount), 0n);
  const after = await statement(`?${since}`);
  t.match(after.assets[0].movements.slice(-2), [
    { kind: 'fee', amount: '-0.00001', operationId: null, transactionHash: hash, memo: 'back', paymentId: null },
    { kind: 'sent', amount: '-4.5', counterparty: payer.address, transactionHash: hash, paymentId: null },
  ]);
  t.equal(stroops(after.assets[0].opening) + sumOf(after.assets[0]), stroops(after.assets[0].closing));
  t.equal(after.assets[0].opening, whole.assets[0].opening);
  t.equal(after.assets[0].closing, (await audit(wallet.id)).assets[0].closing);

  const cut = after.assets[0].movements.at(-1).at;
  const [early, late] = [await statement(`?${since}&to=${cut}`), await statement(`?from=${cut}`)];
  t.equal(early.assets[0].closing, late.assets[0].opening, 'one goes on where the other ends');
  t.same([...early.assets[0].movements, ...late.assets[0].movements], after.assets[0].movements);

  const path = `/api/v1/wallets/${wallet.id}/statement`;
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const file = await fetch(`${service.url}${path}?format=csv&${since}&to=${cut}`, { headers });
  t.match(file.headers.get('content-type'), /^text\/csv/);
  const lines = (await file.text()).split('\r\n');
  t.equal(
    lines[0],
    'assetCode,assetIssuer,at,ledger,transactionHash,operationId,kind,amount,counterparty,memo,paymentId,currency,value,rate',
  );
  t.match(
    lines.slice(1).map((line) => line.split(',')[6] ?? null),
    ['opening', ...early.assets[0].movements.map(({ kind }: any) => kind), 'closing', null],
  );
  const shown = 'format=csv&timeZone=Asia/Kolkata&separator=%3B&bom=true';
  const local = await fetch(`${service.url}${path}?${shown}&${since}&to=${cut}`, { headers });
  const cells = Buffer.from(await local.arrayBuffer())
    .toString('utf8')
    .split('\r\n');
  t.ok(cells[0]!.startsWith('\ufeffassetCode;assetIssuer;at;'));
  const times = [early.from, ...early.assets[0].movements.map(({ at }: any) => at), early.to];
  t.same(
    cells.slice(1, -1).map((line) => [line.split(';')[2]!.slice(-6), Date.parse(line.split(';')[2]!)]),
    times.map((time) => ['+05:30', Date.parse(time)]),
    'the same moments, by the clocks of the zone',
  );
  const day = await statement('?from=2020-03-01&to=2020-03-02&timeZone=Asia/Kolkata');
  t.match(day, { from: '2020-02-29T18:30:00.000Z', to: '2020-03-01T18:30:00.000Z' }, 'a date is a day of the zone');
  const future = new Date(Date.now() + 3_600_000).toISOString();
  t.match(await service.api('GET', `/wallets/${wallet.id}/statement?from=${future}`), {
    status: 400,
    error: { code: 'bad_request', message: /from/ },
  });
  t.equal(
    (await service.api('GET', `/wallets/${wallet.id}/statement?from=${cut}&to=2020-01-01T00:00:00Z`)).status,
    400,
  );
});

t.test('a statement is not empty because a Horizon no longer knows the account', async (t) => {
  const { url, client: other } = await startTestLedger(t, { uri: (await testDatabase(t)).uri, closeMs: CLOSE_MS });
  const [sound, forgetful] = [await startForgetful(t, url), await startForgetful(t, url)];
  const env = { HORIZON_URLS_LOCAL: `${forgetful.url},${sound.url}` };
  const shop = await startTestService(t, { env });
  const { address } = await other.fund();
  const { id } = (await shop.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  await other.pay({ to: address, amount: '7' });
  await eventually(
    async () => (await shop.api('GET', `/payments?walletId=${id}&status=UNMATCHED`)).data.some(isSeven),
    'the payment is read',
  );
  const statement = () => shop.api('GET', `/wallets/${id}/statement`);
  // A statement asks for ten seconds before it says that no source answers.
  for (const list of IS_LONG ? ['effects', 'operations', 'transactions'] : ['operations']) {
    forgetful.forgets.add(list);
    const told = await statement();
    t.equal(told.status, 200);
    t.ok(told.data.assets[0].movements.some(isSeven), `${list}: the other Horizon is asked`);
    sound.forgets.add(list);
    t.match(await statement(), { status: 503, error: { code: 'unavailable' } }, `${list}: no source can be asked`);
    for (const each of [sound, forgetful]) each.forgets.clear();
  }
  const unfunded = await shop.api('POST', '/wallets', { name: 'New', address: newAddress(), network: 'LOCAL' });
  t.match(
    await shop.api('GET', `/wallets/${unfunded.data.id}/statement`),
    { status: 200 },
    'one that is not there has none',
  );
});

const newAddress = () => Keypair.random().publicKey();
const isSeven = ({ amount }: { amount: string }) => amount === '7';

/** A Horizon that answers 404 for these lists of every account. */
async function startForgetful(t: Test, target: string) {
  const forgets = new Set<string>();
  const server = createServer(async (req, res) => {
    const list = /^\/accounts\/\w+\/(\w+)/.exec(req.url!)?.[1] ?? '';
    const found = await fetch(target + req.url!).catch(() => null);
    const latest = found?.headers.get('latest-ledger');
    res.writeHead(forgets.has(list) ? 404 : (found?.status ?? 502), {
      'content-type': 'application/json',
      ...(latest ? { 'latest-ledger': latest } : {}),
    });
    res.end(forgets.has(list) ? '{"status":404}' : await found?.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { forgets, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

t.test('an account that is not there is proven with zeros', async (t) => {
  const wallet = await watch(Keypair.random().publicKey());
  t.match(await audit(wallet.id), {
    status: 'PROVEN',
    assets: [{ assetCode: 'XLM', assetIssuer: null, opening: '0', closing: '0', computed: '0', difference: '0' }],
  });
});

t.test('fees of failed transactions count', async (t) => {
  const { address, secret } = await client.fund();
  const wallet = await watch(address);
  await audit(wallet.id);
  const tooMuch = Operation.payment({ destination: client.root.publicKey(), asset: Asset.native(), amount: '999999' });
  await t.rejects(client.submit({ from: Keypair.fromSecret(secret), operations: [tooMuch, tooMuch] }));
  const { status, assets } = await audit(wallet.id);
  t.equal(status, 'PROVEN');
  t.match(assets[0].movements, { sent: '0', fees: '0.00002' });
});

t.test(
  'hidden payments are recorded the ordinary way, once, and a planted difference is told to the stroop',
  async (t) => {
    const { wallet, link } = await startSelling(service);
    await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
    await eventually(async () => (await paymentsOf(wallet.id)).length === 1, 'the payment before');
    t.equal((await audit(wallet.id)).status, 'PROVEN');

    const hidden = await client.faults.add({ kind: 'hide', account: wallet.address });
    for (const memo of [link.memo, link.memo, null, link.memo, link.memo])
      await client.pay({ to: wallet.address, amount: '25', ...(memo === null ? {} : { memo }) });
    await new Promise((resolve) => setTimeout(resolve, 10 * CLOSE_MS));
    t.equal((await paymentsOf(wallet.id)).length, 1, 'no source shows them');
    const found = await audit(wallet.id);
    t.match(found, { status: 'PROVEN', missingPayments: 5, assets: [{ movements: { received: '125' } }] });
    const recorded = await paymentsOf(wallet.id);
    t.same(
      recorded.map(({ status }: any) => status),
      ['COMPLETED', 'COMPLETED', 'UNMATCHED', 'COMPLETED', 'COMPLETED', 'COMPLETED'],
    );
    const told = async (type: string) => (await service.api('GET', `/events?type=${type}`)).data;
    await allNumbered(service);
    t.equal((await told('payment.completed')).length, 5);
    await client.faults.remove(hidden.id);
    t.match(await audit(wallet.id), { status: 'PROVEN', missingPayments: 0 });
    t.equal((await paymentsOf(wallet.id)).length, 6, 'once');

    const buried = await client.faults.add({
      kind: 'hide',
      account: wallet.address,
      lists: ['payments', 'operations', 'effects'],
    });
    await client.pay({ to: wallet.address, amount: '3.0000001', memo: 'buried' });
    const running = await service.api('POST', `/wallets/${wallet.id}/audits`);
    t.equal(running.data.status, 'RUNNING');
    t.equal((await service.api('POST', `/wallets/${wallet.id}/audits`)).status, 409, 'one at a time');
    const different = await eventually(
      async () => {
        const [last] = await auditsOf(wallet.id);
        return last.status !== 'RUNNING' && last;
      },
      'the end',
      30_000,
    );
    t.match(different, {
      id: running.data.id,
      status: 'DIFFERENT',
      assets: [{ assetCode: 'XLM', difference: '3.0000001' }],
    });
    const events = await eventually(async () => {
      const data = await told('wallet.difference');
      return data.length > 0 && data;
    }, 'the event');
    t.equal(events.length, 1);
    t.match(events[0].data, { wallet: { id: wallet.id }, assets: different.assets });
    await client.pay({ to: wallet.address, amount: '1' });
    t.match(
      await audit(wallet.id),
      { status: 'DIFFERENT', assets: [{ difference: '1' }] },
      'each difference is told once',
    );
    await client.faults.remove(buried.id);
    t.match(await audit(wallet.id), { status: 'PROVEN' });
  },
);

t.test('what comes back to the issuer of an asset is found, though it changes no balance', async (t) => {
  const [issuer, holder] = [await client.fund(), await client.fund()];
  const gift = { assetCode: 'GIFT', assetIssuer: issuer.address };
  await client.trust({ secret: holder.secret, ...gift });
  await client.pay({ to: holder.address, amount: '100', ...gift, fromSecret: issuer.secret });
  const wallet = await watch(issuer.address);
  const redeem = (amount: string) => client.pay({ to: issuer.address, amount, ...gift, fromSecret: holder.secret });
  await redeem('5');
  await eventually(async () => (await paymentsOf(wallet.id)).length === 1, 'a payment');
  t.match(await audit(wallet.id), { status: 'PROVEN', missingPayments: 0 });
  for (const [amount, missingPayments] of [
    ['6', 1],
    ['7', 1],
  ] as const) {
    const hidden = await client.faults.add({ kind: 'hide', account: issuer.address });
    await redeem(amount);
    const other = await watch((await client.fund()).address);
    await client.pay({ to: other.address, amount: '1' });
    await eventually(async () => (await paymentsOf(other.id)).length === 1, 'a later payment');
    t.match(await audit(wallet.id), { status: 'PROVEN', missingPayments }, amount);
    await client.faults.remove(hidden.id);
  }
  t.same((await paymentsOf(wallet.id)).map(({ amount }: any) => amount).sort(), ['5', '6', '7']);
  t.match(await audit(wallet.id), { status: 'PROVEN', missingPayments: 0 }, 'once');

  const { parkedRecords } = service.context.stores.system;
  const now = new Date(nowMs());
  const unread = { network: 'LOCAL', reason: 'no paging token', raw: '{"type":"burn"}', ledger: null } as const;
  await parkedRecords.park([
    {
      ...{ ...unread, _id: 'LOCAL:unread', concerns: [issuer.address], mayPayIssuer: true, createdAt: now },
      ...{ closedFrom: new Date(0), payableUntil: now, tries: 0, nextTryAt: new Date(nowMs() + 3_600_000) },
      dismissed: null,
    },
  ]);
  const ended = audit(wallet.id);
  const held = { walletId: wallet.id, lateSince: { $ne: null } };
  const isHeld = async () => (await database.db.collection('audits').countDocuments(held)) > 0;
  await eventually(isHeld, 'a record of an unknown ledger holds the audit');
  await parkedRecords.remove('LOCAL:unread');
  t.match(await ended, { status: 'PROVEN' });
});

t.test(
  'an audit waits for a server that does not answer, goes on where it was, and says so when that lasts',
  LONG,
  async (t) => {
    const { wallet } = await startSelling(service);
    await client.pay({ to: wallet.address, amount: '25' });
    await eventually(async () => (await paymentsOf(wallet.id)).length === 1, 'the payment');
    // The pages of an audit that was cut off are not read again, and what they held is not
    // counted twice.
    const cut = await client.faults.add({
      kind: 'unavailable',
      path: `/accounts/${wallet.address}/transactions`,
      count: 3,
    });
    const { status, missingPayments } = await audit(wallet.id);
    t.match([status, missingPayments], ['PROVEN', 0]);
    await client.faults.remove(cut.id).catch(() => undefined);
    await client.pay({ to: wallet.address, amount: '26' });
    await eventually(async () => (await paymentsOf(wallet.id)).length === 2, 'the next payment');
    const away = await client.faults.add({ kind: 'unavailable', path: `/accounts/${wallet.address}/effects` });
    const ended = audit(wallet.id);
    await eventually(async () => (await client.faults.list())[0]!.hits > 0, 'it asks');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    aheadMs += 2 * 60_000;
    t.match(await ended, { status: 'FAILED', reason: String, assets: [], finishedAt: String });
    await client.faults.remove(away.id);
    t.match(await audit(wallet.id), { status: 'PROVEN', assets: [{ movements: { received: '26' } }] });
  },
);

t.test('audits run by themselves, and those of other accounts are not found', LONG, async (t) => {
  const { address } = await client.fund();
  const wallet = await watch(address);
  const other = await service.openAccount('Other');
  t.equal((await service.api('POST', `/wallets/${wallet.id}/audits`, undefined, other.apiKey)).status, 404);
  t.equal((await service.api('GET', `/wallets/${wallet.id}/audits`, undefined, other.apiKey)).status, 404);
  await eventually(async () => (await service.api('GET', `/wallets/${wallet.id}`)).data.sync.state === 'OK', 'watched');
  t.same(await auditsOf(wallet.id), []);
  const { wallets } = service.context.stores.system;
  await eventually(async () => (await wallets.withoutAuditPlan('LOCAL', 1)).length === 0, 'planned within the day');
  aheadMs += 24 * 3_600_000;
  await eventually(
    async () => (await auditsOf(wallet.id)).some(({ status }: any) => status === 'PROVEN'),
    'an audit',
    60_000,
  );
});

/** A service that reads one URL, whose answers to some paths are as of some ledgers ago, as if a
 *  server that is behind gave them. */
async function behindOneUrl(t: Test) {
  const { uri } = await testDatabase(t);
  const { url: target, ledger, client } = await startTestLedger(t, { uri, closeMs: CLOSE_MS });
  /** By how many ledgers the answer to a path is behind. */
  const routes = { lagOf: (_path: string): number => 0 };
  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const lag = routes.lagOf(req.url!);
    const fault = lag > 0 ? ledger.faults.add({ kind: 'lag', ledgers: lag }) : null;
    const { status, headers, body } = await fetch(target + req.url).then(async (answer) => ({
      status: answer.status,
      headers: answer.headers,
      body: await answer.text(),
    }));
    if (fault) ledger.faults.remove(fault.id);
    const latest = headers.get('latest-ledger');
    res.writeHead(status, {
      'content-type': headers.get('content-type')!,
      ...(latest ? { 'latest-ledger': latest } : {}),
    });
    res.end(body);
  }
  // One after the other: what the ledger is told for one answer would concern all.
  let answered = Promise.resolve();
  const server = createServer((req, res) => {
    answered = answered.then(() => answer(req, res)).catch(() => void res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const time = { aheadMs: 0 };
  const ownMs = () => Date.now() + time.aheadMs;
  const clock = { ...systemClock, nowMs: ownMs, now: () => new Date(ownMs()) };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = await startTestService(t, { clock, env: { HORIZON_URLS_LOCAL: url } });
  const { address } = await client.fund();
  const wallet = (await own.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  const payments = async () => (await own.api('GET', `/payments?walletId=${wallet.id}&status=UNMATCHED`)).data;
  const pay = async (count: number) => {
    await client.pay({ to: address, amount: '25' });
    await eventually(async () => (await payments()).length === count, `payment ${count}`);
  };
  return { own, wallet, ledger, routes, pay, time };
}

t.test('ledgers that a server lacks because it is behind, or has dropped them, are no difference', LONG, async (t) => {
  const { own, wallet, ledger, routes, pay, time } = await behindOneUrl(t);
  await pay(1);
  t.match(await audit(wallet.id, own), { status: 'PROVEN' });

  const lists = /\/(effects|transactions)\b/;
  await pay(2);
  routes.lagOf = (path) => (lists.test(path) ? 10 : 0);
  t.match(await audit(wallet.id, own), { status: 'PROVEN', assets: [{ movements: { received: '25' } }] }, 'it waits');

  await pay(3);
  routes.lagOf = (path) => (lists.test(path) ? 1_000_000 : 0);
  const ended = audit(wallet.id, own);
  await eventually(async () => (await auditsOf(wallet.id, own))[0].toLedger !== null, 'it reads');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  t.match((await auditsOf(wallet.id, own))[0], { status: 'RUNNING' }, 'nothing is told before');
  time.aheadMs += 2 * 60_000;
  t.match(await ended, { status: 'FAILED', reason: /does not show ledger \d+ yet/ });

  let isKept = true;
  routes.lagOf = (path) => {
    // The balances were taken, and what came before this very moment is dropped.
    if (isKept && path.includes('/effects')) {
      isKept = false;
      ledger.faults.add({ kind: 'retention', elderLedger: ledger.ledger.visible().latest - 1 });
    }
    return 0;
  };
  t.match(await audit(wallet.id, own), { status: 'PROVEN', openingSource: 'COMPUTED_BACK' });
  t.notOk(isKept);
});
