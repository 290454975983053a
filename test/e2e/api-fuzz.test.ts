/** Requests made from the contracts, mostly wrong, some hostile: each is answered as openapi.json
 *  says, and none with a 500. FUZZ_REQUESTS sets how many; a failure prints the seed, FUZZ_SEED
 *  repeats it. */
import fc from 'fast-check';
import t from 'tap';
import { z } from 'zod';
import type { Operation } from '../../contracts/operation.js';
import { answered, call, operations, request } from '../helpers/api.js';
import { IS_LONG } from '../helpers/long.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

t.setTimeout(3_600_000);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? (IS_LONG ? 2000 : 500));
const AT_ONCE = 20;

// Other files of this process have been answered, too.
answered.clear();
const service = await startTestService(t);
const { url, apiKey } = service;
const { wallet, product, link } = await startSelling(service);
const make = async (name: string, input: Record<string, unknown>) =>
  (await call('REST', url, apiKey, name, input)).data;
const webhook = await make('webhooks.create', { name: 'a', url: 'https://127.0.0.1:1/', events: ['payment.received'] });
const spare = await make('apiKeys.create', { name: 'spare' });
const user = await make('users.create', { name: 'Ana', role: 'VIEWER' });
const coupon = await make('coupons.create', { code: 'SPRING', percentOff: '10' });
const other = await service.openAccount();
for (const memo of [link.memo, 'nobody']) {
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '5', memo });
}
const payments = await eventually(async () => {
  const found = await make('payments.list', { status: ['UNDERPAID', 'UNMATCHED'] });
  return found.length === 2 && found;
}, 'two payments');
const delivery = await eventually(async () => (await make('webhooks.deliveries', { id: webhook.id }))[0], 'a delivery');
const event = (await make('events.list', {}))[0];
const checkout = await make('checkouts.create', {
  walletId: wallet.id,
  name: 'An order',
  assetCode: 'XLM',
  amount: '5',
});
/** Ids that exist, and some that do not. The key that the requests are sent with is not
 *  among them. */
const ids = [wallet, product, link, checkout, coupon, webhook, spare, user, delivery, event, ...payments]
  .map(({ id }: { id: string }) => id)
  .concat(other.accountId, 'prod_01jd3k5v9ye6rbh2x7q0w4tznc');

/** Those of the operation's own kind. What can be deleted for good is not offered for deletion. */
function fitting({ method, path }: Operation): string[] {
  const kind = path.split('/')[1]!;
  if (method === 'DELETE' && (kind === 'webhooks' || kind === 'api-keys' || kind === 'users')) return ['hook_x'];
  const prefix = {
    wallets: 'wallet',
    products: 'prod',
    'payment-links': 'link',
    checkouts: 'chk',
    payments: 'pay',
    events: 'evt',
    webhooks: 'hook',
    deliveries: 'dlv',
    'api-keys': 'key',
    users: 'user',
    coupons: 'coup',
  }[kind];
  return ids.filter((id) => id.startsWith(`${prefix}_`) && !id.endsWith('tznc'));
}

const hostileText = fc.constantFrom(
  ...[
    '',
    ' ',
    '\0',
    '\ud800',
    '\u202e',
    '👕',
    'é'.normalize('NFD'),
    '$where',
    '{"$gt":""}',
    '.*',
    '(((((',
    '[',
    '\\',
    "' OR 1=1",
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '../../etc/passwd',
    '%00',
    '%',
    '<script>',
    '\r\nX: y',
    'null',
    'NaN',
    'true',
    '-1',
  ],
  ...[
    '9'.repeat(400),
    'a'.repeat(3000),
    '1e309',
    '0.00000001',
    '2026-02-30',
    '0000-01-01',
    '9999-12-31T23:59:59.999Z',
    '9999-12-31T23:59:59-05:00',
    'https://[::1',
    'https://127.0.0.1:1/ä?#',
  ],
);
const hostileValue = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, 0, -0, 1, -1, 0.1, 1e21, 2 ** 53, 1e308) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { $ne: null },
      { $gt: '' },
      { $where: 'sleep(1000)' },
      [],
      {},
      [[]],
      [null],
      {
        length: 3,
      },
      { toString: 1, valueOf: 1 },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);

/** Values that the schema takes, more or less. */
function likely(schema: z.ZodType): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return fc.oneof(fc.constant(undefined), likely(schema.unwrap() as z.ZodType));
  }
  if (schema instanceof z.ZodNullable) return fc.oneof(fc.constant(null), likely(schema.unwrap() as z.ZodType));
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...schema.options);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodNumber) return fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer());
  if (schema instanceof z.ZodArray) return fc.array(likely(schema.element as z.ZodType), { maxLength: 3 });
  if (schema instanceof z.ZodUnion)
    return fc.constantFrom('2026-11-21', '2099-01-01T00:00:00Z', '2026-11-21T00:00:00+14:00');
  return fc.constantFrom(
    ...ids,
    ...['XLM', 'USDC', '10.5', '25', 'T-shirt', wallet.address, 'https://127.0.0.1:1/hook'],
  );
}

const fieldOf = (schema: unknown) =>
  fc.oneof({ weight: 5, arbitrary: likely(schema as z.ZodType) }, { weight: 1, arbitrary: hostileValue });
const inputOf = (shape: Operation['body']) =>
  fc.record(
    Object.fromEntries(
      Object.entries(shape).map(([name, schema]) => [
        name,
        // These requests must not wait for events that never come.
        name === 'wait' ? fc.oneof(fc.constant(0), hostileValue) : fieldOf(schema),
      ]),
    ),
    { requiredKeys: [] },
  );

const queryText = (query: Operation['query']) =>
  fc
    .oneof(
      { weight: 4, arbitrary: inputOf(query).map((fields) => fields as Record<string, unknown>) },
      {
        weight: 1,
        arbitrary: fc.dictionary(
          fc.oneof(fc.constantFrom(...Object.keys(query), '__proto__', 'page[$gt]'), hostileText),
          hostileValue,
        ),
      },
    )
    .chain((fields) => {
      const pairs = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined
          ? []
          : [value]
              .flat()
              .map((one) => `${encode(name)}=${encode(typeof one === 'object' ? JSON.stringify(one) : String(one))}`),
      );
      return fc.shuffledSubarray([...pairs, ...pairs.slice(0, 1)], { minLength: pairs.length });
    });
/** Lone surrogates cannot be encoded; what is sent in their place does not matter. */
const encode = (text: string) => encodeURIComponent(text.toWellFormed());

const bodyText = (body: Operation['body']) =>
  fc.oneof(
    { weight: 8, arbitrary: inputOf(body).map((fields) => JSON.stringify(fields)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(
          inputOf(body),
          fc.dictionary(fc.oneof(hostileText, fc.constantFrom('id', '_id', 'accountId')), hostileValue),
        )
        .map(([fields, more]) => JSON.stringify({ ...fields, ...more })),
    },
    { weight: 1, arbitrary: fc.json() },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '{',
        '[]',
        'null',
        '{"a":1}{}',
        '{"__proto__":{"name":"x"}}',
        '['.repeat(9999),
        '{"name":1e999}',
        '{"name":"\\ud800"}',
      ),
    },
  );

const idOf = (operation: Operation) =>
  'id' in operation.params
    ? fc.oneof(
        fc.constantFrom(...fitting(operation)).map((id) => ({ id })),
        fc.constant({}),
      )
    : fc.constant({});

interface Sent {
  method: string;
  path: string;
  body?: string;
  type?: string;
}

const requestOf = (operation: Operation): fc.Arbitrary<Sent> =>
  fc
    .record({
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method as string) },
        { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD') },
      ),
      id: fc.oneof(
        { weight: 8, arbitrary: 'id' in operation.params ? fc.constantFrom(...fitting(operation)) : fc.constant('') },
        { weight: 2, arbitrary: fc.constantFrom(...ids) },
        { weight: 1, arbitrary: hostileText.map(encode) },
        { weight: 1, arbitrary: fc.constantFrom('%', '%E0%A4%A', '..', '.', '%2e%2e', '*', ';x=1') },
      ),
      query: queryText(operation.query),
      body:
        operation.method === 'GET'
          ? fc.constant(undefined)
          : fc.oneof(
              { weight: operation.hasBody ? 9 : 1, arbitrary: bodyText(operation.body) },
              { weight: 1, arbitrary: fc.constant(undefined) },
            ),
      type: fc.oneof(
        { weight: 20, arbitrary: fc.constant('application/json') },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            'text/plain',
            'application/json; charset=latin1',
            'application/x-www-form-urlencoded',
          ),
        },
      ),
    })
    .map(({ method, id, query, body, type }) => ({
      method,
      path: `${operation.path.replace('{id}', id)}${query.length > 0 ? `?${query.join('&')}` : ''}`,
      ...(body === undefined || method === 'GET' || method === 'HEAD' ? {} : { body, type }),
    }));

// The sample request of a webhook's test goes out, and takes its time.
const requests = fc.oneof(...[...operations.values()].filter(({ path }) => !path.endsWith('/test')).map(requestOf));

t.test(`${REQUESTS} requests over REST are answered as documented, none with a 500`, async (t) => {
  const send = ({ method, path, body, type }: Sent) =>
    request(url, method, path, {
      headers: { authorization: `Bearer ${apiKey}`, ...(type ? { 'content-type': type } : {}) },
      ...(body === undefined ? {} : { body }),
    });
  await check(requests, async (sent) => {
    const { status } = await send(sent);
    if (status >= 500 || status === 401) throw new Error(`${status} for ${JSON.stringify(sent)}`);
  });
  const counts: Record<string, number> = {};
  for (const [kind, n] of answered) counts[kind.split(' ')[1]!] = (counts[kind.split(' ')[1]!] ?? 0) + n;
  t.comment(JSON.stringify(counts));
  for (const status of [200, 201, 400, 404, 422]) t.ok(counts[status], `some were answered with ${status}`);
  t.notOk(counts[500]);
});

t.test(`${REQUESTS / 4} calls over tRPC have REST's outcomes, none is a fault`, async (t) => {
  const calls = fc.oneof(
    ...[...operations]
      .filter(([name]) => name !== 'webhooks.test')
      .map(([name, operation]) =>
        fc.tuple(
          fc.constant(name),
          fc.oneof(
            {
              weight: 6,
              arbitrary: fc
                .tuple(inputOf({ ...operation.params, ...operation.query, ...operation.body }), idOf(operation))
                .map(([fields, id]) => ({ ...fields, ...id })),
            },
            { weight: 1, arbitrary: hostileValue },
          ),
        ),
      ),
  );
  const outcomes: Record<string, number> = {};
  await check(
    calls,
    async ([name, input]) => {
      const { outcome } = await call('tRPC', url, apiKey, name, input as Record<string, unknown>);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (outcome === 'internal' || outcome === 'unauthorized')
        throw new Error(`${outcome} for ${name} ${JSON.stringify(input)}`);
    },
    REQUESTS / 4,
  );
  t.comment(JSON.stringify(outcomes));
  t.ok(outcomes.ok);
});

t.test('afterwards the service is as well as before', async (t) => {
  t.equal((await call('REST', url, apiKey, 'account.get')).outcome, 'ok');
  t.equal((await call('REST', url, other.apiKey, 'products.list')).meta?.total, 0, 'nothing went to another account');
});

/** Several at once; a failure is shrunk to the requests that make it. */
function check<T>(one: fc.Arbitrary<T>, send: (sent: T) => Promise<void>, count = REQUESTS): Promise<void> {
  const seed = process.env.FUZZ_SEED === undefined ? {} : { seed: Number(process.env.FUZZ_SEED) };
  const many = fc.array(one, { minLength: AT_ONCE, maxLength: AT_ONCE });
  return fc.assert(
    fc.asyncProperty(many, async (batch) => {
      await Promise.all(batch.map(send));
    }),
    { numRuns: Math.ceil(count / AT_ONCE), endOnFailure: true, includeErrorInReport: true, ...seed },
  );
}
