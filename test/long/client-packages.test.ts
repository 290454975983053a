/** Programs of others: the packed packages in another folder, and a client that a third party
 *  generates from openapi.json. They compile strictly and run. */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import t from 'tap';
import { build as bundle } from 'vite';
import { z } from 'zod';
import { contract } from '../../contracts/index.js';
import type * as Client from '../../src/client/index.js';
import { ROOT } from '../helpers/command.js';
import { bin, installPacked, succeeds } from '../helpers/packages.js';
import { startReceiver } from '../helpers/receiver.js';
import { startSelling, startTestService } from '../helpers/service.js';

const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-client-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));

const PROGRAM_OF_THE_PACKAGE = `
import { type AppRouter, contract, createClient, type WebhookPayload } from 'stellar-collect';
import { type inferRouterOutputs } from '@trpc/server';
import { TRPCClientError } from '@trpc/client';

const [url, apiKey, address] = process.argv.slice(2) as [string, string, string];
const client = createClient({ url, apiKey });
const { name } = await client.account.get.query();
const wallet = await client.wallets.create.mutate({ name: 'Shop', address, network: 'LOCAL' });
const made = await client.products.create.mutate({ name, walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10.50' });
const price: string | null = made.price;
const { items, meta } = await client.products.list.query({ active: true, sortBy: 'name' });
const all: { items: { id: string }[]; meta: { totalPages: number } } = await client.paymentLinks.list.query();
const [one, other] = await Promise.all([client.products.get.query({ id: made.id }), client.wallets.get.query({ id: wallet.id })]);
type Product = inferRouterOutputs<AppRouter>['products']['get'];
const same: Product = one;
const paid = (payload: WebhookPayload): string | null =>
  payload.type === 'payment.completed' ? payload.data.payment.explorerUrl : null;

// @ts-expect-error a product needs more than a name
const missing = () => client.products.create.mutate({ name });
// @ts-expect-error a price is a text
const number = () => client.products.update.mutate({ id: made.id, price: 5 });
// @ts-expect-error reading is no mutation
const wrong = () => client.products.get.mutate({ id: made.id });
// @ts-expect-error an unknown status
const unknown = () => client.payments.list.query({ status: ['LOST'] });
// @ts-expect-error there is no such field
const field = made.secret;

let refusal: unknown;
try {
  await client.products.get.query({ id: 'nothing' });
} catch (error) {
  if (!(error instanceof TRPCClientError)) throw error;
  const { data } = error as TRPCClientError<AppRouter>;
  const code: 'not_found' | string | undefined = data?.error.code;
  refusal = { trpc: data?.code, status: data?.httpStatus, code };
}
console.log(JSON.stringify({ price, total: meta.total, first: items[0]?.id === made.id, links: all.items.length, same: same.id === made.id, other: other.address === address, refusal, operations: Object.keys(contract).length }));
void [missing, number, wrong, unknown, field, paid];
`;

const PROGRAM_OF_THE_CLIENT = `
import { type AppRouter, type Checkout, createClient, followEvents, StreamRefusedError, verifyWebhook, type WebhookPayload } from 'stellar-collect-client';
import { createTRPCClient, TRPCClientError } from '@trpc/client';

const [url, apiKey, body, headers, secret, keys] = process.argv.slice(2) as [string, string, string, string, string, string];
const client = createClient({ url, apiKey });
const { items } = await client.checkouts.list.query({ status: 'OPEN' });
const all: Checkout[] = items;
const own = createTRPCClient<AppRouter>;
const { name } = await client.account.get.query();

// @ts-expect-error a product needs more than a name
const missing = () => client.products.create.mutate({ name });
// @ts-expect-error a status that no checkout has
const unknown = () => client.checkouts.list.query({ status: 'LOST' });

const event: WebhookPayload = await verifyWebhook(body, JSON.parse(headers), { secret });
const forged = await verifyWebhook(body + ' ', JSON.parse(headers), { secret }).catch((error: Error) => error.name);
const paid = event.type === 'payment.completed' ? event.data.payment.amount : null;
const byKeys = keys === '' ? null : (await verifyWebhook(body, JSON.parse(headers), { publicKeys: JSON.parse(keys) })).id === event.id;
let refused: unknown;
try {
  for await (const each of followEvents({ url, apiKey: 'sk_wrong', after: 0 })) throw each;
} catch (error) {
  refused = error instanceof StreamRefusedError && [error.status, error.error?.code];
}
for await (const { sequence } of followEvents({ url, apiKey, after: 0 })) {
  console.log(JSON.stringify({ open: all.length, forged, paid, byKeys, refused, sequence, same: typeof TRPCClientError }));
  break;
}
void [missing, unknown, own];
`;

const PROGRAM_OF_A_THIRD_PARTY = `
import createClient from 'openapi-fetch';
import type { components, paths } from './generated.js';

const [baseUrl, apiKey, walletId] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${apiKey}\` } });
const created = await client.POST('/api/v1/products', {
  params: { header: { 'Idempotency-Key': 'once' } },
  body: { name: 'Generated', walletId, assetCode: 'XLM', priceType: 'FIXED', price: '3' },
});
const product: components['schemas']['Product'] = created.data!.data;
const listed = await client.GET('/api/v1/payments', { params: { query: { status: ['COMPLETED', 'UNDERPAID'], pageSize: 5 } } });
const patched = await client.PATCH('/api/v1/products/{id}', { params: { path: { id: product.id } }, body: { description: null } });
const refused = await client.POST('/api/v1/products', {
  // @ts-expect-error a product needs more than a name
  body: { name: '' },
});
const fault: components['schemas']['FieldError'] | undefined = refused.error?.error.details?.[0];
const webhook = await client.POST('/api/v1/webhooks', { body: { name: 'a', url: 'https://shop.example/hook', events: ['payment.completed'] } });
const secret: string | undefined = webhook.data?.data.secret;
const removed = await client.DELETE('/api/v1/products/{id}', { params: { path: { id: product.id } } });
console.log(JSON.stringify({ name: patched.data?.data.name, pageSize: listed.data?.meta.pageSize, fault: fault?.path, secret: secret?.slice(0, 6), removed: removed.data?.data.deleted }));
`;

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2022',
    module: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: ['node'],
    outDir: 'out',
    rootDir: '.',
  },
  include: ['*.ts'],
};

t.test('openapi.json is clean under redocly', async (t) => {
  const said = await succeeds(bin('redocly'), ['lint', 'openapi.json', '--format=json']);
  const { totals } = JSON.parse(said.slice(said.indexOf('{')));
  t.match(totals, { errors: 0, warnings: 0 });
});

t.test('every example of the contracts is valid by its own schema', async (t) => {
  let examples = 0;
  const check = (schema: unknown, where: string): void => {
    if (!(schema instanceof z.ZodType)) return;
    for (const example of (schema.meta()?.examples as unknown[] | undefined) ?? []) {
      const { success, error } = schema.safeParse(example);
      t.ok(success, `${where}: ${JSON.stringify(example).slice(0, 80)} ${error ?? ''}`);
      examples += 1;
    }
    if (schema instanceof z.ZodObject)
      for (const [name, inner] of Object.entries(schema.shape)) check(inner, `${where}.${name}`);
    if (schema instanceof z.ZodArray) check(schema.element, `${where}.0`);
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
      check(schema.unwrap(), where);
  };
  for (const [resource, byName] of Object.entries(contract)) {
    for (const [name, operation] of Object.entries(byName)) {
      check(operation.input, `${resource}.${name}`);
      check(operation.output, `${resource}.${name}`);
      const { body, query } = (operation as { examples?: { body?: object; query?: object } }).examples ?? {};
      if (body ?? query) {
        const ids = Object.fromEntries(Object.keys(operation.params).map((param) => [param, 'x']));
        t.ok(operation.input.safeParse({ ...ids, ...query, ...body }).success, `${resource}.${name} with its example`);
      }
      if (operation.hasBody) t.ok(body, `${resource}.${name} has an example`);
    }
  }
  t.ok(examples > 100, `${examples} examples`);
});

/** A project that has these packages of ours, and no others. */
async function project(name: string, packages: readonly string[]): Promise<{ path: string; modules: string }> {
  const path = join(folder, name);
  const modules = join(path, 'node_modules');
  await mkdir(modules, { recursive: true });
  for (const each of packages) await symlink(join(ROOT, 'node_modules', each), join(modules, each));
  await writeFile(join(path, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(path, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  return { path, modules };
}

/** What the programs of a folder import from packages. */
async function packagesOf(path: string): Promise<string[]> {
  const files = (await readdir(path)).filter((name) => name.endsWith('.js'));
  const texts = await Promise.all(files.map((name) => readFile(join(path, name), 'utf8')));
  const imports = texts.flatMap((text) => [...text.matchAll(/from '([^'.][^']*)'/g)].map((match) => match[1]!));
  return [...new Set(imports)].sort();
}

/** What browsers, Deno, Bun and edge runtimes have in common (the Minimum Common API), as far as
 *  the client may need it. */
const WEB_GLOBALS = [
  'AbortController AbortSignal DOMException Event EventTarget Headers ReadableStream Request Response TextDecoder TextDecoderStream TextEncoder',
  'TransformStream URL URLSearchParams WritableStream atob btoa clearInterval clearTimeout console crypto fetch queueMicrotask setInterval setTimeout structuredClone',
].flatMap((names) => names.split(' '));

/** The client as one script, in a realm that has nothing of Node: no process, no Buffer, no
 *  require, no modules. */
async function clientOfTheEdge(): Promise<typeof Client> {
  const [{ output }] = (await bundle({
    root: ROOT,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, lib: { entry: 'src/client/index.ts', formats: ['iife'], name: 'client' } },
  })) as unknown as [{ output: { code: string }[] }];
  const realm = createContext(
    Object.fromEntries(WEB_GLOBALS.map((name) => [name, globalThis[name as keyof typeof globalThis]])),
  );
  return runInContext(`${output[0]!.code}; client`, realm);
}

/** Loads in browsers and on the edge: these need no Node. */
const CLIENT_PACKAGES = ['@trpc/client', '@trpc/server/observable', 'eventsource', 'eventsource-parser'];

t.test("the client's package brings nothing of the server, compiles and runs in another folder", async (t) => {
  const { dependencies: serverPackages } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const brought = new Set<string>();
  const bring = (name: string): void => {
    if (brought.has(name)) return;
    brought.add(name);
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = lock[`node_modules/${name}`];
    const peers = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional);
    for (const each of [...Object.keys(dependencies), ...peers]) bring(each);
  };
  for (const name of Object.keys(lock['src/client'].dependencies)) bring(name);
  // TypeScript is a peer of tRPC's.
  t.same([...brought].sort(), ['@trpc/client', '@trpc/server', 'eventsource', 'eventsource-parser', 'typescript']);
  t.notOk(Object.keys(serverPackages).some((name) => brought.has(name) && !/^@trpc|^eventsource/.test(name)));

  const { path, modules } = await project('shop', ['@trpc', 'eventsource', 'eventsource-parser', '@types']);
  const files = await installPacked(
    join(ROOT, 'src/client'),
    ['dist', 'README.md'],
    join(modules, 'stellar-collect-client'),
  );
  t.ok(
    files.every((file) => /^(dist\/[\w-]+(\.d\.ts|\.js)|README\.md|package\.json)$/.test(file)),
    files.join(' '),
  );
  t.same(await packagesOf(join(modules, 'stellar-collect-client', 'dist')), CLIENT_PACKAGES);
  await writeFile(join(path, 'shop.ts'), PROGRAM_OF_THE_CLIENT);
  await succeeds(bin('tsc'), ['-p', 'tsconfig.json'], path);

  const service = await startTestService(t);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const { wallet, link } = await startSelling(service);
  const { data: hook } = await service.api('POST', '/webhooks', {
    name: 'shop',
    url: receiver.origin,
    events: ['payment.completed'],
  });
  await service.api('POST', '/checkouts', { walletId: wallet.id, name: 'Order', assetCode: 'XLM', amount: '1' });
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await receiver.until(() => receiver.requests.length > 0, 60_000);
  const { body, headers } = receiver.requests[0]!;
  const published = await fetch(`${service.url}/.well-known/webhook-keys.json`);
  const keys = published.ok ? JSON.stringify(((await published.json()) as { keys: unknown }).keys) : '';
  const args = [service.url, service.apiKey, body, JSON.stringify(headers), hook.secret, keys];
  const said = JSON.parse(await succeeds(process.execPath, ['out/shop.js', ...args], path));
  t.same(said, {
    open: 1,
    forged: 'WebhookVerificationError',
    paid: '25',
    byKeys: keys === '' ? null : true,
    refused: [401, 'unauthorized'],
    sequence: 1,
    same: 'function',
  });

  const edge = await clientOfTheEdge();
  const client = edge.createClient({ url: service.url, apiKey: service.apiKey });
  const [account, open] = await Promise.all([client.account.get.query(), client.checkouts.list.query()]);
  t.same([account.id, open.items.length], [service.accountId, 1], 'calls, two in one request');
  const missing = await client.checkouts.get.query({ id: 'chk_none' }).catch((error) => error.data.error.code);
  t.equal(missing, 'not_found');
  const verified = await edge.verifyWebhook(body, headers as Client.WebhookHeaders, { secret: hook.secret });
  t.equal(verified.type, 'payment.completed');
  const publicKeys = JSON.parse(keys);
  t.equal((await edge.verifyWebhook(body, headers as Client.WebhookHeaders, { publicKeys })).id, verified.id);
  const forged = edge.verifyWebhook(`${body} `, headers as Client.WebhookHeaders, { secret: hook.secret });
  t.equal(await forged.catch((error: Error) => error.name), 'WebhookVerificationError');
  for await (const { sequence } of edge.followEvents({ url: service.url, apiKey: service.apiKey, after: 1 })) {
    t.equal(sequence, 2, 'events are followed');
    break;
  }
});

t.test('the packed package and a generated client compile and run in another folder', async (t) => {
  const service = await startTestService(t);
  // No express, no mongoose: with them absent the package's root must still load.
  const { path: consumer, modules } = await project('consumer', [
    '@trpc',
    'eventsource',
    'eventsource-parser',
    'zod',
    'openapi-fetch',
    'openapi-typescript-helpers',
    '@types',
  ]);
  // As it was built before the tests.
  const contents = ['dist', 'openapi.json', 'src/page/client'];
  const files = await installPacked(ROOT, contents, join(modules, 'stellar-collect'));
  t.notOk(
    files.find((path) => /^(src\/(?!page\/client\/)|test\/|scripts\/)|\.map$/.test(path)),
    'sources stay at home, and maps that would lead nowhere',
  );
  for (const served of ['src/page/client/page.js', 'dist/src/dashboard/app/index.html', 'openapi.json'])
    t.ok(files.includes(served), `${served} is served`);
  const licenses = await readFile(join(modules, 'stellar-collect/dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['express', 'sift', 'date.js', 'preact'])
    t.match(licenses, new RegExp(`^${name} [\\d.]+ \\(MIT\\)\\n[^]{0,5000}copyright`, 'im'), `the license of ${name}`);
  await succeeds(bin('openapi-typescript'), ['openapi.json', '-o', join(consumer, 'generated.ts')]);
  await writeFile(join(consumer, 'packed.ts'), PROGRAM_OF_THE_PACKAGE);
  await writeFile(join(consumer, 'third-party.ts'), PROGRAM_OF_A_THIRD_PARTY);
  await succeeds(bin('tsc'), ['-p', 'tsconfig.json'], consumer);

  const { address } = await service.context.localLedger!.client.fund();
  const said = JSON.parse(
    await succeeds(process.execPath, ['out/packed.js', service.url, service.apiKey, address], consumer),
  );
  t.same(said, {
    price: '10.5',
    total: 1,
    first: true,
    links: 0,
    same: true,
    other: true,
    refusal: { trpc: 'NOT_FOUND', status: 404, code: 'not_found' },
    operations: Object.keys(contract).length,
  });
  const wallet = (await service.api('GET', '/wallets')).data[0];
  const third = JSON.parse(
    await succeeds(process.execPath, ['out/third-party.js', service.url, service.apiKey, wallet.id], consumer),
  );
  t.same(third, { name: 'Generated', pageSize: 5, fault: 'name', secret: 'whsec_', removed: true });

  t.same(await packagesOf(join(modules, 'stellar-collect', 'dist/src/client')), CLIENT_PACKAGES);
});
