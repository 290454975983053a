/** What a caller reads about a fault in what was sent. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { checkInput } from '../../src/api/input.js';

const { checkouts, events, paymentLinks, wallets, webhooks } = contract;
const NOW = new Date('2026-11-23T12:00:00Z');
const hook = { name: 'shop', url: 'https://shop.example/hook' };

const messagesOf = (operation: Operation, body: object) =>
  Object.fromEntries(
    checkInput(operation, body, { now: NOW, networks: ['LOCAL'], allowPrivate: false })
      .faults.list()
      .map(({ path, message }) => [path, message]),
  );

t.test('each fault is named in words of this service, not in those of a library', async (t) => {
  const cases: [operation: Operation, body: object, path: string, message: string][] = [
    [
      checkouts.create,
      { productId: 'prod_1', metadata: { 'a b': 'x' } },
      'metadata.a b',
      'A key has 1 to 40 letters, digits, _, . and -.',
    ],
    [checkouts.create, { productId: 'prod_1', metadata: [] }, 'metadata', 'Must be an object.'],
    [
      checkouts.create,
      { productId: 'prod_1', expiresAt: '2026-12-01T10:00:00' },
      'expiresAt',
      'Must be an ISO 8601 timestamp with an offset, such as 2026-11-21T09:30:00Z, or a date.',
    ],
    ...['http://localhost:4000/hook', 'http://127.0.0.1/', 'http://[::1]:1', 'http://shop.localhost'].map(
      (url): [Operation, object, string, string] => [
        webhooks.update,
        { ...hook, url },
        'url',
        'Must be an https URL. For an endpoint on your machine run `webhook listen --forward <url>`, which registers a webhook and passes deliveries on.',
      ],
    ),
    ...['9999-12-31T23:59:59-05:00', '0000-01-01T00:00:00+01:00'].map((endsAt): [Operation, object, string, string] => [
      paymentLinks.update,
      { endsAt },
      'endsAt',
      'Must be in a year from 0000 to 9999, in UTC.',
    ]),
    [webhooks.create, { ...hook, url: 'http://shop.example' }, 'url', 'Must be an https URL.'],
    [webhooks.create, { ...hook, events: [] }, 'events', 'Must have at least 1 entry.'],
    [
      webhooks.create,
      { ...hook, events: Array(21).fill('payment.received') },
      'events',
      'Must have at most 20 entries.',
    ],
    [events.list, { after: 1, page: 2 }, 'page', 'Cannot be combined with `after`.'],
    [events.list, { wait: 5 }, 'wait', 'Only allowed together with `after`.'],
    [wallets.create, { name: '\u200b\u2060\u3164' }, 'name', 'Must not be empty or blank.'],
  ];
  for (const [operation, body, path, message] of cases) {
    t.equal(messagesOf(operation, body)[path], message, `${operation.path}: ${path}`);
  }
});

t.test('a body has objects where none may be, which cannot even be text → each is a fault of its field', async (t) => {
  const odd = { toString: 1, valueOf: 1 };
  for (const operation of Object.values(contract).flatMap((each): Operation[] => Object.values(each))) {
    const fields = Object.keys(operation.input.shape);
    const nested = Object.fromEntries(
      ['min', 'max', 'quantity', 'fields', 'lines', 'items', 'options', 'key'].map((name) => [name, odd]),
    );
    for (const value of [odd, [odd], nested, [nested], { quantity: nested, fields: [nested] }]) {
      const body = Object.fromEntries(fields.map((name) => [name, value]));
      const { faults } = checkInput(operation, body, { now: NOW, networks: ['LOCAL'], allowPrivate: false });
      t.equal(faults.count > 0, fields.length > 0, operation.path);
    }
  }
});
