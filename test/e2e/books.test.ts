/** Reports and exports are exact, of one moment, and end when the client stops reading. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import t from 'tap';
import { seed } from '../../scripts/bench/seed.js';
import { registerExportCommands } from '../../src/cli/export.js';
import { createProgram } from '../../src/cli/program.js';
import { calendarOf } from '../../src/kit/calendar.js';
import type { Caller } from '../../src/kit/caller.js';
import { systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createExportService } from '../../src/selling/exports.js';
import { createReportService } from '../../src/selling/reports.js';
import { createStores } from '../../src/stores.js';
import { request } from '../helpers/api.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const { uri, db } = await testDatabase(t);
const service = await startTestService(t, { database: { uri } });
const ledger = service.context.localLedger!.client;
const { wallet, product, link } = await startSelling(service);
const payments = db.collection<any>('payments');

const download = (path: string, key = service.apiKey) =>
  fetch(`${service.url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
const rowsOf = (csv: string): Record<string, string>[] => parse(csv, { columns: true });
const report = (query: string, key?: string) => service.api('GET', `/reports/summary?${query}`, undefined, key);

let made = 0;
/** Payments of an account of their own, made from one that came over the ledger. */
async function paid(rows: Record<string, unknown>[]) {
  const other = await service.openAccount();
  const template = await payments.findOne({ walletId: wallet.id });
  await payments.insertMany(
    rows.map((row, n) => ({
      ...template,
      _id: `${template._id}${n}${other.accountId.slice(-6)}`,
      operationId: `${++made}`,
      ...row,
      accountId: other.accountId,
    })),
  );
  return other;
}

t.before(async () => {
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await service.api('GET', '/payments')).data.length === 1, 'the first payment');
});

async function openTenants(t: { teardown(end: () => unknown): void }) {
  const { connection, close } = await connectDatabase(uri);
  t.teardown(close);
  return createStores(connection, { clock: systemClock, newId: createIds(systemClock) });
}

t.test('a summary ends with the request that wants it', async (t) => {
  const { forAccount } = await openTenants(t);
  const sums = (signal: AbortSignal) =>
    forAccount(service.accountId).payments.sums(
      { groupBy: 'day', offsets: calendarOf('UTC')!.offsets, status: ['COMPLETED'], maxRows: 10, maxMs: 9000 },
      signal,
    );
  t.equal((await sums(new AbortController().signal)).length, 1);
  await t.rejects(sums(AbortSignal.abort(new Error('hung up'))), { message: 'hung up' });
});

t.test('payments, or taxes, take longer to add up than a report may → it asks for a shorter time', async (t) => {
  const { forAccount } = await openTenants(t);
  const many = Array.from({ length: 1000 }, (_, n) => n);
  const { accountId } = await paid(many.map(() => ({})));
  const lines = Array.from({ length: 10 }, () => ({ taxPercent: '19', net: '10', tax: '1.9' }));
  const order = { accountId, status: 'PAID', paidAt: new Date(), assetCode: 'XLM', assetIssuer: null, lines };
  await db.collection<any>('checkouts').insertMany(many.map((n) => ({ ...order, _id: `cho_${n}`, memo: `TAXED${n}` })));

  const tenant = forAccount(accountId);
  const byDay = { groupBy: 'day', offsets: calendarOf('UTC')!.offsets, maxMs: 1 } as const;
  await t.rejects(tenant.payments.sums({ ...byDay, status: ['COMPLETED'], maxRows: 10 }), { code: 50 });
  await t.rejects(tenant.checkouts.taxes(byDay), { code: 50 });
  const caller: Caller = { accountId, keyId: 'key', scope: 'FULL' };
  const asked = { groupBy: 'day', timezone: 'UTC', taxes: true } as const;
  await t.rejects(createReportService({ forAccount, maxMs: 1 }).summary(caller, asked), {
    code: 'bad_request',
    message: /^Too many payments to add up in time/,
  });
  t.match(await createReportService({ forAccount }).summary(caller, asked), [
    { count: many.length, taxes: [{ net: '100000' }] },
  ]);
});

t.test('sums are exact beyond 64 bits, and assets are never added up', async (t) => {
  const most = '922337203685.4775807';
  const closedAt = new Date('2026-03-10T12:00:00Z');
  const issuer = wallet.address;
  const { apiKey } = await paid([
    { amount: most, ledgerClosedAt: closedAt },
    { amount: most, ledgerClosedAt: closedAt },
    { amount: '0.0000001', ledgerClosedAt: closedAt, refundedAmount: '0.0000001' },
    { amount: '1000', ledgerClosedAt: closedAt, assetCode: 'XLM', assetIssuer: issuer },
    { amount: '7', ledgerClosedAt: closedAt, status: 'UNMATCHED', productId: null, paymentLinkId: null },
  ]);
  const { data } = await report('groupBy=month', apiKey);
  t.same(data, [
    {
      key: '2026-03',
      assetCode: 'XLM',
      assetIssuer: null,
      count: 3,
      amount: '1844674407370.9551615',
      refundedAmount: '0.0000001',
    },
    { key: '2026-03', assetCode: 'XLM', assetIssuer: issuer, count: 1, amount: '1000', refundedAmount: '0' },
  ]);
  const byAsset = (await report('groupBy=asset', apiKey)).data;
  t.same(
    byAsset.map(({ key }: any) => key),
    ['XLM', `XLM:${issuer}`],
  );
  const unmatched = (await report('groupBy=product&status=UNMATCHED', apiKey)).data;
  t.same(
    unmatched.map(({ key, amount }: any) => [key, amount]),
    [[null, '7']],
    'only when asked for',
  );
  t.same(
    (await report('groupBy=paymentLink', apiKey)).data.map(({ key }: any) => key),
    [link.id, link.id],
  );
  t.same((await report('groupBy=status', apiKey)).data[0].key, 'COMPLETED');
  t.same(
    (await report('')).data.map(({ count, amount }: any) => [count, amount]),
    [[1, '25']],
    'only of the caller',
  );
});

t.test('the parts of paid orders are counted when asked for, each once', async (t) => {
  const other = await service.openAccount();
  const api = <Data = any>(method: string, path: string, body?: unknown) =>
    service.api<Data>(method, path, body, other.apiKey);
  const { address } = await ledger.fund();
  const till = (await api('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' })).data;
  const order = async (price: object) =>
    (await api('POST', '/checkouts', { walletId: till.id, name: 'Order', assetCode: 'XLM', ...price })).data;
  const part = async ({ id, memo }: { id: string; memo: string }, amount: string, nth: number) => {
    await ledger.pay({ to: address, amount, memo });
    await eventually(async () => (await api('GET', `/payments?checkoutId=${id}`)).data.length === nth, 'the part');
  };
  const sums = async (query: string) => {
    const { status, data } = await api('GET', `/reports/summary?${query}`);
    t.equal(status, 200, query);
    return data.map(({ key, count, amount, refundedAmount, value }: any) => [
      key,
      count,
      amount,
      refundedAmount,
      value,
    ]);
  };
  const parts = 'status=COMPLETED&parts=true';

  const open = await order({ amount: '10' });
  await part(open, '3', 1);
  t.same(await sums(`groupBy=asset&${parts}`), [], 'a part of an open order is nothing yet');
  const paid = await order({ amount: '10' });
  await part(paid, '4', 1);
  await part(paid, '6', 2);
  t.same(await sums('groupBy=asset&status=COMPLETED'), [['XLM', 1, '6', '0', undefined]]);
  t.same(await sums(`groupBy=asset&${parts}`), [['XLM', 2, '10', '0', undefined]]);
  t.same(await sums('groupBy=asset&parts=false&status=COMPLETED'), [['XLM', 1, '6', '0', undefined]]);
  t.same(await sums('groupBy=asset&parts=true'), [['XLM', 3, '13', '0', undefined]], 'no part counts twice');
  t.same(await sums(`groupBy=asset&${parts}&status=UNDERPAID`), [['XLM', 3, '13', '0', undefined]]);
  t.same(await sums('groupBy=asset&parts=true&status=REJECTED'), [['XLM', 1, '4', '0', undefined]]);
  t.same(await sums(`groupBy=status&${parts}`), [
    ['COMPLETED', 1, '6', '0', undefined],
    ['UNDERPAID', 1, '4', '0', undefined],
  ]);
  t.same(await sums(`groupBy=day&${parts}&to=2020-01-01`), []);
  t.equal(
    (await sums(`groupBy=day&${parts}`)).reduce((all: number, row: any) => all + Number(row[2]), 0),
    10,
  );

  const inEuro = await order({ currency: 'EUR', price: '10' });
  await part(inEuro, '10', 1);
  await part(inEuro, '30', 2);
  t.same(await sums(`groupBy=asset&${parts}&currency=EUR`), [['XLM', 4, '50', '0', '10']], 'with their values');
  t.same(await sums('groupBy=asset&status=COMPLETED&currency=EUR'), [['XLM', 2, '36', '0', '7.5']]);

  await api('POST', `/checkouts/${open.id}/accept`);
  t.same(await sums(`groupBy=asset&${parts}`), [['XLM', 5, '53', '0', undefined]], 'what was accepted is COMPLETED');
  t.match(await api('GET', '/reports/summary?parts=1'), { status: 400, error: { message: /parts/ } });
});

t.test('a day begins and ends where the time zone says, also when its clocks are changed', async (t) => {
  const at = (time: string) => ({ amount: '1', ledgerClosedAt: new Date(time) });
  // On this Sunday Berlin's clocks go from 2 to 3 o'clock: the day has 23 hours.
  const { apiKey } = await paid([
    at('2026-03-28T22:59:59Z'),
    at('2026-03-28T23:00:00Z'),
    at('2026-03-29T21:59:59Z'),
    at('2026-03-29T22:00:00Z'),
  ]);
  const days = async (query: string) => (await report(query, apiKey)).data.map(({ key, count }: any) => [key, count]);
  const berlin = 'timezone=Europe/Berlin';
  t.same(await days(berlin), [
    ['2026-03-28', 1],
    ['2026-03-29', 2],
    ['2026-03-30', 1],
  ]);
  t.same(await days(`${berlin}&from=2026-03-29&to=2026-03-30`), [['2026-03-29', 2]]);
  t.same(await days('from=2026-03-28T23:00:00Z&to=2026-03-29T21:59:59Z'), [['2026-03-28', 1]]);
  t.same(await days('timezone=%2B02:00&groupBy=month'), [['2026-03', 4]]);
  const other = await paid([
    ...[at('2026-07-01T13:29:59Z'), at('2026-07-01T13:30:00Z'), at('2026-07-01T18:14:59Z')],
    ...[at('2026-07-01T18:15:00Z'), at('2026-07-01T18:30:00Z')],
  ]);
  for (const [timezone, first, second] of [
    // Off by whole hours only in summer.
    ['Australia/Lord_Howe', 1, 4],
    ['Asia/Kathmandu', 3, 2],
    ['Asia/Kolkata', 4, 1],
    ['%2B05:30', 4, 1],
  ] as const) {
    const { data } = await report(`timezone=${timezone}`, other.apiKey);
    t.same(
      data.map(({ key, count }: any) => [key, count]),
      [
        ['2026-07-01', first],
        ['2026-07-02', second],
      ],
      timezone,
    );
  }
  for (const [timezone, times, expected] of [
    // It is midnight twice: the day begins at the first.
    [
      'America/Havana',
      ['2027-11-07T03:59:59Z', '2027-11-07T04:00:00Z', '2027-11-07T05:00:00Z', '2027-11-08T05:00:00Z'],
      { '2027-11-06': 1, '2027-11-07': 2, '2027-11-08': 1 },
    ],
    // No winter time any more, by a law that is younger than MongoDB's table.
    ['America/Asuncion', ['2026-07-01T02:59:59Z', '2026-07-01T03:00:00Z'], { '2026-06-30': 1, '2026-07-01': 1 }],
    // By minutes, where nothing coarser fits.
    ['-00:17', ['2026-07-01T00:16:59Z', '2026-07-01T00:17:00Z'], { '2026-06-30': 1, '2026-07-01': 1 }],
  ] as const) {
    const { apiKey } = await paid(times.map(at));
    const zone = `timezone=${encodeURIComponent(timezone)}`;
    const rows = async (query: string) =>
      Object.fromEntries((await report(query, apiKey)).data.map(({ key, count }: any) => [key, count]));
    t.same(await rows(zone), expected, timezone);
    for (const [day, count] of Object.entries(expected)) {
      const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
      t.same(await rows(`${zone}&from=${day}&to=${next}`), { [day]: count }, `${timezone} ${day}`);
    }
  }
  for (const zone of ['utc', 'UTC', 'Z']) t.equal((await report(`timezone=${zone}`)).status, 200, zone);
  for (const zone of ['+99:99', '+14:01', '-23:00']) {
    t.equal((await report(`timezone=${encodeURIComponent(zone)}`)).status, 400, zone);
  }
  t.match((await report('timezone=Europe/Atlantis')).error, { code: 'bad_request', message: /timezone/ });
  for (const wrong of ['timezone=%00', 'from=yesterday', 'groupBy=year', 'status=PAID']) {
    t.equal((await report(wrong)).status, 400, wrong);
  }
});

t.test(
  'an export has every payment of the list, oldest first, and no cell that a spreadsheet would calculate',
  async (t) => {
    const memos = [
      '=HYPERLINK("https://x.example")',
      '+1+1',
      '-5.5',
      '@SUM(A1)',
      ' =1',
      'a "quoted", text\r\nof two lines',
      'ä€',
      '\t1',
    ];
    const { apiKey } = await paid(memos.map((memo) => ({ memo })));
    const answer = await download('/payments/export?format=csv', apiKey);
    t.equal(answer.status, 200);
    t.match(answer.headers.get('content-type'), /^text\/csv; charset=utf-8/);
    t.match(answer.headers.get('content-disposition'), /payments\.csv/);
    const csv = await answer.text();
    t.match(csv, /^id,status,[\w,]+\r\n/);
    const rows = rowsOf(csv);
    t.same(
      rows.map(({ memo }) => memo),
      memos.map((memo) => (/^[\s]*[=+@]|^\t/.test(memo) ? `'${memo}` : memo)),
    );
    const { data } = await service.api('GET', '/payments', undefined, apiKey);
    const { product: _product, ...shown } = data.at(-1);
    for (const [field, value] of Object.entries(shown)) {
      const text = value === null ? '' : Array.isArray(value) ? JSON.stringify(value) : String(value);
      if (field !== 'memo') t.equal(rows[0]![field], text, field);
    }
    t.ok('productId' in rows[0]! && 'productName' in rows[0]!);
    const lines = (await (await download('/payments/export?format=jsonl', apiKey)).text()).trimEnd().split('\n');
    t.same(
      lines.map((line) => JSON.parse(line)),
      data.toReversed(),
      'a line of JSONL is what the list shows',
    );
  },
);

t.test(
  'the filters of the list hold, a READ key may export, and what is wrong is answered in the envelope',
  async (t) => {
    const { apiKey, accountId } = await service.openAccount();
    const { data: reader } = await service.api('POST', '/api-keys', { name: 'reader', scope: 'READ' });
    const own = rowsOf(await (await download('/payments/export', reader.key)).text());
    t.equal(own.length, 1);
    t.match(own[0], { productId: product.id, productName: 'T-shirt', amount: '25', status: 'COMPLETED' });
    t.equal(rowsOf(await (await download('/payments/export?status=UNMATCHED')).text()).length, 0);
    t.equal(
      rowsOf(await (await download(`/payments/export?walletId=${wallet.id}`, apiKey)).text()).length,
      0,
      'not for strangers',
    );
    t.ok(accountId);
    t.equal((await download('/payments/export', 'sk_wrong')).status, 401);
    for (const wrong of ['format=xlsx', 'status=PAID', 'createdFrom=then', 'format=csv&format=jsonl']) {
      const answer = await request(service.url, 'GET', `/payments/export?${wrong}`, {
        headers: { authorization: `Bearer ${service.apiKey}` },
      }).catch((error) => error);
      t.match(answer.error, { code: 'bad_request' }, wrong);
    }
    const head = await fetch(`${service.url}/api/v1/payments/export`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${service.apiKey}` },
    });
    t.equal(head.status, 200);
  },
);

t.test('checkouts are exported with what the list shows of them', async (t) => {
  const made = await service.api('POST', '/checkouts', {
    productId: product.id,
    reference: '=1+1',
    metadata: { cart: 'c,1' },
  });
  const [row] = rowsOf(await (await download('/checkouts/export')).text());
  t.match(row, {
    id: made.data.id,
    reference: "'=1+1",
    metadata: '{"cart":"c,1"}',
    productId: product.id,
    walletId: wallet.id,
    walletAddress: wallet.address,
    remainingAmount: '25',
  });
  const lines = (await (await download('/checkouts/export?format=jsonl&status=OPEN')).text()).trimEnd().split('\n');
  t.same(JSON.parse(lines[0]!), made.data);
});

t.test(
  "a payment's row says for which order, customer and cashier it came, and what of its value went back",
  async (t) => {
    const other = await service.openAccount();
    const api = (method: string, path: string, body?: unknown) => service.api(method, path, body, other.apiKey);
    const { address } = await ledger.fund();
    const till = (await api('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' })).data;
    const order = { walletId: till.id, name: 'Two chairs', assetCode: 'XLM', amount: '30', reference: '=1042' };
    const checkout = (await api('POST', '/checkouts', { ...order, customerEmail: 'ana@customer.example' })).data;
    const cashier = (await api('POST', '/users', { name: 'Kim', role: 'CASHIER' })).data;
    const value = { currency: 'EUR', amount: '10', rate: '0.3333333', rateAt: new Date(), source: 'own' };
    const template = await payments.findOne({ walletId: wallet.id });
    const sale = {
      accountId: other.accountId,
      walletId: till.id,
      checkoutId: checkout.id,
      soldBy: cashier.id,
      amount: '30',
    };
    await payments.insertMany(
      [
        { ...sale, value, refundedAmount: '7' },
        { ...sale, value, refundedAmount: '30' },
        { ...sale, value },
        { ...sale, refundedAmount: '1' },
        { ...sale, value, refundedAmount: '1', status: 'REJECTED' },
        { ...sale, soldBy: 'user_gone', checkoutId: null },
      ].map((row, n) => ({ ...template, ...row, _id: `${template._id}r${n}`, operationId: `${++made}` })),
    );
    const rows = rowsOf(await (await download('/payments/export', other.apiKey)).text());
    t.match(rows[0], {
      checkoutReference: "'=1042",
      checkoutName: 'Two chairs',
      customerEmail: 'ana@customer.example',
      soldBy: cashier.id,
      soldByName: 'Kim',
      refundedAmount: '7',
    });
    t.same(
      rows.map(({ value, refundedValue }) => [value, refundedValue]),
      [
        ['10', '2.34'],
        ['10', '10'],
        ['10', '0'],
        ['', ''],
        ['', ''],
        ['', ''],
      ],
      'the value less that of what is left, which is rounded down',
    );
    t.match(rows[5], {
      checkoutReference: '',
      checkoutName: '',
      customerEmail: '',
      soldBy: 'user_gone',
      soldByName: '',
    });
    await db.collection<any>('checkouts').updateOne({ _id: checkout.id }, { $set: { soldBy: cashier.id } });
    const [sold] = rowsOf(await (await download('/checkouts/export', other.apiKey)).text());
    t.match(sold, { id: checkout.id, soldBy: cashier.id, soldByName: 'Kim' });
  },
);

t.test('a file is in the time zone, with the separator and mark, that its reader asks for', async (t) => {
  const at = (time: string) => ({ createdAt: new Date(time), ledgerClosedAt: new Date(time), memo: 'a;b' });
  const { apiKey } = await paid([at('2026-03-28T22:59:59Z'), at('2026-03-29T00:59:59Z'), at('2026-03-29T01:00:00Z')]);
  const text = async (query: string) => {
    const answer = await download(`/payments/export?${query}`, apiKey);
    return Buffer.from(await answer.arrayBuffer()).toString('utf8');
  };
  const berlin = await text('timeZone=Europe/Berlin&separator=%3B&bom=true');
  t.ok(berlin.startsWith('\ufeffid;status;'), 'Excel takes it for UTF-8 in columns');
  const rows: Record<string, string>[] = parse(berlin, { columns: true, bom: true, delimiter: ';' });
  t.same(
    rows.map(({ ledgerClosedAt, createdAt, memo }) => [ledgerClosedAt, createdAt, memo]),
    ['2026-03-28T23:59:59.000+01:00', '2026-03-29T01:59:59.000+01:00', '2026-03-29T03:00:00.000+02:00'].map((time) => [
      ...[time, time],
      'a;b',
    ]),
  );
  t.equal(await text('timeZone=UTC&separator=,&bom=false'), await text(''), 'without them it is as ever');
  const times = async (query: string) => rowsOf(await text(query)).map(({ createdAt }) => createdAt);
  t.same(await times('createdFrom=2026-03-28&createdTo=2026-03-29'), []);
  for (const wrong of [
    'timeZone=Europe/Atlantis',
    'timeZone=',
    'separator=%7C',
    'separator=',
    'bom=1',
    'timeZone=a&timeZone=b',
  ]) {
    for (const path of ['/payments/export', '/checkouts/export', `/wallets/${wallet.id}/statement`]) {
      t.match(await service.api('GET', `${path}?${wrong}`), { status: 400, error: { code: 'bad_request' } }, wrong);
    }
  }
});

const many = await service.openAccount();
t.test(
  'a long export is of the moment of its request, whatever is paid and decided while it is read',
  LONG,
  async (t) => {
    const { apiKey, accountId } = many;
    // More products than an export remembers.
    await seed(db, accountId, { payments: 20_000, links: 50, products: 1500, events: 0, deliveries: 0 });
    const products = await db.collection<{ _id: string; name: string }>('products').find({ accountId }).toArray();
    const nameOf = new Map(products.map(({ _id, name }) => [_id, name]));
    const before = await payments.countDocuments({ accountId, status: { $ne: 'UNMATCHED' } });
    // Read slowly: the answer is far longer than what fits between server and client.
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await new Promise<http.IncomingMessage>((resolve, reject) =>
      http.get(`${service.url}/api/v1/payments/export?format=jsonl`, { headers }, resolve).on('error', reject),
    );
    response.pause();
    await payments.updateMany({ accountId }, { $set: { status: 'REJECTED', amount: '1' } });
    await payments.deleteMany({ accountId, assetCode: 'USDC' });
    let text = '';
    for await (const chunk of response) text += chunk;
    const rows: any[] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    t.equal(rows.length, before);
    t.ok(rows.every(({ amount }) => amount === '25'));
    t.ok(rows.some(({ status }) => status === 'COMPLETED'));
    t.ok(new Set(rows.map(({ product }) => product.id)).size > 1200);
    t.ok(rows.every(({ product }) => product.name === nameOf.get(product.id)));
    t.same(
      rows.map(({ id }) => id),
      rows.map(({ id }) => id).toSorted(),
      'oldest first',
    );
  },
);

t.test('an export whose client has hung up is read no further, and its account may begin others', LONG, async (t) => {
  const { apiKey } = many;
  const open = async () => {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${apiKey}` };
      http
        .get(`${service.url}/api/v1/payments/export?format=jsonl`, { headers, agent: new http.Agent() }, resolve)
        .on('error', reject);
    });
    response.pause();
    return response;
  };
  const four = [await open(), await open(), await open(), await open()];
  t.same(
    four.map(({ statusCode }) => statusCode),
    [200, 200, 200, 200],
  );
  const fifth = await open();
  t.equal(fifth.statusCode, 429, 'four at a time');
  t.ok(fifth.headers['retry-after']);
  for (const each of four) each.destroy();
  await eventually(async () => {
    const next = await open();
    next.destroy();
    return next.statusCode === 200;
  }, 'those that ended leave room');
});

t.test('the cli writes the same file, whole or not at all', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'books-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const database = await connectDatabase(uri);
  t.teardown(() => database.close());
  const { forAccount, system } = createStores(database.connection, {
    clock: systemClock,
    newId: createIds(systemClock),
  });
  const exports = createExportService({ forAccount, snapshot: database.snapshot, publicUrl: '', mostOfAccount: 1 });
  const program = createProgram('cli', '');
  registerExportCommands(program, async () => ({
    ...system,
    exports,
    clock: systemClock,
    close: async () => undefined,
  }));
  const run = (...args: string[]) => program.parseAsync(['export', 'payments', ...args], { from: 'user' });
  const file = join(folder, 'payments.csv');
  await run('--key', service.apiKey, '--out', file);
  t.equal(await readFile(file, 'utf8'), await (await download('/payments/export')).text());
  await run('--account', service.accountId, '--format', 'jsonl', '--status', 'REJECTED', '--out', file);
  t.equal(await readFile(file, 'utf8'), '');
  for (const [says, ...args] of [
    [/exactly one/, '--out', file],
    [/no account/, '--account', 'acct_x', '--out', file],
    [/unknown, revoked/, '--key', 'sk_x', '--out', file],
    [/--format/, '--key', service.apiKey, '--format', 'xlsx', '--out', file],
    [/--status/, '--key', service.apiKey, '--status', 'PAID', '--out', file],
    [/ENOENT/, '--key', service.apiKey, '--out', join(folder, 'no', 'where')],
  ] as [RegExp, ...string[]][]) {
    await t.rejects(run(...args), says);
  }
  t.same(await readdir(folder), ['payments.csv']);
});
