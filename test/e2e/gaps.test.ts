/** Ledgers that a wallet missed are listed, read after all when a source has them, and no named
 *  source makes the service connect to an internal address. */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { LONG } from '../helpers/long.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const MINUTE_MS = 60_000;
let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const service = await startTestService(t, {
  clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) },
  // An audit would find by itself what was missed.
  env: { AUDIT_INTERVAL_HOURS: '0' },
});
const { client, url } = service.context.localLedger!;
const { link, wallet, product } = await startSelling(service);
const state = async () => (await service.api('GET', `/wallets/${wallet.id}`)).data.sync.state;
const gapsOf = async () => (await service.api('GET', `/wallets/${wallet.id}/gaps`)).data;
const paymentsOf = async () => (await service.api('GET', '/payments?pageSize=100')).data;
const mend = (body?: unknown, key?: string, { id } = wallet) =>
  service.api('POST', `/wallets/${id}/gaps/mend`, body, key);
/** Tries until a source shows the end of the gap: one that names no ledger counts as some
 *  behind. */
const mended = (...asked: Parameters<typeof mend>) =>
  eventually(async () => {
    const { data } = await mend(...asked);
    return data?.mended > 0 && data;
  }, 'a gap is mended');

/** Pays while no source answers, and has the ledgers dropped before one does. */
async function miss(amount: string, memo = link.memo): Promise<void> {
  const earlier = await gapsOf();
  const before = earlier.length;
  // Until a server has shown what comes after the last gap, the next one would be the same that
  // goes on.
  await eventually(async () => {
    const cursor = await service.context.stores.system.cursors.byId(`LOCAL:${wallet.address}`);
    return cursor !== null && cursor.shownLedger > (earlier[0]?.toLedger ?? 0);
  }, 'ledgers shown after the last gap');
  const away = await client.faults.add({ kind: 'unavailable', path: `/accounts/${wallet.address}/payments` });
  await client.pay({ to: wallet.address, amount, memo });
  const { sequence } = await client.status();
  await eventually(async () => (await client.status()).sequence > sequence + 1, 'ledgers after it');
  const dropped = await client.faults.add({ kind: 'retention', elderLedger: sequence + 2 });
  await client.faults.remove(away.id);
  await eventually(async () => (await gapsOf()).length > before, 'the gap', 60_000);
  t.equal((await mend()).status, 409, 'no source has the ledgers');
  await client.faults.remove(dropped.id);
}

t.test('missed ledgers are read later, their payments judged as of their ledger, and the gap ends', LONG, async (t) => {
  await client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf()).length === 1, 'the payment before');
  t.same((await mend()).data, { mended: 0, open: 0 }, 'nothing to mend');
  await miss('26');
  t.equal(await state(), 'GAP');
  await service.api('PATCH', `/products/${product.id}`, { price: '27' });
  // Made after the first gap: only the second one may hold its payment.
  const order = (await service.api('POST', '/checkouts', { productId: product.id })).data;
  await miss('27', order.memo);
  const gaps = await gapsOf();
  t.match(gaps, [
    { fromLedger: Number, toLedger: Number, at: String, mendedAt: null },
    { fromLedger: Number, toLedger: Number, at: String, mendedAt: null },
  ]);
  t.ok(gaps[0].fromLedger > gaps[1].toLedger + 1, 'each is a gap of its own, newest first');
  const told = await eventually(async () => {
    const { data } = await service.api('GET', '/events?type=wallet.gap&order=asc');
    return data.length === 2 && data;
  }, 'both are told');
  t.match(told[1].data, { wallet: { id: wallet.id }, fromLedger: gaps[0].fromLedger });

  aheadMs += Date.parse(order.expiresAt) - nowMs() + MINUTE_MS;
  await new Promise((resolve) => setTimeout(resolve, 3000));
  t.equal((await service.api('GET', `/checkouts/${order.id}`)).data.status, 'OPEN', 'not EXPIRED while a gap is open');

  t.same((await mend()).data, { mended: 2, open: 0 });
  t.same(
    (await paymentsOf()).map(({ amount, status, reason }: any) => [amount, status, reason]).toSorted(),
    [
      ['25', 'COMPLETED', null],
      ['26', 'COMPLETED', 'overpaid'],
      ['27', 'COMPLETED', null],
    ],
    'by the terms of then',
  );
  t.equal((await service.api('GET', `/checkouts/${order.id}`)).data.status, 'PAID');
  t.equal(await state(), 'OK');
  t.ok((await gapsOf()).every(({ mendedAt }: any) => mendedAt !== null));
  t.same((await mend()).data, { mended: 0, open: 0 }, 'mended once');
  t.equal((await paymentsOf()).length, 3);
});

t.test('payments from a Horizon that an account names are recorded for its own wallet only', async (t) => {
  const other = await service.openAccount('Other');
  const { address } = wallet;
  const theirs = (await service.api('POST', '/wallets', { name: 'Same', address, network: 'LOCAL' }, other.apiKey))
    .data;
  await eventually(
    async () => (await service.api('GET', `/wallets/${theirs.id}`, undefined, other.apiKey)).data.sync.state === 'OK',
    'watched by both',
  );
  await miss('28');
  const ofOther = async () =>
    (await service.api('GET', '/payments?status=UNMATCHED', undefined, other.apiKey)).data.filter(
      ({ amount }: any) => amount === '28',
    );
  t.same(await mended({ horizonUrl: url }), { mended: 1, open: 0 });
  t.equal((await paymentsOf()).filter(({ amount }: any) => amount === '28').length, 1);
  t.same(await ofOther(), [], 'a source named by one tenant does not affect another');
  t.equal((await mend({ horizonUrl: url }, other.apiKey)).status, 404, 'nor for a wallet of another account');
  t.same(await mended({}, other.apiKey, theirs), { mended: 1, open: 0 });
  t.equal((await ofOther()).length, 1);
  t.match((await mend({ horizonUrl: 'ftp://x.example' })).error, { details: [{ path: 'horizonUrl' }] });
});

t.test('a caller cannot make the service connect inside', async (t) => {
  const guarded = await startTestService(t, { role: 'api', env: { WEBHOOK_ALLOW_PRIVATE: 'false' } });
  const shop = await startSelling(guarded);
  const { system } = guarded.context.stores;
  const at = new Date();
  await guarded.context.stores.system.gaps.insert(
    [
      {
        _id: 'gap_1',
        accountId: guarded.accountId,
        walletId: shop.wallet.id,
        network: 'LOCAL',
        fromLedger: 1,
        toLedger: 2,
        at,
        readTo: null,
        mendedAt: null,
        isLost: false,
        lostSince: null,
      },
    ],
    undefined as never,
  );
  const path = `/wallets/${shop.wallet.id}/gaps/mend`;
  const plain = await guarded.api('POST', path, { horizonUrl: guarded.context.localLedger!.url });
  t.match([plain.status, plain.error?.details?.[0]?.path], [422, 'horizonUrl'], 'no plain http');
  let connections = 0;
  const inside = createServer(() => {
    connections += 1;
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  t.teardown(() => inside.close());
  const { port } = inside.address() as AddressInfo;
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0']) {
    const { status } = await guarded.api('POST', path, { horizonUrl: `https://${host}:${port}/` });
    t.equal(status, 409, host);
  }
  t.equal(connections, 0);
  t.same((await system.gaps.openOf(shop.wallet.id)).length, 1);
});

t.test(
  'a gap stays open until an answer shows its end: of machines behind one URL some are behind, or know nothing',
  async (t) => {
    await miss('31');
    const [gap] = await gapsOf();
    /** What the machine that gives pages of payments says, whatever the one says that names
     *  the ledgers. */
    let machine: 'even' | 'behind' | 'silent' | 'ignorant' = 'even';
    const proxy = createHttpServer(async (req, res) => {
      const upstream = await fetch(`${url}${req.url}`, { headers: { accept: 'application/json' } });
      const isPage = req.url!.includes('/payments') && machine !== 'even';
      const headers: Record<string, string> = { 'content-type': upstream.headers.get('content-type')! };
      if (machine !== 'silent') headers['latest-ledger'] = upstream.headers.get('latest-ledger')!;
      let [status, text] = [upstream.status, await upstream.text()];
      if (isPage && machine === 'ignorant') [status, text] = [404, '{"status":404}'];
      else if (isPage && !req.url!.includes('cursor=now')) text = JSON.stringify({ _embedded: { records: [] } });
      if (isPage && machine === 'behind') headers['latest-ledger'] = `${gap.toLedger - 1}`;
      res.writeHead(status, headers).end(text);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    t.teardown(() => proxy.close());
    const horizonUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    for (machine of ['behind', 'silent', 'ignorant'] as const) {
      t.same((await mend({ horizonUrl })).data, { mended: 0, open: 1 }, machine);
      t.equal(await state(), 'GAP', machine);
    }
    machine = 'even';
    t.same(await mended({ horizonUrl }), { mended: 1, open: 0 });
    t.equal((await paymentsOf()).filter(({ amount }: any) => amount === '31').length, 1, 'what it held is there');
  },
);
