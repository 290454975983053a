/** Which shards each operation asks: the account's own, and the one that holds what is
 *  not divided. */
import { readFileSync } from 'node:fs';
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import t from 'tap';
import { downloads } from '../../contracts/exports.js';
import { contract } from '../../contracts/index.js';
import { pagePayments } from '../../contracts/page-payments.js';
import { call } from '../helpers/api.js';
import { testCluster } from '../helpers/cluster.js';
import { changingInputs, type Input, openEverything, PAIR } from '../helpers/every-operation.js';
import { startReceiver } from '../helpers/receiver.js';
import { startTestService } from '../helpers/service.js';
import { type Asked, askedOf, BY_ACCOUNT, moveFrom, placesOf } from '../helpers/shards.js';

const cluster = await testCluster(t, { parameters: { orphanCleanupDelaySecs: 0 } });
const database = cluster.database();
const receiver = await startReceiver();
t.teardown(() => receiver.close());
const service = await startTestService(t, { database, role: 'api', env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
const { apiKey, accountId } = await service.openAccount();
const world = await openEverything(service, receiver, apiKey);
const { primary, other: home } = await placesOf(database);
// The account lies apart from what is not divided, so that the shards tell which of the two was
// asked for.
await moveFrom(database, accountId, home);

const [{ link, order, wallet, product, webhook, delivery, payer }, { id: eventId }] = [
  world,
  (await service.api('GET', '/events', undefined, apiKey)).data[0],
];
const id = (of: { id: string }) => async () => ({ id: of.id });
const nothing = async () => ({});

/** By operation that only reads. */
const READING: Record<string, () => Promise<Input>> = {
  'account.get': nothing,
  'account.readiness': nothing,
  'notifications.get': nothing,
  'apiKeys.list': nothing,
  'users.list': nothing,
  'users.get': async () => ({ id: (await world.post('/users', { name: 'Di', role: 'VIEWER' })).id }),
  'users.passkeys': async () => ({ id: (await world.post('/users', { name: 'Di', role: 'VIEWER' })).id }),
  'wallets.list': async () => ({ search: 'shop' }),
  'wallets.get': id(wallet),
  'wallets.assets': id(wallet),
  'wallets.gaps': id(wallet),
  'wallets.audits': id(wallet),
  'wallets.statement': id(wallet),
  'products.list': async () => ({ search: 'shirt' }),
  'products.get': id(product),
  'paymentLinks.list': async () => ({ productId: product.id }),
  'paymentLinks.get': id(link),
  'paymentLinks.instructions': id(link),
  'coupons.list': nothing,
  'coupons.get': async () => ({ id: (await world.post('/coupons', { code: 'SHARDS', percentOff: '5' })).id }),
  'checkouts.list': async () => ({ status: ['OPEN'] }),
  'checkouts.get': id(order),
  'checkouts.instructions': id(order),
  'payments.list': async () => ({ search: 'shirt', walletId: wallet.id }),
  'payments.get': id(world.accepted),
  'payments.refund': id(world.refunded),
  'payments.proof': id(world.accepted),
  'rates.list': nothing,
  'rates.quote': async () => ({ ...PAIR, price: '5' }),
  'events.list': async () => ({ after: 0, wait: 1 }),
  'events.get': async () => ({ id: eventId }),
  'webhooks.list': nothing,
  'webhooks.get': id(webhook),
  'webhooks.deliveries': async () => ({ id: webhook.id, status: 'DELIVERED' }),
  'webhooks.health': id(webhook),
  'deliveries.get': id(delivery),
  'reports.summary': async () => ({ groupBy: 'day', status: ['COMPLETED'], parts: true }),
  'activity.list': nothing,
};
const INPUTS = { ...READING, ...changingInputs(world) };

const get = (path: string) => async () => {
  const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${apiKey}` } });
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
  // A stream has no end: its first event is the answer.
  for await (const chunk of answer.body!) if (isStream && Buffer.from(chunk).toString().includes('data:')) break;
  // Without a worker the service is not ready.
  if (answer.status !== 200 && path !== '/health/ready') throw new Error(`${path}: ${answer.status}`);
};
const post = async (path: string, body: object): Promise<any> => {
  const [headers, method] = [{ 'content-type': 'application/json' }, 'POST'];
  const answer = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) });
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`);
  return ((await answer.json()) as any).data;
};
const unsigned = () => post(`/p/${link.slug}/transaction`, { account: payer.address });

/** What is no procedure. @returns what is done then */
const OTHERS: Record<string, () => Promise<() => Promise<unknown>>> = {
  'pagePayments.ways': async () => () => post(`/p/${link.slug}/ways`, { account: payer.address }),
  'pagePayments.transaction': async () => unsigned,
  'pagePayments.submit': async () => {
    const { xdr, networkPassphrase } = await unsigned();
    const signed = TransactionBuilder.fromXDR(xdr, networkPassphrase);
    signed.sign(Keypair.fromSecret(payer.secret));
    return () => post(`/p/${link.slug}/submit`, { xdr: signed.toXDR() });
  },
};
const GETS: Record<string, string> = {
  'events.stream': '/api/v1/events/stream?after=0',
  'payments.export': '/api/v1/payments/export',
  'checkouts.export': '/api/v1/checkouts/export',
  'GET /p/{slug}': `/p/${link.slug}`,
  'GET /p/{slug}/status': `/p/${link.slug}/status`,
  'GET /p/{slug}/events': `/p/${link.slug}/events`,
  'GET /p/{slug}/poster': `/p/${link.slug}/poster`,
  'GET /p/{slug}/qr.svg': `/p/${link.slug}/qr.svg`,
  'GET /c/{slug}': `/c/${order.slug}`,
  'GET /c/{slug}/status': `/c/${order.slug}/status`,
  'GET /c/{slug}/events': `/c/${order.slug}/events`,
  'GET /c/{slug}/receipt': `/c/${order.slug}/receipt`,
  'GET /health/ready': '/health/ready',
  'GET /metrics': '/metrics',
};
for (const [name, path] of Object.entries(GETS)) OTHERS[name] = async () => get(path);
const orderLink = await world.post('/payment-links', { productId: product.id, order: { fields: [] } });
OTHERS['POST /p/{slug}/orders'] = async () => async () => {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const answer = await fetch(`${service.url}/p/${orderLink.slug}/orders`, { method: 'POST', headers, body: '{}' });
  if (answer.status !== 201) throw new Error(await answer.text());
};

/** What belongs to no account. */
const OF_ALL: Record<string, string> = { 'GET /metrics': 'counts the e-mails of all accounts that wait' };

/** What a pipeline looks up on its own shard, which the profiler does not tell by itself. */
const LOOKED_UP: Record<string, readonly string[]> = { 'reports.summary': ['checkouts'] };

const namesOf = (tree: Record<string, object>) =>
  Object.entries(tree).flatMap(([resource, byName]) => Object.keys(byName).map((name) => `${resource}.${name}`));

/** A name is looked up by its value, so that one shard is asked. */
const isByValue = ({ op, command }: Asked) =>
  op === 'insert' || 'insert' in command || [command.filter ?? command.q ?? {}].every(({ _id }) => _id !== undefined);

/** What the page for readers says, by operation: collections on the account's shard, and whether a
 *  memo or slug is looked up. */
const SAID = new Map(
  readFileSync(new URL('../../docs/reference/shards.md', import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, where, named] = /^\| `(.*)` \| (.*) \| (.*)\|$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, { where: where!, isNamed: named!.trim() === 'yes' }] as const];
    }),
);

t.test('every operation of the contract, and the pages, ask the account’s shard alone', async (t) => {
  const all = [contract, { pagePayments }, downloads].flatMap(namesOf);
  const pages = Object.keys(OTHERS).filter((name) => /^(GET|POST) /.test(name));
  const known = [...Object.keys(INPUTS), ...Object.keys(OTHERS)].filter((name) => !pages.includes(name));
  t.same(known.toSorted(), all.toSorted(), 'each operation has its row');

  t.same([...SAID.keys()], [...all, ...pages], 'the page has each of them');
  for (const name of [...all, ...pages]) {
    const input = await INPUTS[name]?.();
    const act = await OTHERS[name]?.();
    const asked = await askedOf(cluster, database.name, async () => {
      if (act) return act();
      const { outcome, error } = await call('REST', service.url, apiKey, name, input);
      t.equal(outcome, 'ok', `${name}: ${JSON.stringify(error)}`);
    });
    const divided = asked.map((of) => of.filter(({ collection }) => BY_ACCOUNT.includes(collection)));
    const elsewhere = divided[primary]!.map((each) => JSON.stringify(each).slice(0, 500));
    if (!OF_ALL[name]) t.same(elsewhere, [], `${name}: its account's shard alone`);
    const byName = asked.flat().filter(({ collection }) => collection === 'payableNames');
    t.same(
      byName.filter((each) => !isByValue(each)),
      [],
      `${name}: memos and slugs by their values`,
    );
    const whole = asked[home]!.filter((each) => !divided[home]!.includes(each) && !byName.includes(each));
    t.same(whole, [], `${name}: what is not divided lies on one shard`);
    const { where, isNamed } = SAID.get(name)!;
    t.equal(byName.length > 0, isNamed, `${name}: whether a memo or slug is looked up`);
    if (OF_ALL[name]) t.equal(where, `every shard: ${OF_ALL[name]}`);
    else {
      const here = [...divided[home]!.map(({ collection }) => collection), ...(LOOKED_UP[name] ?? [])];
      // There may be more: something goes on after an answer, as when a stream has ended.
      for (const collection of where.split(', ').filter((each) => each !== '–'))
        t.ok(here.includes(collection), `${name} asks ${collection}`);
    }
  }
});
