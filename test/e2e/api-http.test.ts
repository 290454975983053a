/** The API as it stands on the wire: bodies, queries, order of checks, ownership, paging, repeats,
 *  limits, broken HTTP. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import t from 'tap';
import type { Operation } from '../../contracts/operation.js';
import { createHttpApp, type HttpDeps } from '../../src/api/app.js';
import { listen } from '../../src/api/server.js';
import { NO_BRAND } from '../../src/domain/brand.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { answered, call, type Outcome, operations, request, TRANSPORTS } from '../helpers/api.js';
import { freePort } from '../helpers/mongo.js';
import { allNumbered, eventually, startSelling, startTestService } from '../helpers/service.js';

// Other files of this process have been answered, too.
answered.clear();
const service = await startTestService(t);
const { url, apiKey } = service;
const { wallet, product, link } = await startSelling(service);
const shirt = { name: 'T-shirt', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' };
const readKey = (await service.api('POST', '/api-keys', { name: 'reader', scope: 'READ' })).data.key;

interface Sent {
  key?: string | null;
  type?: string | null;
  headers?: Record<string, string>;
}
/** Sends a body as it is. */
const send = (
  method: string,
  path: string,
  body?: string | Buffer,
  { key = apiKey, type = 'application/json', headers = {} }: Sent = {},
) =>
  request(url, method, path, {
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined || type === null ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }),
  });
const pathsOf = (answer: Outcome) => answer.error?.details?.map(({ path }) => path).sort();

t.test('a body must be a JSON object of at most 102,400 bytes', async (t) => {
  const malformed: [string, string | Buffer | undefined, Sent?][] = [
    ['cut JSON', '{"name":'],
    ['no JSON', 'name=T-shirt'],
    ['two values', '{}{}'],
    ['a list', '[]'],
    ['a text', '"{}"'],
    ['a number', '1'],
    ['null', 'null'],
    ['nothing', ''],
    ['no body', undefined],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['a form', '{}', { type: 'application/x-www-form-urlencoded' }],
    ['plain text', '{}', { type: 'text/plain' }],
    ['a wider type', '{}', { type: 'application/json-patch+json' }],
    ['another charset', '{}', { type: 'application/json; charset=utf-16' }],
    ['no type', '{}', { type: null }],
    ['an unknown encoding', '{}', { headers: { 'content-encoding': 'rot13' } }],
    ['gzip that is none', '{}', { headers: { 'content-encoding': 'gzip' } }],
    [
      'a small body that unfolds to a large one',
      gzipSync(JSON.stringify({ name: 'a'.repeat(5_000_000) })),
      { headers: { 'content-encoding': 'gzip' } },
    ],
    ['a byte too many', JSON.stringify({ ...shirt, description: 'x' }).padEnd(102_401)],
    ['far too many', JSON.stringify({ name: 'a'.repeat(1_000_000) })],
    ['depth without end', '['.repeat(50_000)],
  ];
  for (const [what, body, sent] of malformed) {
    for (const [method, path] of [
      ['POST', '/products'],
      ['PATCH', `/products/${product.id}`],
    ] as const) {
      const { status, error } = await send(method, path, body, sent);
      t.match({ status, code: error?.code }, { status: 400, code: 'bad_request' }, `${method} with ${what}`);
    }
  }
  t.equal((await send('POST', '/products', JSON.stringify(shirt).padEnd(102_400))).status, 201, '102,400 bytes');
  t.equal(
    (await send('POST', '/products', JSON.stringify(shirt), { type: 'Application/JSON; charset=UTF-8' })).status,
    201,
  );
  t.equal(
    (await send('POST', '/products', gzipSync(JSON.stringify(shirt)), { headers: { 'content-encoding': 'gzip' } }))
      .status,
    201,
  );
  t.equal((await send('POST', '/products', `\ufeff${JSON.stringify(shirt)}`)).status, 201, 'a byte order mark');
  const deep = await send('POST', '/products', `{"deep":${'['.repeat(40_000)}${']'.repeat(40_000)}}`);
  t.equal(deep.status, 422, 'depth is an unknown field like any other');
  const many = await send(
    'POST',
    '/products',
    JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`f${n}`, n]))),
  );
  t.equal(many.error?.details?.length, 51, 'fifty faults, and how many more there are');
});

t.test('operations without a body take none but an empty one', async (t) => {
  const { id } = (await service.api('POST', '/api-keys', { name: 'a' })).data;
  for (const [body, sent] of [[undefined], [''], ['{}'], ['', { type: null }]] as [string | undefined, Sent?][]) {
    t.equal((await send('POST', `/api-keys/${id}/rotate`, body, sent)).status, 200);
  }
  t.same(pathsOf(await send('POST', `/api-keys/${id}/rotate`, '{"name":"b"}')), ['name']);
  t.equal((await send('POST', `/api-keys/${id}/rotate`, '{')).status, 400);
  t.equal((await send('DELETE', `/api-keys/${id}`, '{"anything":1}')).status, 200, 'a DELETE has no body that counts');
});

t.test('a body does not speak for the path', async (t) => {
  const answer = await send('PATCH', `/products/${product.id}`, JSON.stringify({ id: 'prod_x', name: '', more: 1 }));
  t.equal(answer.status, 422);
  t.same(pathsOf(answer), ['id', 'more', 'name']);
  t.same(pathsOf(await send('PATCH', `/products/${product.id}`, JSON.stringify({ id: product.id }))), ['id']);
  t.same(pathsOf(await send('PATCH', `/products/${product.id}`, '{"__proto__":{"id":"x"}}')), ['__proto__']);
});

t.test('a query parameter has the type that the contract says, once', async (t) => {
  const refused = [
    'page=0',
    'page=-1',
    'page=1.0',
    'page=1e1',
    'page=0x1',
    'page=',
    'page=%201',
    'page=Infinity',
    'page=99999999999999999999',
    'page=1&page=1',
    'pageSize=101',
    'active=TRUE',
    'active=1',
    'active=',
    'active=banana',
    'active=true&active=true',
    'sortBy=price',
    'sortBy=',
    'sortOrder=ASC',
    'search=a&search=b',
    `search=${'a'.repeat(201)}`,
    'search=%00',
    'search=%',
    'search=%E0%A4%A',
    'search=%ff',
  ];
  for (const query of refused) {
    const { status, error } = await send('GET', `/products?${query}`);
    t.match({ status, error }, { status: 400, error: { code: 'bad_request' } }, query);
    t.notOk(error?.details, 'details are for bodies');
  }
  const accepted = [
    'page=01',
    'page=%31',
    'active=true',
    'active=false',
    'search=%F0%9F%91%95',
    'search=a+b',
    'search=',
    '&&',
  ];
  for (const query of accepted) t.equal((await send('GET', `/products?${query}`)).status, 200, query);
  t.equal((await send('GET', '/products?active=false')).meta?.total, 0, 'false is false');
  for (const query of ['status=COMPLETED', 'status=COMPLETED&status=REJECTED', 'status=COMPLETED&status=COMPLETED']) {
    t.equal((await send('GET', `/payments?${query}`)).status, 200, query);
  }
  for (const query of [
    'status=',
    'status=COMPLETED,REJECTED',
    'status=COMPLETED&status=x',
    'status[]=COMPLETED&status=1',
  ]) {
    t.equal((await send('GET', `/payments?${query}`)).status, 400, query);
  }
});

t.test('a query parameter that does not exist is named, whatever the operation and the transport', async (t) => {
  const told = async (method: string, path: string, body?: string) => {
    const { status, error } = await send(method, path, body);
    return { status, code: error?.code, message: error?.message };
  };
  const refusal = (...names: string[]) => ({
    status: 400,
    code: 'bad_request',
    message: names.map((name) => `${name}: There is no such parameter.`).join(' '),
  });
  t.same(await told('GET', '/payments?checkoutID=chk_1&page=1&x=1&x=2'), refusal('checkoutID', 'x'));
  for (const name of ['__proto__', 'constructor', 'page[$gt]', 'search[$regex]', 'status[]']) {
    t.same(await told('GET', `/payments?${name}=1`), refusal(name));
  }
  t.same(await told('GET', '/payments?=1'), refusal('""'));
  t.same(await told('GET', `/products/${product.id}?id=${product.id}`), refusal('id'), 'not that of the path');
  t.same(await told('GET', '/account?a=1'), refusal('a'));
  t.same(await told('GET', '/payments/export?fromat=csv'), refusal('fromat'));
  t.same(await told('GET', '/events/stream?afterr=1'), refusal('afterr'));
  t.same(await told('POST', '/products?dryRun=true', '{}'), refusal('dryRun'), 'before the body');
  t.same(await told('PATCH', `/products/${product.id}?price=1`, '{}'), refusal('price'));
  t.same(await told('DELETE', '/products/prod_x?force=1'), refusal('force'));
  t.match(await told('GET', '/payments?checkoutID=chk_1&page=0'), { message: /checkoutID.*page|page.*checkoutID/ });
  for (const name of ['payments.list', 'account.get', 'products.get', 'products.delete']) {
    const { status, error } = await call('tRPC', service.url, service.apiKey, name, {
      id: product.id,
      checkoutID: 'c',
    });
    t.match(
      { status, error },
      { status: 400, error: { code: 'bad_request', message: /checkoutID: There is no such/ } },
    );
  }
});

t.test('the checks come in their order: 401, 403, 400 or 422, 404, 409', async (t) => {
  const unknown = '/products/prod_x';
  for (const key of [null, 'sk_no']) {
    t.equal((await send('POST', '/products', '{', { key })).status, 401, 'before the body is read');
    t.equal((await send('GET', '/products?page=0', undefined, { key })).status, 401);
    t.equal((await send('GET', '/nothing/here', undefined, { key })).status, 401, 'on an unknown path');
    t.equal((await send('PUT', '/products', undefined, { key })).status, 401, 'with a wrong method');
  }
  t.equal((await send('POST', '/products', '{', { key: readKey })).status, 403, 'before the body is read');
  t.equal((await send('DELETE', unknown, undefined, { key: readKey })).status, 403, 'before anything is looked up');
  t.equal((await send('PATCH', unknown, '{')).status, 400);
  t.equal((await send('PATCH', unknown, '{"name":""}')).status, 422);
  t.equal((await send('PATCH', unknown, '{"name":"a"}')).status, 404);
  t.equal((await send('POST', '/payments/pay_x/assign', '{}')).status, 422);
  t.equal((await send('DELETE', `/wallets/${wallet.id}`)).status, 409);
});

t.test('an Authorization header is "Bearer" and a key', async (t) => {
  const as = (authorization: string) => request(url, 'GET', '/account', { headers: { authorization } });
  for (const wrong of [
    '',
    'Bearer',
    'Bearer ',
    apiKey,
    `Basic ${apiKey}`,
    `Bearer ${apiKey} x`,
    `Bearer "${apiKey}"`,
    `Bearer ${'a'.repeat(9000)}`,
    'Bearer {"$ne":null}',
  ]) {
    const { status, headers } = await as(wrong);
    t.equal(status, 401, wrong.slice(0, 40));
    t.equal(headers.get('www-authenticate'), 'Bearer');
  }
  t.equal((await as(`bearer ${apiKey}`)).status, 200, 'schemes have no case');
  t.equal((await as(`Bearer   ${apiKey}  `)).status, 200);
});

t.test('unknown paths, wrong methods and odd ids are 404', async (t) => {
  for (const path of [
    '',
    '/',
    '/nothing',
    '/products/',
    '/Products',
    '//products',
    '/products/x/y',
    '/products/x/deliveries',
    '/payments/x/accept/y',
    '/__proto__',
    '/constructor',
    '/%70roducts',
  ]) {
    t.equal((await send('GET', path)).status, 404, path);
  }
  for (const [method, path] of [
    ['PUT', '/products'],
    ['DELETE', '/products'],
    ['PATCH', '/products'],
    ['POST', `/products/${product.id}`],
    ['GET', '/payments/x/accept'],
    ['OPTIONS', '/products'],
    ['POST', '/account'],
    ['PROPFIND', '/products'],
  ] as const) {
    t.equal((await send(method, path)).status, 404, `${method} ${path}`);
  }
  for (const id of [
    'x',
    `${product.id}x`,
    product.id.toUpperCase(),
    '%00',
    '%24ne',
    '__proto__',
    '%F0%9F%91%95',
    'a'.repeat(5000),
    `${product.id}%2F`,
    '%7B%22%24ne%22%3Anull%7D',
  ]) {
    t.equal((await send('GET', `/products/${id}`)).status, 404, id.slice(0, 40));
  }
  t.equal((await send('GET', `/products/%70${product.id.slice(1)}`)).status, 200, 'an encoded id is decoded');
  t.equal((await send('GET', '/products/%E0%A4%A')).status, 404, 'what cannot be decoded is no id');
  t.equal((await send('HEAD', '/products')).status, 200, 'HEAD is GET without a body');
});

t.test('no account sees, changes or names what belongs to another', async (t) => {
  const other = await service.openAccount();
  const theirs = async (name: string, input: Record<string, unknown> = {}, transport = TRANSPORTS[0]!) =>
    call(transport, url, other.apiKey, name, input);
  const mine = async (name: string, input: Record<string, unknown> = {}) =>
    (await call('REST', url, apiKey, name, input)).data;

  const hook = await mine('webhooks.create', { name: 'a', url: 'https://127.0.0.1:1/', events: ['payment.received'] });
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '1', memo: link.memo });
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '1', memo: 'nobody' });
  const status = ['UNDERPAID', 'UNMATCHED'];
  const payments = await eventually(async () => {
    const found = await mine('payments.list', { status });
    return found.length === 2 && found;
  }, 'both payments');
  const delivery = await eventually(async () => (await mine('webhooks.deliveries', { id: hook.id }))[0], 'a delivery');
  const checkout = await mine('checkouts.create', {
    walletId: wallet.id,
    name: 'An order',
    assetCode: 'XLM',
    amount: '5',
  });
  const ids: Record<string, string> = {
    apiKeys: (await mine('apiKeys.list'))[0].id,
    wallets: wallet.id,
    products: product.id,
    paymentLinks: link.id,
    checkouts: checkout.id,
    payments: payments.find((payment: any) => payment.status === 'UNDERPAID').id,
    events: (await mine('events.list'))[0].id,
    webhooks: hook.id,
    deliveries: delivery.id,
    users: (await mine('users.create', { name: 'Ana', role: 'VIEWER' })).id,
    coupons: (await mine('coupons.create', { code: 'SPRING', percentOff: '10' })).id,
  };
  const everything = async () => {
    const lists = [...operations].filter(
      ([name, { isList, params }]) => isList && !('id' in params) && name !== 'apiKeys.list',
    );
    const all = await Promise.all(
      lists.map(([name]) => mine(name, name === 'payments.list' ? { status } : { pageSize: 100 })),
    );
    // How far a wallet is read goes on by itself.
    return JSON.parse(JSON.stringify(all, (key, value) => (key === 'sync' ? undefined : value)));
  };
  await allNumbered(service);
  const before = await everything();

  const ownProduct = await (async () => {
    const { address } = await service.context.localLedger!.client.fund();
    const own = (await theirs('wallets.create', { name: 'Theirs', address, network: 'LOCAL' })).data;
    return (await theirs('products.create', { ...shirt, walletId: own.id })).data;
  })();
  const ownLink = (await theirs('paymentLinks.create', { productId: ownProduct.id })).data;
  const bodies: Record<string, Record<string, unknown>> = { 'payments.assign': { paymentLinkId: ownLink.id } };

  let walked = 0;
  for (const transport of TRANSPORTS) {
    for (const [name, operation] of operations) {
      if ('id' in operation.params) {
        const input = {
          ...Object.fromEntries(Object.keys(operation.params).map((param) => [param, 'x'])),
          id: ids[name.split('.')[0]!]!,
          ...(operation.hasBody ? (bodies[name] ?? operation.examples?.body) : {}),
        };
        const { outcome, error } = await theirs(name, input, transport);
        t.equal(outcome, 'not_found', `${name} over ${transport}`);
        const unknown = await theirs(name, { ...input, id: `${input.id.slice(0, -1)}0` }, transport);
        t.same(unknown.error, error, 'as if it did not exist');
        walked += 1;
      } else if (operation.isList) {
        const { data, meta } = await theirs(name, {}, transport);
        t.notOk(
          Object.values(ids).some((id) => JSON.stringify(data).includes(id)),
          `${name} over ${transport}`,
        );
        t.equal(meta!.total, data.length);
        walked += 1;
      }
    }
    for (const [name, input, path] of [
      ['products.create', { ...shirt, walletId: wallet.id }, 'walletId'],
      ['products.update', { id: ownProduct.id, walletId: wallet.id }, 'walletId'],
      ['paymentLinks.create', { productId: product.id }, 'productId'],
    ] as const) {
      const { outcome, error } = await theirs(name, input, transport);
      t.equal(outcome, 'validation_error', `${name} names what is foreign`);
      t.match(error?.details, [{ path, code: 'not_found' }]);
      walked += 1;
    }
    const unmatched = payments.find((payment: any) => payment.status === 'UNMATCHED').id;
    const assigned = await call(transport, url, apiKey, 'payments.assign', {
      id: unmatched,
      paymentLinkId: ownLink.id,
    });
    t.match(assigned.error, { code: 'validation_error', details: [{ path: 'paymentLinkId', code: 'not_found' }] });
    for (const [name, filter] of [
      ['payments.list', { productId: product.id }],
      ['payments.list', { paymentLinkId: link.id }],
      ['payments.list', { walletId: wallet.id, status }],
      ['payments.list', { transactionHash: payments[0].transactionHash, status }],
      ['events.list', { paymentId: ids.payments }],
      ['paymentLinks.list', { productId: product.id }],
      ['paymentLinks.list', { search: link.memo }],
    ] as const) {
      t.same((await theirs(name, filter, transport)).data, [], `${name} by ${Object.keys(filter)}`);
      walked += 1;
    }
  }
  t.same(await everything(), before, 'nothing has changed');
  t.equal((await send('GET', '/account')).status, 200, 'the key still works');
  t.equal(walked, 2 * ([...operations.values()].filter(({ isList, params }) => isList || 'id' in params).length + 10));
});

t.test('pages hold every item once, in a total order, and count them', async (t) => {
  const { apiKey: key } = await service.openAccount();
  const ask = (name: string, input: Record<string, unknown>) => call('REST', url, key, name, input);
  const { address } = await service.context.localLedger!.client.fund();
  const own = (await ask('wallets.create', { name: 'a', address, network: 'LOCAL' })).data;
  t.match((await ask('products.list', {})).meta, { page: 1, pageSize: 20, total: 0, totalPages: 0 });
  const made = await Promise.all(
    Array.from(
      { length: 43 },
      async (_, n) =>
        (await ask('products.create', { ...shirt, walletId: own.id, name: n % 2 ? 'Same' : 'same' })).data.id,
    ),
  );
  for (const sort of [{}, { sortBy: 'name' }, { sortBy: 'name', sortOrder: 'asc' }, { sortOrder: 'asc' }]) {
    const seen: string[] = [];
    for (let page = 1; page <= 5; page++) {
      const { data, meta } = await ask('products.list', { ...sort, page, pageSize: 10 });
      t.same(meta, { page, pageSize: 10, total: 43, totalPages: 5 });
      t.equal(data.length, page < 5 ? 10 : 3);
      seen.push(...data.map(({ id }: any) => id));
    }
    t.same([...seen].sort(), [...made].sort(), JSON.stringify(sort));
  }
  t.match(await ask('products.list', { page: 6, pageSize: 10 }), {
    data: [],
    meta: { page: 6, total: 43, totalPages: 5 },
  });
});

t.test('a key that is revoked, rotated or expired is unknown at once, in every process', async (t) => {
  const second = await service.join('api');
  const both = async (key: string) =>
    Promise.all(
      [url, second.url].map(
        async (origin) =>
          (await request(origin, 'GET', '/account', { headers: { authorization: `Bearer ${key}` } })).status,
      ),
    );
  const { id, key } = (await service.api('POST', '/api-keys', { name: 'a' })).data;
  t.same(await both(key), [200, 200]);
  const rotated = (await service.api('POST', `/api-keys/${id}/rotate`)).data;
  t.same(await both(key), [401, 401]);
  t.same(await both(rotated.key), [200, 200]);
  t.equal((await service.api('DELETE', `/api-keys/${id}`)).status, 200);
  t.same(await both(rotated.key), [401, 401]);
  const short = (
    await service.api('POST', '/api-keys', { name: 'a', expiresAt: new Date(Date.now() + 1500).toISOString() })
  ).data;
  t.same(await both(short.key), [200, 200]);
  await eventually(async () => (await both(short.key)).every((status) => status === 401), 'it has expired', 5000);
  const { apiKey: only } = await service.openAccount();
  const [{ id: last }] = (await service.api('GET', '/api-keys', undefined, only)).data;
  t.equal(
    (await service.api('DELETE', `/api-keys/${last}`, undefined, only)).error?.code,
    'conflict',
    'the last FULL key stays',
  );
});

t.test('a POST with an Idempotency-Key happens once', async (t) => {
  const post = (path: string, body: unknown, idempotencyKey: string, key = apiKey) =>
    send('POST', path, JSON.stringify(body), { key, headers: { 'idempotency-key': idempotencyKey } });
  const total = async () => (await send('GET', '/products')).meta!.total;
  const before = await total();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('/products', { ...shirt, name: 'Once' }, 'k1')),
  );
  t.same([...new Set(answers.map(({ status, data }) => `${status} ${data?.id}`))], [`201 ${answers[0]!.data.id}`]);
  t.equal(await total(), before + 1);
  const { name, ...rest } = shirt;
  t.same(
    (await post('/products', { ...rest, name: 'Once' }, 'k1')).data,
    answers[0]!.data,
    'the order of fields is no difference',
  );
  t.equal((await post('/products', { ...shirt, name: 'Twice' }, 'k1')).error?.code, 'conflict');
  t.equal(
    (await post('/products', { ...shirt, name: '' }, 'k1')).error?.code,
    'validation_error',
    'what a body says is checked first',
  );
  t.equal(
    (await post('/payment-links', { productId: product.id }, 'k1')).status,
    201,
    'another path is another request',
  );
  t.equal((await post('/products', { ...shirt, walletId: 'wallet_x' }, 'k2')).status, 422);
  t.equal((await post('/products', shirt, 'k2')).status, 201, 'only successes are kept');
  const other = await service.openAccount();
  t.equal(
    (await post('/api-keys', { name: 'a' }, 'k1', other.apiKey)).status,
    201,
    'another account is another request',
  );
  t.equal((await send('POST', '/products', '{', { headers: { 'idempotency-key': 'k3' } })).status, 400);
  t.equal((await post('/products', shirt, '')).status, 400);
  t.equal((await post('/products', shirt, 'k'.repeat(256))).status, 400);

  for (const [path, secret, body] of [
    ['/webhooks', 'secret', { name: 'a', url: 'https://127.0.0.1:1/', events: ['payment.received'] }],
    ['/api-keys', 'key', { name: 'a' }],
  ] as const) {
    const first = await post(path, body, 'once');
    const again = await post(path, body, 'once');
    const { [secret]: shown, ...others } = first.data;
    t.type(shown, 'string');
    t.same(again.data, others, `the replay has everything but the ${secret}`);
    t.equal(again.status, 201);
  }
  const overTrpc = await call(
    'tRPC',
    url,
    apiKey,
    'products.create',
    { ...shirt, name: 'Once' },
    { idempotencyKey: 'k1' },
  );
  t.same(overTrpc.data, answers[0]!.data, 'a key means the same request over tRPC');
});

t.test('a PATCH with an Idempotency-Key happens once', async (t) => {
  const { id } = (await send('POST', '/products', JSON.stringify({ ...shirt, stock: 10 }))).data;
  const patch = (body: object, key: string) =>
    send('PATCH', `/products/${id}`, JSON.stringify(body), { headers: { 'idempotency-key': key } });
  const answers = await Promise.all(Array.from({ length: 5 }, () => patch({ stockChange: '-3' }, 'p1')));
  t.same(new Set(answers.map(({ status, data }) => `${status} ${data?.stock}`)), new Set(['200 7']));
  t.equal((await patch({ stockChange: '-3' }, 'p2')).data.stock, 4, 'another key is another change');
  t.equal((await patch({ stockChange: '-3' }, 'p1')).data.stock, 7, 'the first answer again');
  t.equal((await patch({ stockChange: '-2' }, 'p1')).error?.code, 'conflict');
  t.equal((await send('GET', `/products/${id}`)).data.stock, 4);
});

t.test('tRPC takes 20 calls in a request, each with its own outcome', async (t) => {
  const batch = async (names: string[], key: string | null = apiKey) => {
    const input = Object.fromEntries(
      names.map((name, n) => [n, /^(products|wallets)\.get$/.test(name) ? { id: product.id } : {}]),
    );
    const response = await fetch(
      `${url}/trpc/${names.join(',')}?batch=1&input=${encodeURIComponent(JSON.stringify(input))}`,
      {
        headers: key === null ? {} : { authorization: `Bearer ${key}` },
      },
    );
    return { status: response.status, body: (await response.json()) as any, headers: response.headers };
  };
  const mixed = await batch(['products.get', 'wallets.get', 'products.list', 'nothing.here']);
  t.match(mixed.body, [
    { result: { data: { id: product.id } } },
    { error: { data: { code: 'NOT_FOUND', httpStatus: 404, error: { code: 'not_found' } } } },
    { result: { data: { items: Array, meta: { page: 1 } } } },
    { error: { data: { code: 'NOT_FOUND', error: { code: 'not_found' } } } },
  ]);
  t.equal((await batch(Array(20).fill('account.get'))).status, 200);
  const many = await batch(Array(21).fill('account.get'));
  t.match(many, { status: 400, body: { error: { data: { error: { code: 'bad_request' } } } } });
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const waits = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [index, { after: 999_999, wait: 1 }]));
  const waiting = await fetch(
    `${url}/trpc/${Array(20).fill('events.list').join(',')}?batch=1&input=${encodeURIComponent(JSON.stringify(waits))}`,
    { headers: { authorization: `Bearer ${apiKey}` } },
  );
  t.equal(waiting.status, 200);
  await waiting.text();
  process.off('warning', note);
  t.same(warnings, [], 'as many calls as a batch has may wait at once');
  const stranger = await batch(['products.get', 'nothing.here'], null);
  t.equal(stranger.body.length, 2);
  for (const { error } of stranger.body)
    t.match(error.data, { code: 'UNAUTHORIZED', httpStatus: 401, error: { code: 'unauthorized' } });
  t.match(stranger.headers.get('x-request-id'), /^req_/);
  const deep = await fetch(`${url}/trpc/products.create?batch=1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: `{"0":{"deep":${'['.repeat(15_000)}${']'.repeat(15_000)}}}`,
  });
  t.match(await deep.json(), [{ error: { data: { error: { code: 'bad_request', message: /nested too deeply/ } } } }]);

  const raw = async (method: string, path: string, body?: string, type = 'application/json') => {
    const response = await fetch(`${url}/trpc/${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    const { error } = (await response.json()) as any;
    t.match(error.message, String);
    t.notOk(error.data.stack);
    return [response.status, error.data.code, error.data.error.code];
  };
  t.same(await raw('POST', 'products.create', '{'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('POST', 'products.create', '[]'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('POST', 'products.create', '{}', 'text/plain'), [415, 'UNSUPPORTED_MEDIA_TYPE', 'bad_request']);
  const description = (bytes: number) => JSON.stringify({ ...shirt, description: 'x'.repeat(bytes) });
  t.same(await raw('POST', 'products.create', description(102_400)), [413, 'PAYLOAD_TOO_LARGE', 'bad_request']);
  t.equal((await raw('POST', 'products.create', description(100_000)))[0], 422, 'as large as over REST');
  const two = await fetch(`${url}/trpc/products.create,account.nothing?batch=1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: `{"0":${description(110_000)},"1":{}}`,
  });
  t.match(
    await two.json(),
    [{ error: { data: { error: { code: 'bad_request' } } } }],
    'nor does a batch lift the limit',
  );
  t.same(await raw('GET', 'products.create'), [405, 'METHOD_NOT_SUPPORTED', 'bad_request']);
  t.same(await raw('POST', 'account.get'), [415, 'UNSUPPORTED_MEDIA_TYPE', 'bad_request']);
  t.same(await raw('GET', 'products.list?input=%7B'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('GET', 'products.list?input=5'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('GET', 'products.get'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('GET', 'products.get?input=%7B%22id%22%3A%7B%22%24ne%22%3Anull%7D%7D'), [
    400,
    'BAD_REQUEST',
    'bad_request',
  ]);
  t.same(await raw('GET', '%E0%A4%A'), [400, 'BAD_REQUEST', 'bad_request']);
  t.same(await raw('GET', '__proto__'), [404, 'NOT_FOUND', 'not_found']);
  t.same(await raw('GET', 'products.__proto__'), [404, 'NOT_FOUND', 'not_found']);
});

/** Writes bytes to a socket, and reads what comes until it is closed or `until` matches. */
function rawHttp(origin: string, bytes: string, until?: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (data) => {
      text += data;
      if (until?.test(text)) socket.destroy();
    });
    socket.on('error', reject).on('close', () => resolve(text));
    socket.write(bytes);
  });
}

t.test('broken HTTP gets the envelope, and disturbs no other request', async (t) => {
  for (const [what, bytes] of [
    ['no HTTP', 'hello\r\n\r\n'],
    ['headers without end', `GET /api/v1/account HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a header with a line break', 'GET /api/v1/account HTTP/1.1\r\nHost: x\r\nA\r\nB: c\r\n\r\n'],
    ['two lengths', 'POST /api/v1/products HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}'],
    [
      'a length and chunks',
      'POST /api/v1/products HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    ],
  ] as const) {
    const answer = await rawHttp(url, bytes);
    t.match(answer, /^HTTP\/1.1 400 Bad Request\r\n/, what);
    t.match(answer, /\r\nX-Request-Id: req_\w+\r\n/, what);
    t.match(JSON.parse(answer.split('\r\n\r\n')[1]!), { data: null, error: { code: 'bad_request' } }, what);
  }
  for (const [what, status, bytes] of [
    ['no Host', 400, 'GET /health/live HTTP/1.1\r\n\r\n'],
    ['two Hosts', 400, 'GET /health/live HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['an expectation', 417, 'POST /api/v1/products HTTP/1.1\r\nHost: x\r\nExpect: x\r\nContent-Length: 2\r\n\r\n{}'],
    ['a tunnel', 400, 'CONNECT shop.example:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown method', 400, 'BREW /p/x HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an upgrade', 404, 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'],
    ['dots in docs', 404, 'GET /docs/%2e%2e/package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [
      'a file of docs that is not served',
      404,
      'GET /docs/package.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    ['dots at the end of docs', 404, 'GET /docs/%2e%2e/%2e%2e/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
  ] as const) {
    const answer = await rawHttp(url, bytes);
    t.match(answer, new RegExp(`^HTTP/1.1 ${status} `), what);
    t.match(answer, /\r\nX-Request-Id: req_\w+\r\n/, what);
    t.match(
      answer.slice(answer.indexOf('\r\n\r\n')),
      /"data":null,"error":\{[^}]*"code":"(bad_request|not_found)"/,
      what,
    );
  }
  t.match(await rawHttp(url, 'GET /health/live HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /, 'HTTP/1.0 needs no Host');
  const head = `POST /api/v1/products HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n`;
  await new Promise<void>((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      socket.write(`${head}Content-Length: 1000\r\n\r\n{"name":`, () => socket.destroy());
    }).on('close', () => resolve());
  });
  const chunked = await rawHttp(url, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\nnot a size\r\n`);
  t.match(chunked, /^HTTP\/1.1 400 /, 'a broken chunk');
  const pipelined = await rawHttp(
    url,
    `${head}Content-Length: 200000\r\n\r\n${'x'.repeat(200_000)}GET /api/v1/account HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  t.match(pipelined, /^HTTP\/1.1 400 [\s\S]*HTTP\/1.1 401 /, 'after a body that was too large the connection goes on');
  t.equal((await send('GET', '/account')).status, 200);
});

t.test('answers to reads are compressed; streams, files and answers with a secret are not', async (t) => {
  const authorization = `Bearer ${apiKey}`;
  const encodingsOf = async (path: string, init: { method?: string; body?: string } = {}) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const ask = (encoding: string) =>
      fetch(url + path, { ...init, headers: { ...headers, 'accept-encoding': encoding }, signal: ending.signal });
    const [compressed, plain] = [await ask('gzip'), await ask('identity')];
    return { compressed, plain, encoding: compressed.headers.get('content-encoding') };
  };
  const ending = new AbortController();
  const page = await (await fetch(`${url}/p/${link.slug}`)).text();
  const files = [...page.matchAll(/"(\/page\/[^"]+\.(?:css|js))"/g)].map(([, file]) => file!);
  const dashboard = await (await fetch(`${url}/dashboard`)).text();
  files.push(...[...dashboard.matchAll(/"(\/dashboard\/assets\/[^"]+\.(?:css|js))"/g)].map(([, file]) => file!));
  t.ok(files.length >= 4, 'styles and scripts of the page and the dashboard');
  for (const path of [`/p/${link.slug}`, ...files, '/api/v1/products', '/trpc/products.list']) {
    const { compressed, plain, encoding } = await encodingsOf(path);
    t.same([compressed.status, plain.status], [200, 200], path);
    t.equal(encoding, 'gzip', path);
    t.equal(plain.headers.get('content-encoding'), null, path);
    for (const { headers } of [compressed, plain]) t.match(headers.get('vary'), /Accept-Encoding/i, path);
    const [one, other] = [await compressed.text(), await plain.text()];
    // A page says when it was opened.
    if (path.startsWith('/p/')) t.equal(one.length, other.length, path);
    else t.equal(one, other, path);
    t.comment(`${path.replace(/-\w+\./, '.')}: ${Buffer.byteLength(other)} bytes`);
  }
  for (const path of ['/api/v1/payments/export?format=jsonl', '/api/v1/events/stream', `/p/${link.slug}/events`]) {
    const { compressed, encoding } = await encodingsOf(path);
    t.same([compressed.status, encoding], [200, null], path);
  }
  const body = JSON.stringify({ name: 'a'.repeat(120), scope: 'READ' });
  const made = await encodingsOf('/api/v1/api-keys', { method: 'POST', body });
  t.same([made.compressed.status, made.encoding], [201, null]);
  ending.abort();
});

t.test('docs, the document, health and metrics are served without a key', async (t) => {
  const get = async (path: string, origin = url) => {
    const response = await fetch(origin + path, { redirect: 'manual' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  t.equal((await get('/openapi.json')).text, readFileSync('openapi.json', 'utf8'), 'the committed file, byte for byte');
  for (const [asked, encoding] of [
    ['gzip, br', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
  ] as const) {
    const { headers } = await fetch(`${url}/openapi.json`, { headers: { 'accept-encoding': asked } });
    t.same([headers.get('content-encoding'), headers.get('vary')], [encoding, 'Accept-Encoding'], asked);
    t.ok(Number(headers.get('content-length')) < (encoding === null ? 500_000 : 60_000), asked);
  }
  t.match(await get('/'), { status: 302 });
  const docs = await get('/docs/');
  t.match(docs, { status: 200, text: /swagger-ui/ });
  t.notMatch(docs.headers.get('content-security-policy'), /upgrade-insecure-requests/);
  t.match((await get('/docs/swagger-ui-init.js')).text, /"url": "\/openapi.json"[\s\S]*"persistAuthorization": false/);
  t.equal((await get('/docs/nothing')).status, 404);
  t.match(JSON.parse((await get('/health/live')).text), { status: 'ok' });
  await eventually(async () => (await get('/health/ready')).status === 200, 'it is ready');
  t.match(await get('/metrics'), {
    status: 200,
    text: /http_request_duration_seconds_bucket\{[^}]*route="products.create",status="201"/,
  });
  t.match(await get('/nothing'), { status: 404, text: /"code":"not_found"/ });
  for (const path of ['/', '/health/live', '/nothing', '/p/nothing', '/openapi.json']) {
    t.match((await get(path)).headers.get('x-request-id'), /^req_/, path);
  }
  const worker = await service.join('worker');
  t.equal((await get('/health/live', worker.url)).status, 200);
  t.equal((await get('/metrics', worker.url)).status, 200);
  t.equal((await get('/api/v1/account', worker.url)).status, 404, 'a worker is no API');
});

/** The same app over services of the test, for what the real ones never do. */
async function startApp(
  t: Tap,
  api: Partial<HttpDeps['api']>,
  clock: Clock = systemClock,
  deps: Partial<HttpDeps> = {},
) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const fail = async () => {
    throw new Error('the password is hunter2');
  };
  const services = new Proxy({}, { get: () => new Proxy({}, { get: () => fail }) });
  const app = createHttpApp({
    checkReadiness: async () => ({ reasons: ['MongoDB is away'], warnings: ['the clock is off'] }),
    metrics: new Registry(),
    log,
    clock,
    ...deps,
    api: {
      services: services as never,
      exports: {} as never,
      authenticate: async (token) =>
        token === 'sk_wrong' ? null : { accountId: `acct_${token.slice(3, 4)}`, keyId: token, scope: 'FULL' },
      idempotency: {} as never,
      storedRules: {},
      guard: (work) => work(),
      listing: (caller, work) => work(caller as never),
      watch: () => () => undefined,
      networks: [],
      allowPrivate: false,
      rateLimitPerMinute: 0,
      openapiJson: Buffer.from('{}'),
      pages: express.Router(),
      dashboard: {
        sessions: {} as never,
        passkeys: {} as never,
        setup: {} as never,
        cookie: {} as never,
        publicUrl: 'http://localhost',
      },
      ...api,
    },
  });
  const server = await listen(app, '127.0.0.1', 0, clock);
  t.teardown(() => server.close(100));
  return { origin: `http://127.0.0.1:${server.port}`, lines, server };
}
type Tap = Parameters<Parameters<typeof t.test>[0]>[0];

const sampleOf = ({ examples }: Operation) => ({ ...examples?.query, ...examples?.body });

t.test('an internal error says nothing but the request id, over both transports, and is logged with it', async (t) => {
  const { origin, lines } = await startApp(t, {});
  for (const transport of TRANSPORTS) {
    for (const [name, operation] of operations) {
      const params = Object.fromEntries(Object.keys(operation.params).map((param) => [param, 'x']));
      const input = { ...params, ...sampleOf(operation) };
      const { outcome, status, error, headers } = await call(transport, origin, 'sk_a', name, input);
      t.same([outcome, status], ['internal', 500], `${name} over ${transport}`);
      t.equal(error?.message, `Something went wrong here. Request id: ${headers.get('x-request-id')}`);
      const line = JSON.parse(lines.pop()!);
      t.match(line, { level: 50, requestId: headers.get('x-request-id'), err: { message: 'the password is hunter2' } });
    }
  }
  t.equal(lines.length, 0, 'one line each');
  const ready = await fetch(`${origin}/health/ready`);
  t.same(
    [ready.status, await ready.json()],
    [503, { status: 'unavailable', reasons: ['MongoDB is away'], warnings: ['the clock is off'] }],
  );
  const authless = await startApp(t, { authenticate: () => Promise.reject(new Error('no database')) });
  for (const transport of TRANSPORTS)
    t.equal((await call(transport, authless.origin, 'sk_a', 'account.get')).outcome, 'internal');
});

t.test('a field that no contract names is not sent, and an answer that breaks the contract is an error', async (t) => {
  const account = {
    id: 'acct_a',
    name: 'a',
    brand: NO_BRAND,
    rateMarkupPercent: '0',
    booksCurrency: null,
    tolerancePercent: '0',
    tipPercents: [],
    embedOrigins: [],
    onboarding: 'shown',
    createdAt: '2026-11-21T09:30:00.000Z',
  };
  const answers: unknown[] = [
    { ...account, passwordHash: 'x', _id: 1 },
    { ...account, createdAt: 'x' },
  ];
  const services = { account: { get: async () => answers.shift() } };
  const rest = new Proxy(services, {
    get: (known, name) => known[name as 'account'] ?? new Proxy({}, { get: () => null }),
  });
  const { origin } = await startApp(t, { services: rest as never });
  t.same((await call('REST', origin, 'sk_a', 'account.get')).data, account);
  t.equal((await call('REST', origin, 'sk_a', 'account.get')).outcome, 'internal');
});

t.test('a replay stays good when what it asked for has passed', async (t) => {
  const body = { name: 'shop', expiresAt: '2026-11-21T10:00:00Z' };
  const first = {
    ...{ id: 'key_a', ...body, scope: 'FULL', keyMasked: 'sk_4fT…x9Qz', lastUsedAt: null },
    createdAt: '2026-11-21T09:30:00.000Z',
  };
  const idempotency = { run: async () => ({ status: 201, body: first, replayed: true }) };
  const clock = { ...systemClock, now: () => new Date('2026-11-21T11:00:00Z') };
  const { origin } = await startApp(t, { idempotency: idempotency as never, networks: [] }, clock);
  for (const transport of TRANSPORTS) {
    const ask = (input: Record<string, unknown>) =>
      call(transport, origin, 'sk_a', 'apiKeys.create', input, { idempotencyKey: 'k' });
    t.match(await ask(body), { outcome: 'ok', data: first }, transport);
    t.match(await ask({ ...body, name: '' }), { error: { details: [{ path: 'name' }, { path: 'expiresAt' }] } });
  }
});

t.test('an account has so many requests a minute, whichever key and transport, and whatever the answer', async (t) => {
  let nowMs = 1_000_000;
  const clock = { ...systemClock, nowMs: () => nowMs };
  const { origin } = await startApp(t, { rateLimitPerMinute: 4 }, clock);
  const ask = (key: string, n: number) => call(TRANSPORTS[n % 2]!, origin, key, 'account.get');
  for (let n = 0; n < 2; n++) t.equal((await ask(`sk_a${n}`, n)).outcome, 'internal', 'let through');
  const headers = { authorization: 'Bearer sk_a2' };
  t.equal((await fetch(`${origin}/api/v1/nothing`, { headers })).status, 404);
  t.equal((await fetch(`${origin}/trpc/nothing.here`, { headers })).status, 404);
  for (let n = 0; n < 2; n++) {
    nowMs += 10_000;
    const { outcome, status, headers } = await ask(`sk_a${n}`, n);
    t.same([outcome, status], ['rate_limited', 429]);
    t.equal(headers.get('retry-after'), String(50 - n * 10));
  }
  t.equal((await fetch(`${origin}/api/v1/nothing`, { headers })).status, 429, 'a path that does not exist counts too');
  t.equal((await ask('sk_b', 0)).outcome, 'internal', 'another account has its own minute');
  nowMs += 40_000;
  t.equal((await ask('sk_a', 0)).outcome, 'internal', 'after Retry-After it works again');
  const batch = await fetch(`${origin}/trpc/${Array(4).fill('account.get').join('%2C')}?batch=1`, { headers });
  t.match(
    await batch.json(),
    [{ error: { data: { error: { code: 'rate_limited' } } } }],
    'each call of a batch counts',
  );
});

t.test('wrong keys of an address have a limit of their own: a good key and the pages are served', async (t) => {
  const pages = express.Router().get('/p/x', (_req, res) => void res.send('page'));
  const { origin } = await startApp(t, { rateLimitPerMinute: 2, publicRateLimitPerMinute: 3, pages });
  const status = async (path: string, key?: string) =>
    (await fetch(origin + path, { headers: key ? { authorization: `Bearer ${key}` } : {}, redirect: 'manual' })).status;
  t.same(await Promise.all([1, 2, 3].map(() => status('/api/v1/account', 'sk_wrong'))), [401, 401, 401]);
  t.equal(await status('/api/v1/account', 'sk_wrong'), 429);
  t.equal(await status('/api/v1/account'), 429, 'no key at all counts the same');
  t.equal(await status('/trpc/account.get', 'sk_wrong'), 429);
  t.equal(
    await status('/api/v1/account', 'sk_a'),
    500,
    'a good key is served, and wrong ones did not count for its account',
  );
  t.equal(await status('/p/x'), 200);
  for (let n = 0; n < 3; n++) t.not(await status('/openapi.json'), 429);
  t.equal(await status('/openapi.json'), 429, 'the docs have a limit too');
  for (let n = 0; n < 5; n++) t.equal(await status('/health/live'), 200, 'health has none');
});

t.test('what tRPC refuses by itself needs a key, and counts like any other request', async (t) => {
  const { origin } = await startApp(t, { rateLimitPerMinute: 4, publicRateLimitPerMinute: 4 });
  const odd: [string, RequestInit?][] = [
    [`/trpc/${Array(21).fill('account.get').join(',')}?batch=1`],
    ['/trpc/products.create', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }],
    ['/trpc/%'],
    ['/trpc/account.get', { method: 'HEAD' }],
  ];
  const ask = async ([path, sent]: (typeof odd)[number], key?: string) => {
    const headers = { ...sent?.headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) };
    return (await fetch(origin + path, { ...sent, headers })).status;
  };
  for (const request of odd) t.equal(await ask(request), 401, `${request[0].slice(0, 30)} without a key`);
  for (const request of odd) t.equal(await ask(request), 429, `${request[0].slice(0, 30)} beyond the limit`);
  t.equal(await ask(odd[2]!, 'sk_a'), 400);
  t.equal(await ask(odd[0]!, 'sk_a'), 429, 'the calls of a batch count');
  for (const request of odd) t.equal(await ask(request, 'sk_a'), 429, `${request[0].slice(0, 30)} of the account`);
});

t.test('X-Forwarded-For names the client only when its proxy is trusted', async (t) => {
  const ask = async (origin: string, address: string) =>
    (await fetch(`${origin}/api/v1/account`, { headers: { 'x-forwarded-for': address } })).status;
  const trusting = await startApp(t, { publicRateLimitPerMinute: 1 }, systemClock, { trustProxy: 'loopback' });
  t.same(
    [
      await ask(trusting.origin, '8.8.8.8'),
      await ask(trusting.origin, '9.9.9.9'),
      await ask(trusting.origin, '8.8.8.8'),
    ],
    [401, 401, 429],
  );
  t.same(
    [await ask(trusting.origin, '2a00:1:2:3:4::1'), await ask(trusting.origin, '2a00:1:2:3:5::1')],
    [401, 429],
    'a /64 of IPv6 is one client',
  );
  t.same(
    [
      await ask(trusting.origin, '7.7.7.7:5012'),
      await ask(trusting.origin, '7.7.7.7:5013'),
      await ask(trusting.origin, '6.6.6.6:1'),
    ],
    [401, 429, 401],
    'the port of an entry is not the client',
  );
  t.same([await ask(trusting.origin, '[2a00:9::1]:443'), await ask(trusting.origin, '[2a00:9::2]')], [401, 429]);
  const chain = '5.5.5.5, 127.0.0.1:9000';
  t.same([await ask(trusting.origin, chain), await ask(trusting.origin, '5.5.5.5')], [401, 429], 'nor that of a proxy');
  const plain = await startApp(t, { publicRateLimitPerMinute: 1 });
  t.same([await ask(plain.origin, '8.8.8.8'), await ask(plain.origin, '9.9.9.9')], [401, 429]);
  t.equal(plain.lines.filter((line) => line.includes('TRUST_PROXY is not set')).length, 1, 'the operator is told once');
});

t.test('behind a PUBLIC_URL with a path, the docs and the document name it', async (t) => {
  const dashboard = {
    sessions: {} as never,
    passkeys: {} as never,
    setup: {} as never,
    cookie: {} as never,
    publicUrl: 'https://shop.example/pay',
  };
  const { origin } = await startApp(t, { dashboard });
  const to = async (path: string) => (await fetch(origin + path, { redirect: 'manual' })).headers.get('location');
  t.same([await to('/'), await to('/docs')], ['/pay/docs/', '/pay/docs/']);
  for (const [accept, status, location] of [
    ['text/html,application/xhtml+xml,*/*;q=0.8', 303, '/pay/dashboard'],
    ['application/json', 302, '/pay/docs/'],
  ] as const) {
    const answer = await fetch(`${origin}/`, { headers: { accept }, redirect: 'manual' });
    t.same([answer.status, answer.headers.get('location')], [status, location], `GET / of ${accept}`);
  }
  t.match(await (await fetch(`${origin}/docs/swagger-ui-init.js`)).text(), /"url": "\/pay\/openapi.json"/);
  t.match(await (await fetch(`${origin}/openapi.json`)).json(), { servers: [{ url: '/pay' }] });
});

t.test('metrics and the reasons of readiness are for the operator', async (t) => {
  const ask = async (origin: string, path: string, address?: string) => {
    const response = await fetch(origin + path, { headers: address ? { 'x-forwarded-for': address } : {} });
    return `${response.status} ${await response.text()}`;
  };
  const ready = /503 .*MongoDB is away/;
  const { origin } = await startApp(t, {});
  t.match(await ask(origin, '/metrics'), /^200/, 'loopback');
  t.match(await ask(origin, '/health/ready'), ready);
  t.match(await ask(origin, '/metrics', '127.0.0.1'), /^404/, 'a proxy that is not trusted may forward any client');
  t.equal(await ask(origin, '/health/ready', '127.0.0.1'), '503 {"status":"unavailable"}');
  const trusting = await startApp(t, {}, systemClock, { trustProxy: 1 });
  t.match(
    await ask(trusting.origin, '/metrics', '10.1.2.3'),
    /^404/,
    'a trusted proxy may forward from its own network',
  );
  t.match(await ask(trusting.origin, '/metrics'), /^200/);
  const forwarding = [
    ...['forwarded', 'via', 'x-real-ip', 'x-forwarded', 'x-forwarded-host', 'x-forwarded-proto', 'x-client-ip'],
    ...['x-original-forwarded-for', 'x-cluster-client-ip', 'true-client-ip', 'cf-connecting-ip', 'x-azure-clientip'],
  ];
  for (const name of forwarding) {
    for (const each of [origin, trusting.origin]) {
      t.equal((await fetch(`${each}/metrics`, { headers: { [name]: 'x' } })).status, 404, name);
    }
  }
  t.match(await ask(trusting.origin, '/metrics', '8.8.8.8'), /^404/);
  const apart = await startApp(t, {}, systemClock, { hasMetricsPort: true });
  t.match(await ask(apart.origin, '/metrics'), /^404/);
  t.equal(await ask(apart.origin, '/health/ready'), '503 {"status":"unavailable"}');
  t.match(await ask(apart.origin, '/health/live'), /^200/);

  const port = await freePort();
  const own = await startTestService(t, {
    role: 'api',
    env: { METRICS_PORT: String(port), HORIZON_URLS_LOCAL: 'http://127.0.0.1:1' },
  });
  t.match(await ask(own.url, '/metrics'), /^404/);
  t.match(await ask(`http://127.0.0.1:${port}`, '/metrics'), /^200 [\s\S]*collect_/);
  t.match(await ask(`http://127.0.0.1:${port}`, '/api/v1/account'), /^404/);
});

t.test('an unread answer does not hold its connection for ever', async (t) => {
  const app = express().get('/', (_req, res) => void res.send(Buffer.alloc(50_000_000)));
  const server = await listen(app, '127.0.0.1', 0, systemClock, { idleMs: 300 });
  t.teardown(() => server.close(0));
  const socket = connect(server.port, '127.0.0.1');
  const closed = new Promise((resolve) => socket.once('close', resolve).once('error', () => undefined));
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await eventually(async () => (await server.connections()) === 1, 'the connection is there');
  await eventually(async () => (await server.connections()) === 0, 'the connection is dropped', 5_000);
  socket.destroy();
  await closed;
});

t.test('closing lets what is in flight finish, and takes nothing new', async (t) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const account = {
    ...{ id: 'acct_a', name: 'a', brand: NO_BRAND, tolerancePercent: '0', tipPercents: [] },
    ...{ embedOrigins: [], onboarding: 'shown' },
    createdAt: '2026-11-21T09:30:00.000Z',
  };
  const services = new Proxy({}, { get: () => new Proxy({}, { get: () => async () => held.then(() => account) }) });
  const { origin, server } = await startApp(t, { services: services as never });
  await fetch(`${origin}/health/live`);
  const inFlight = call('REST', origin, 'sk_a', 'account.get');
  await new Promise((resolve) => setTimeout(resolve, 50));
  // Longer than a test may last: a connection that is kept alive does not hold it up.
  const closed = server.close(600_000);
  await t.rejects(fetch(`${origin}/health/live`), 'no new connection');
  release();
  t.equal((await inFlight).outcome, 'ok');
  await closed;
});

t.test('answers of REST were held against openapi.json', async (t) => {
  const count = [...answered.values()].reduce((sum, n) => sum + n, 0);
  t.comment(`${count} answers, ${answered.size} kinds`);
  t.ok(count > 400);
});

t.test('fifty faults of a body are listed, and the next one says how many more there are', async (t) => {
  const wide = (fields: number) =>
    JSON.stringify({ ...shirt, ...Object.fromEntries(Array.from({ length: fields }, (_, n) => [`x${n}`, 0])) });
  const exact = await send('POST', '/products', wide(50));
  t.equal(exact.error?.details?.length, 50);
  const many = await send('POST', '/products', wide(5000));
  t.equal(many.status, 422);
  t.equal(many.error?.details?.length, 51);
  t.match(many.error?.details?.[50], { path: '', code: 'more_errors', message: /4950 more/ });
  t.match(many.error?.message, /more than 50 errors/);
});

t.test('a batch has an Idempotency-Key only if it has one call: two creations alike are two', async (t) => {
  const create = async (calls: number) => {
    const names = Array(calls).fill('products.create').join(',');
    const response = await fetch(`${url}/trpc/${names}?batch=1`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': `batch-${calls}`,
      },
      body: JSON.stringify(Object.fromEntries(Array.from({ length: calls }, (_, n) => [n, shirt]))),
    });
    return (await response.json()) as any[];
  };
  const count = async () => (await service.api('GET', '/products')).meta!.total;
  const before = await count();
  t.match(await create(2), Array(2).fill({ error: { data: { httpStatus: 400, error: { code: 'bad_request' } } } }));
  t.equal(await count(), before, 'nothing was made');
  t.match(await create(1), [{ result: { data: { name: 'T-shirt' } } }]);
  t.equal(await count(), before + 1);
});
