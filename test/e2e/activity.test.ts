/** Activity: every operation of the contract that changes something is recorded in the
 *  transaction of the change, and for its account alone. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { createMcpService } from '../../src/api/mcp/serve.js';
import { systemClock } from '../../src/kit/clock.js';
import { call, operations, type Transport } from '../helpers/api.js';
import { startProgram } from '../helpers/command.js';
import { changingInputs, type Input, openEverything } from '../helpers/every-operation.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { comeIn } from '../helpers/people.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

type Json = any;

const database = await testDatabase(t, { own: true });
const { db } = database;
const receiver = await startReceiver();
t.teardown(() => receiver.close());
const service = await startTestService(t, { database, role: 'api', env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
const { api } = service;
const ledger = service.context.localLedger!.client;
const post = async (path: string, body?: unknown): Promise<Json> => {
  const { data, error } = await api('POST', path, body);
  if (error) throw new Error(`${path}: ${JSON.stringify(error)}`);
  return data;
};
const list = async (query = '', key?: string): Promise<Json[]> =>
  (await api('GET', `/activity?pageSize=100${query}`, undefined, key)).data;

const world = await openEverything(service, receiver);
const { wallet, newProduct, product } = world;
const INPUTS: Record<string, () => Promise<Input>> = {
  ...changingInputs(world),
  'wallets.mendGaps': async () => {
    const of = {
      accountId: service.accountId,
      walletId: wallet.id,
      network: 'LOCAL',
      fromLedger: 2,
      toLedger: 3,
    } as const;
    const open = { at: new Date(), readTo: null, mendedAt: null, isLost: false, lostSince: null };
    await db.collection<Json>('gaps').insertOne({ _id: 'gap_1', ...of, ...open });
    return { id: wallet.id };
  },
};

/** What must be told of each; where nothing stands, something. */
const CHANGES: Record<string, Json[]> = {
  'account.update': [
    { field: 'rateMarkupPercent', from: '0', to: '1.5' },
    { field: 'brand.name', from: null, to: 'Shop' },
  ],
  'notifications.set': [
    { field: 'recipients', from: [], to: ['ana@shop.example'] },
    { field: 'kinds', from: [], to: ['wallet.gap'] },
  ],
  'apiKeys.rotate': [{ field: 'key', from: null, to: null }],
  'apiKeys.delete': [
    { field: 'name', from: 'gone', to: null },
    { field: 'scope', from: 'READ', to: null },
    { field: 'key', from: null, to: null },
  ],
  'users.update': [{ field: 'role', from: 'VIEWER', to: 'MANAGER' }],
  'wallets.update': [
    { field: 'name', from: 'Another', to: 'Till' },
    { field: 'active', from: true, to: false },
  ],
  'wallets.mendGaps': [],
  'products.update': [
    { field: 'name', from: 'Mug', to: 'Large mug' },
    { field: 'price', from: '9.5', to: '10.5' },
  ],
  'coupons.update': [{ field: 'active', from: true, to: false }],
  'paymentLinks.update': [{ field: 'active', from: true, to: false }],
  'checkouts.create': [
    { field: 'productId', from: null, to: product.id },
    { field: 'quantity', from: null, to: 2 },
    { field: 'metadata.table', from: null, to: '7' },
  ],
  'checkouts.cancel': [{ field: 'status', from: 'OPEN', to: 'CANCELLED' }],
  'checkouts.accept': [{ field: 'status', from: 'OPEN', to: 'PAID' }],
  'payments.accept': [{ field: 'status', from: 'UNDERPAID', to: 'COMPLETED' }],
  'payments.assign': [{ field: 'status', from: 'UNMATCHED', to: 'UNDERPAID' }],
  'payments.dismiss': [
    { field: 'needsDecision', from: true, to: false },
    { field: 'decisionNote', from: null, to: 'a tip' },
  ],
  'rates.set': [{ field: 'rate', from: null, to: '0.25' }],
  'rates.delete': [{ field: 'rate', from: '0.25', to: null }],
  'webhooks.update': [
    { field: 'url', from: `${receiver.origin}/told`, to: `${receiver.origin}/other` },
    { field: 'events', from: ['payment.received', 'payment.completed'], to: ['payment.received'] },
    { field: 'status', from: 'ACTIVE', to: 'PAUSED' },
  ],
  'webhooks.test': [],
  'webhooks.rotateSecret': [{ field: 'secret', from: null, to: null }],
  'webhooks.deletePreviousSecret': [{ field: 'previousSecret', from: null, to: null }],
  'deliveries.redeliver': [],
};

/** All that belongs to accounts, but for what no merchant sees: by it a change that was not told of
 *  shows itself. */
async function stored(): Promise<Record<string, Json[]>> {
  const names = ['accounts', 'api-keys', 'users', 'wallets', 'products', 'paymentLinks', 'checkouts', 'payments'];
  names.push('webhooks', 'deliveries', 'replays', 'audits', 'gaps', 'ownRates', 'refunds', 'events', 'activities');
  const found = await Promise.all(names.map((name) => db.collection(name).find({}).sort({ _id: 1 }).toArray()));
  const hidden = ['lastUsedAt', 'checkoutsMade', 'lease'];
  const shown = (doc: Json) => Object.fromEntries(Object.entries(doc).filter(([name]) => !hidden.includes(name)));
  return Object.fromEntries(names.map((name, index) => [name, found[index]!.map(shown)]));
}

/** While nothing can be told. */
const refuseActivity = (isRefused: boolean) =>
  db.command({ collMod: 'activities', validator: isRefused ? { accountId: 'nobody' } : {} });

const changing = Object.entries(contract).flatMap(([resource, byName]) =>
  Object.entries(byName as Record<string, Operation>).flatMap(([name, operation]) =>
    operation.effect === 'reads' ? [] : [[`${resource}.${name}`, operation] as const],
  ),
);

t.test('every operation that changes something is told of, with the change or not at all', async (t) => {
  t.same(Object.keys(INPUTS).sort(), changing.map(([name]) => name).sort(), 'each has its row');
  for (const [index, [name, { secretField, effect }]] of changing.entries()) {
    const [input, changes] = [await INPUTS[name]!(), CHANGES[name]];
    const transport: Transport = index % 2 === 0 ? 'REST' : 'tRPC';
    const operation = name.replace('.', '_');
    const known = await list(`&operation=${operation}`);

    const before = await stored();
    await refuseActivity(true);
    const failed = await call(transport, service.url, service.apiKey, name, input);
    await refuseActivity(false);
    t.equal(failed.outcome, 'internal', `${name} fails when it cannot be told`);
    t.same(await stored(), before, `${name} changes nothing then`);

    const done = await call(transport, service.url, service.apiKey, name, input);
    t.equal(done.outcome, 'ok', `${name}: ${JSON.stringify(done.error)}`);
    const [told, ...others] = (await list(`&operation=${operation}`)).slice(0, -known.length || undefined);
    t.equal(others.length, 0, `${name} is told once`);
    t.match(told, { operation, address: '127.0.0.1', actor: { type: 'key', name: 'first key', id: /^key_/ } }, name);
    const subject = input.id ?? done.data?.id;
    if (subject !== undefined && !/^(account|notifications)\./.test(name))
      t.equal(told?.subjectId, subject, `${name}: its subject`);
    if (changes) t.match(told?.changes, changes, name);
    else if (effect === 'changes' || Object.keys(input).some((field) => field !== 'id'))
      t.ok(told?.changes.length > 0, `${name} says what`);
    if (secretField) {
      const secret = secretField.split('.').reduce((at: Json, field) => at[field], done.data);
      t.ok(secret, `${name} shows a secret`);
      t.notOk(JSON.stringify(told).includes(secret), `${name}: which is not told`);
    }
  }
});

t.test('a call that changes nothing is not recorded, and a repeated one is recorded once', async (t) => {
  const count = async () => (await api('GET', '/activity?pageSize=1')).meta!.total;
  const before = await count();
  for (const [path, body] of [
    [`/products/${product.id}`, { name: product.name }],
    [`/wallets/${wallet.id}`, { active: true }],
    ['/account', { brand: { name: 'Shop' } }],
  ] as const)
    t.equal((await api('PATCH', path, body)).status, 200);
  t.equal((await post(`/payments/${world.dismissed.id}/dismiss`)).decisionNote, 'a tip');
  t.equal((await api('PATCH', `/products/${product.id}`, { price: 'x' })).status, 422);
  t.equal((await api('DELETE', `/products/${product.id}`)).status, 409);
  t.equal(await count(), before);
  for (let n = 0; n < 3; n++) {
    const { outcome } = await call('REST', service.url, service.apiKey, 'products.create', newProduct, {
      idempotencyKey: 'once',
    });
    t.equal(outcome, 'ok');
  }
  t.equal(await count(), before + 1);
});

t.test('the actor: a user, a key, an assistant with it, the command line, the service', LONG, async (t) => {
  const manager = await comeIn(service, 'MANAGER', 'Mia');
  const joined = (await list(`&subjectId=${manager.id}`))[0];
  t.match(joined, {
    ...{ operation: 'users_accept', actor: { type: 'user', id: manager.id, name: 'Mia' }, address: '127.0.0.1' },
    changes: [{ field: 'status', from: 'INVITED', to: 'ACTIVE' }],
  });
  await manager.call('products.update', false, { id: product.id, description: 'By Mia' });
  t.match(await list(`&actorId=${manager.id}&subjectId=${product.id}`), [
    { actor: { type: 'user', name: 'Mia' }, changes: [{ field: 'description', from: null, to: 'By Mia' }] },
  ]);

  const mcp = createMcpService({ url: service.url, apiKey: service.apiKey, clock: systemClock });
  const { signal } = new AbortController();
  const input = { id: product.id, description: 'By an assistant' };
  await mcp.call('products.update', operations.get('products.update')!, input, signal);
  t.match((await list(`&subjectId=${product.id}`))[0], {
    actor: { type: 'key' },
    changes: [{ from: 'By Mia', to: 'By an assistant' }],
  });

  const env = { MONGODB_URI: database.uri, DATA_DIR: service.dataDir, SECRETS_KEY: TEST_SECRETS_KEY };
  const cli = (...args: string[]) => startProgram('src/cli/main.ts', args, { env }).ended;
  const made = await cli('key', 'create', '--account', service.accountId, '--name', 'by hand', '--json');
  t.equal(made.code, 0, made.stderr);
  const { id, key } = JSON.parse(made.stdout).apiKey;
  const byHand = (await list('&actorId=cli'))[0];
  t.match(byHand, { actor: { type: 'cli', name: 'cli' }, operation: 'apiKeys_create', subjectId: id, address: null });
  t.notOk(JSON.stringify(byHand).includes(key));
  t.equal((await cli('key', 'revoke', id)).code, 0);
  t.match((await list('&actorId=cli'))[0], { operation: 'apiKeys_delete', subjectId: id });
  const opened = JSON.parse((await cli('account', 'create', '--name', 'New', '--json')).stdout);
  const ofNew = await list('', opened.apiKey.key);
  t.match(ofNew, [
    { operation: 'apiKeys_create', subjectId: opened.apiKey.id },
    { operation: 'account_create', subjectId: opened.account.id, changes: [{ field: 'name', from: null, to: 'New' }] },
  ]);

  receiver.behave(() => ({ status: 410 }));
  const gone = await post('/webhooks', { name: 'gone', url: `${receiver.origin}/gone`, events: ['payment.unmatched'] });
  const worker = await service.join('worker');
  await ledger.pay({ to: wallet.address, amount: '1', memo: 'nothing' });
  const paused = await eventually(async () => (await list(`&actorId=system&subjectId=${gone.id}`))[0], 'it is paused');
  t.match(paused, {
    ...{ actor: { type: 'system', name: 'system' }, operation: 'webhooks_pause', address: null },
    changes: [{ field: 'status', from: 'ACTIVE', to: 'PAUSED' }],
  });
  await worker.close();
});

t.test('a caller reads activity → that of the own account alone, where the key or role may', async (t) => {
  const other = await service.openAccount();
  const mine = await list();
  const theirs = await list('', other.apiKey);
  t.equal(theirs.filter(({ id }) => mine.some((each) => each.id === id)).length, 0);
  for (const query of [
    `&subjectId=${product.id}`,
    `&actorId=${mine.find(({ actor }) => actor.type === 'key').actor.id}`,
  ])
    t.same(await list(query, other.apiKey), [], `a stranger finds nothing by ${query}`);
  for (const [role, status] of [
    ['OWNER', 200],
    ['MANAGER', 200],
    ['CASHIER', 403],
    ['VIEWER', 403],
  ] as const)
    t.equal((await (await comeIn(service, role)).get('/activity')).status, status, role);
  const { key } = await post('/api-keys', { name: 'r', scope: 'READ' });
  t.match(await api('GET', '/activity', undefined, key), { status: 403, error: { code: 'forbidden' } });
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    for (const path of ['/activity', `/activity/${mine[0].id}`])
      t.equal((await api(method, path, method === 'DELETE' ? undefined : {})).status, 404, `${method} ${path}`);
});

t.test('a reader pages through activity → each record once, newest first, by time', async (t) => {
  const all = await list();
  const ids = all.map(({ id }) => id);
  t.same(ids, [...ids].sort().reverse());
  const { data, meta } = await api('GET', '/activity?page=2&pageSize=3');
  t.same(
    data.map(({ id }: Json) => id),
    ids.slice(3, 6),
  );
  t.ok(meta!.total >= all.length);
  const [from, to] = [all[9].at, all[4].at];
  const within = all.filter(({ at }) => at >= from && at < to).map(({ id }) => id);
  t.same(
    (await list(`&createdFrom=${from}&createdTo=${to}`)).map(({ id }) => id),
    within,
  );
  t.same(await list('&operation=products.update'), await list('&operation=products_update'));
  t.same(await list('&operation=nothing'), []);
  t.equal((await api('GET', '/activity?createdFrom=x')).status, 400);
});

t.test('a record is bounded, and says what it leaves out', async (t) => {
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'y'.repeat(500)]));
  const { id } = await post('/checkouts', { productId: product.id, metadata });
  const [{ changes }] = await list(`&subjectId=${id}`);
  t.match(
    changes.find(({ field }: Json) => field === 'metadata.k3'),
    { to: `${'y'.repeat(300)}… (500 characters)` },
  );
});

t.test(
  'killed at any moment, no change is without its activity and no activity without its change',
  LONG,
  async (t) => {
    const killed = await testDatabase(t, { own: true });
    const first = await startTestService(t, { database: killed, role: 'api' });
    const sold = await startSelling(first);
    const products: string[] = [];
    for (let n = 0; n < 8; n++) {
      const { data } = await first.api('POST', '/products', { ...newProduct, walletId: sold.wallet.id, price: '1' });
      products.push(data.id);
    }
    const env = { MONGODB_URI: killed.uri, SECRETS_KEY: TEST_SECRETS_KEY, PORT: '0', LOCAL_LEDGER_PORT: '0' };
    const program = startProgram('src/main.ts', ['--role', 'api'], {
      env: { ...env, DATA_DIR: first.dataDir, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'info' },
    });
    t.teardown(() => program.process.kill('SIGKILL'));
    const url = (await program.says(/(http:\/\/127\.0\.0\.1:\d+)/))[1]!;
    let answered = 0;
    const changes = products.map(async (id) => {
      for (let price = 2; ; price++) {
        const answer = await call('REST', url, first.apiKey, 'products.update', { id, price: String(price) }).catch(
          () => null,
        );
        if (!answer) return;
        if (answer.outcome === 'ok') answered++;
      }
    });
    await eventually(async () => answered > 60, 'some changes');
    program.process.kill('SIGKILL');
    await Promise.all(changes);
    for (const id of products) {
      const { price } = (await first.api('GET', `/products/${id}`)).data;
      const { data } = await first.api('GET', `/activity?pageSize=100&operation=products_update&subjectId=${id}`);
      const told = data.flatMap(({ changes }: Json) => changes).map(({ from, to }: Json) => [from, to]);
      const expected = Array.from({ length: Number(price) - 1 }, (_, n) => [String(n + 1), String(n + 2)]).reverse();
      t.same(told, expected, `${id} came to ${price}`);
    }
  },
);
