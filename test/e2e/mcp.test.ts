/** `cli mcp`, by the protocol's own client: the contract as tools, on a service that answers,
 *  refuses, hangs or is away. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LATEST_PROTOCOL_VERSION } from '@modelcontextprotocol/sdk/types.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import t from 'tap';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { createMcpService } from '../../src/api/mcp/serve.js';
import { builtFile, ROOT, startProgram } from '../helpers/command.js';
import { LONG } from '../helpers/long.js';
import { manualClock } from '../helpers/manual-clock.js';
import { freePort } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

type Test = Parameters<Parameters<typeof t.test>[0]>[0];

/** An assistant with the command as its server. */
async function assistant(t: Test, settings: Record<string, string>, args: readonly string[] = []) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtFile('src/cli/main.ts'), 'mcp', ...args],
    env: settings,
    stderr: 'pipe',
  });
  const client = new Client({ name: 'test', version: '1' });
  t.teardown(() => client.close());
  await client.connect(transport);
  /** Checks the answer against the tool's output schema, once the tools were listed. */
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: args });
    const [{ text }] = content as [{ text: string }];
    if (!isError) t.same(JSON.parse(text), structuredContent, `${name}: text and structured content are one`);
    return { isError, answer: JSON.parse(text) };
  };
  return { client, transport, call };
}

/** A server that takes connections and never answers. */
async function silentServer(t: Test): Promise<string> {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const service = await startTestService(t);
const { wallet, product } = await startSelling(service);
const full = { STELLAR_COLLECT_API_KEY: service.apiKey, STELLAR_COLLECT_URL: service.url };

t.test('each operation is a tool by its operationId, with schemas that its examples and its answers fit', async (t) => {
  const { client, call } = await assistant(t, full);
  const { tools } = await client.listTools();
  const { paths } = JSON.parse(await readFile(`${ROOT}openapi.json`, 'utf8'));
  const ids = Object.values<Record<string, { operationId: string }>>(paths)
    .flatMap((path) => Object.values(path))
    .map(({ operationId }) => operationId)
    .filter((id) => !/_(stream|export)$/.test(id));
  t.same(tools.map(({ name }) => name).sort(), ids.sort());

  const ajv = new Ajv2020({ strict: false });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
    t.match(name, /^[a-zA-Z]+_[a-zA-Z]+$/, 'assistants take letters and `_` only');
    const [resource, action] = name.split('_') as ['products', 'create'];
    const operation: Operation = contract[resource][action] as never;
    t.match(description, operation.summary);
    t.equal(annotations?.readOnlyHint, operation.method === 'GET', `${name} is marked by whether it reads`);
    const isDestructive = /^(update|set|delete|rotate|cancel|accept|assign|dismiss|invite)/.test(action);
    t.equal(annotations?.destructiveHint, isDestructive, `${name} is marked by whether it changes what was there`);
    t.notMatch(JSON.stringify(inputSchema), /\$ref/, `${name}: what goes in is said in one place`);
    const ids = Object.fromEntries(Object.keys(operation.params).map((param) => [param, 'x']));
    const takes = ajv.compile(inputSchema);
    const example = { ...ids, ...operation.examples?.query, ...operation.examples?.body };
    t.ok(takes(example), `${name} takes its example`);
    if (operation.hasBody) t.notOk(takes({ ...example, surprise: 1 }), `${name}: strict`);
    ajv.compile(outputSchema!);
  }

  const made = await call('checkouts_create', { productId: product.id, quantity: 2, reference: 'order-7' });
  t.match(made, { isError: false, answer: { amount: '50', status: 'OPEN', reference: 'order-7' } });
  const { data } = await service.api('GET', `/checkouts/${made.answer.id}`);
  t.same((await call('checkouts_get', { id: made.answer.id })).answer, data, "REST's resource, amounts as text");
  await service.context.localLedger!.client.pay({ to: wallet.address, amount: '50', memo: data.memo });
  await eventually(async () => (await call('checkouts_get', { id: data.id })).answer.status === 'PAID', 'paid');

  const listed = await call('payments_list', { status: ['COMPLETED'], pageSize: 5 });
  t.match(listed.answer, { items: [{ amount: '50', checkoutId: data.id }], meta: { total: 1, pageSize: 5 } });
  const summary = await call('reports_summary', { groupBy: 'asset' });
  t.match(summary.answer, { items: [{ key: 'XLM', count: 1, amount: '50' }] }, 'an array needs an object around it');
  const events = await call('events_list', { after: 0, wait: 1 });
  t.match(events.answer.items.at(-1), { type: 'checkout.paid', data: { payments: [{ amount: '50' }] } });
  const hook = await call('webhooks_create', { name: 'a', url: 'https://shop.example/', events: ['checkout.paid'] });
  for (const name of ['webhooks_get', 'webhooks_health', 'webhooks_deliveries', 'webhooks_delete'])
    t.equal((await call(name, { id: hook.answer.id })).isError, false, name);
  for (const name of [
    'account_get',
    'apiKeys_list',
    'wallets_list',
    'products_list',
    'paymentLinks_list',
    'webhooks_list',
  ])
    t.equal((await call(name)).isError, false, name);
});

t.test("what the contract refuses is a tool's error with REST's error object", LONG, async (t) => {
  const { client, call } = await assistant(t, full);
  await client.listTools();
  const body = { name: '', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: 5 };
  const { error } = await service.api('POST', '/products', body);
  t.same(await call('products_create', body), { isError: true, answer: error });
  t.equal(error!.details!.length, 2);
  t.match(await call('payments_get', { id: 'pay_none' }), { isError: true, answer: { code: 'not_found' } });
  t.match(await call('payments_list', { pageSize: 101 }), { isError: true, answer: { code: 'bad_request' } });
  await t.rejects(client.callTool({ name: 'events_stream', arguments: {} }), { code: -32602 });
  await t.rejects(client.callTool({ name: 'constructor_name', arguments: {} }), { code: -32602 });
  const wrong = await assistant(t, { STELLAR_COLLECT_URL: service.url }, ['--key', 'sk_wrong']);
  t.match(await wrong.call('account_get'), { isError: true, answer: { code: 'unauthorized' } });
});

t.test('a READ key has tools that read, and no others', async (t) => {
  const { key } = (await service.api('POST', '/api-keys', { name: 'reader', scope: 'READ' })).data;
  const { client, call } = await assistant(t, { ...full, STELLAR_COLLECT_API_KEY: key });
  const { tools } = await client.listTools();
  t.ok(tools.length > 15);
  t.ok(tools.every(({ annotations }) => annotations?.readOnlyHint));
  t.same((await call('products_get', { id: product.id })).answer.name, product.name);
  const refused = await call('products_update', { id: product.id, price: '1' });
  t.match(refused, { isError: true, answer: { code: 'forbidden' } });
});

t.test('with the service away tools are listed and each call is an error; when it is there, it is used', async (t) => {
  const port = await freePort();
  const { client, call } = await assistant(t, { STELLAR_COLLECT_API_KEY: 'sk_x', PORT: String(port) });
  t.ok((await client.listTools()).tools.length > 40);
  const away = { isError: true, answer: { code: 'unavailable', message: new RegExp(`at http://127.0.0.1:${port}:`) } };
  t.match(await call('payments_list'), away, 'the configured service by default');
  t.match(await call('products_delete', { id: 'prod_x' }), away);

  const clock = manualClock();
  const silent = createMcpService({ url: await silentServer(t), apiKey: 'sk_x', clock });
  const ask = silent.call('products.list', contract.products.list, {}, new AbortController().signal);
  clock.advance(29_000);
  t.match(await ask, { error: { code: 'unavailable', message: /did not answer within 28 s/ } });
  const probe = silent.isReadOnly();
  clock.advance(5_000);
  t.equal(await probe, null, 'the outcome is unknown');
});

t.test('stdout has answers only, and the end of stdin ends it with 0, whatever is going on', LONG, async (t) => {
  const hello = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const requests = [
    { id: 1, method: 'initialize', params: hello },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
    { id: 3, method: 'tools/call', params: { name: 'account_get' } },
  ];
  const input = requests.map((request) => `${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`).join('');
  const run = async (url: string) => {
    const startedMs = performance.now();
    const args = ['mcp', '--key', service.apiKey, '--url', url];
    const { code, stdout, stderr } = await startProgram('src/cli/main.ts', args, { input }).ended;
    t.same({ code, stderr }, { code: 0, stderr: '' });
    t.ok(performance.now() - startedMs < 25_000);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };
  const [answers, hanging] = await Promise.all([run(`${service.url}/`), run(await silentServer(t))]);
  t.same(answers.map(({ id }) => id).sort(), [1, 2, 3], 'a call before the end is answered');
  t.equal(answers.find(({ id }) => id === 3).result.structuredContent.id, service.accountId);
  t.same(hanging.map(({ id }) => id).sort(), [1, 2], 'a call that hangs is given up');
});
