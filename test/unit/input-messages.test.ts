/** What a caller reads about a fault in what was sent. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { checkInput } from '../../src/api/input.js';

const { checkouts, events, wallets, webhooks } = contract;
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
