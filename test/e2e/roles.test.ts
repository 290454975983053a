/** The matrix of who may do what: every operation of the contract, as procedure, in REST, as tool
 *  and as stream, by every role and every kind of key, made from the contract itself. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { downloads } from '../../contracts/exports.js';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { ROLES, type Role } from '../../contracts/roles.js';
import { contractTools, createMcpService } from '../../src/api/mcp/serve.js';
import { systemClock } from '../../src/kit/clock.js';
import { call, operations, TRANSPORTS } from '../helpers/api.js';
import { comeIn, type Person } from '../helpers/people.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t, { role: 'api' });

/** Each may for themselves; another user is not found. */
const OWN = /^users\.(passkeys|invite|deletePasskey)$/;

/** What a role may, in words of its own: a pattern of procedures. All that no pattern fits
 *  is refused. */
const MAY: Record<Role, (name: string, operation: Operation) => boolean> = {
  OWNER: () => true,
  MANAGER: (name) => OWN.test(name) || !/^(users|apiKeys)\.|^webhooks\.(create|rotateSecret)$/.test(name),
  CASHIER: (name) =>
    OWN.test(name) ||
    /^(account\.get|wallets\.(list|get|assets)|products\.(list|get)|coupons\.(list|get)|checkouts\.(create|list|get|instructions|cancel)|payments\.(list|get))$/.test(
      name,
    ),
  VIEWER: (name, { readOnly }) => OWN.test(name) || (readOnly && !/^(users|apiKeys|activity)\./.test(name)),
};

const namesOf = (tree: object) =>
  Object.entries(tree).flatMap(([resource, byName]) =>
    Object.entries(byName as Record<string, Operation>).map(
      ([name, operation]) => [`${resource}.${name}`, operation] as const,
    ),
  );
/** Ids of nothing: what is let in finds nothing, and changes nothing. */
const inputOf = ({ params }: Operation) => Object.fromEntries(Object.keys(params).map((name) => [name, 'x']));

let asked = 0;
const people = new Map<Role, Person>();
for (const role of ROLES) people.set(role, await comeIn(service, role));

for (const role of ROLES) {
  t.test(`${role}: each procedure is let in or refused as the contract says`, async (t) => {
    const person = people.get(role)!;
    for (const [name, operation] of namesOf(contract)) {
      const may = MAY[role](name, operation);
      t.equal(operation.roles.includes(role), may, `x-roles of ${name}`);
      if (operation.streams) {
        // A stream would outlast its session: none is opened, whatever the role.
        t.equal((await person.call(name, true)).status, 403, name);
        continue;
      }
      // An account's name and key stay as they are: a body of nothing is refused, and what takes
      // none is asked for ids of nothing.
      const input = inputOf(operation);
      const { status, code } = await person.call(name, operation.readOnly, input);
      asked += 1;
      t.equal(code === 'forbidden', !may, `${name}: ${status} ${code}`);
    }
    for (const [name, operation] of namesOf(downloads)) {
      const answer = await person.get(operation.path);
      await answer.text();
      asked += 1;
      t.equal(answer.status === 403, !MAY[role](name, operation), `${name}: ${answer.status}`);
    }
    for (const [name, operation] of namesOf(contract)) {
      if (operation.method !== 'GET' || operation.streams) continue;
      const answer = await person.get(operation.path.replace(/\{\w+\}/g, 'x'));
      await answer.text();
      asked += 1;
      t.equal(answer.status === 403, !MAY[role](name, operation), `REST ${name}: ${answer.status}`);
    }
    const { data } = (await (
      await fetch(`${service.url}/dashboard/session`, { headers: { cookie: person.cookie } })
    ).json()) as any;
    t.match(data, { user: { role }, account: { id: service.accountId } });
    t.same(
      data.may,
      namesOf(contract)
        .filter(([name, operation]) => MAY[role](name, operation))
        .map(([name]) => name),
      'the application is told the same',
    );
  });
}

/** What a key may, in words of its own. */
const KEY_MAY: Record<'FULL' | 'READ', (name: string, operation: Operation) => boolean> = {
  FULL: () => true,
  READ: (name, { readOnly }) => readOnly && name !== 'activity.list',
};
const tools = [...contractTools()];
const streams = namesOf(contract).filter(([, { streams }]) => streams);

/** A call of each tool, as an assistant with this key. */
async function toolOutcomes(apiKey: string): Promise<[name: string, operation: Operation, code: string][]> {
  const mcp = createMcpService({ url: service.url, apiKey, clock: systemClock });
  const { signal } = new AbortController();
  const outcomes: [string, Operation, string][] = [];
  for (const [, { procedure, operation }] of tools) {
    const { error } = await mcp.call(procedure, operation, inputOf(operation), signal);
    asked += 1;
    outcomes.push([procedure, operation, error?.code ?? 'ok']);
  }
  return outcomes;
}

const STATUS: Readonly<Record<string, number>> = { unauthorized: 401, forbidden: 403 };

/** How each way into a stream is answered, with this key. Over tRPC a refusal comes as the stream's
 *  first event.
 *  @param isRefused what is expected: so long is waited for it */
async function streamStatuses({ path }: Operation, name: string, key: string, isRefused: boolean) {
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' };
  const ask = async (url: string, read: (body: ReadableStream<Uint8Array>) => Promise<string>) => {
    const end = new AbortController();
    const answer = await fetch(url, { headers, signal: end.signal });
    const code = /"code":"(unauthorized|forbidden)"/.exec(await read(answer.body!))?.[1];
    end.abort();
    asked += 1;
    return code ? STATUS[code] : answer.status;
  };
  const untilRefused = async (body: ReadableStream<Uint8Array>) => {
    const reader = body.getReader();
    const late = systemClock.sleep(isRefused ? 20_000 : 500).then(() => null);
    for (let text = ''; ; ) {
      const chunk = await Promise.race([reader.read(), late]);
      if (!chunk?.value) return text;
      text += Buffer.from(chunk.value).toString();
      if (text.includes('serialized-error')) return text;
    }
  };
  return {
    REST: await ask(`${service.url}/api/v1${path}`, async () => ''),
    tRPC: await ask(`${service.url}/trpc/${name}?input=${encodeURIComponent('{}')}`, untilRefused),
  };
}

t.test('every operation is a tool for assistants, or a stream', async (t) => {
  t.same(
    [...tools.map(([, { procedure }]) => procedure), ...streams.map(([name]) => name)].sort(),
    namesOf(contract)
      .map(([name]) => name)
      .sort(),
  );
});

t.test('API keys go on by their scope alone: REST, tRPC, tools and streams', async (t) => {
  for (const scope of ['READ', 'FULL'] as const) {
    const { key } = (await service.api('POST', '/api-keys', { name: scope, scope })).data;
    for (const transport of TRANSPORTS) {
      for (const [name, operation] of operations) {
        const { outcome } = await call(transport, service.url, key, name, inputOf(operation));
        asked += 1;
        t.equal(outcome === 'forbidden', !KEY_MAY[scope](name, operation), `${scope} ${transport} ${name}: ${outcome}`);
      }
    }
    for (const [name, operation, code] of await toolOutcomes(key))
      t.equal(code === 'forbidden', !KEY_MAY[scope](name, operation), `${scope} tool ${name}: ${code}`);
    for (const [name, operation] of streams) {
      const expected = KEY_MAY[scope](name, operation) ? 200 : 403;
      const statuses = await streamStatuses(operation, name, key, expected !== 200);
      t.same(statuses, { REST: expected, tRPC: expected }, `${scope} ${name}`);
    }
  }
});

for (const role of ROLES) {
  t.test(`${role}: a session opens no tool and no stream, which take API keys`, async (t) => {
    const person = people.get(role)!;
    const token = person.cookie.slice(person.cookie.indexOf('=') + 1);
    for (const [name, , code] of await toolOutcomes(token)) t.equal(code, 'unauthorized', `tool ${name}`);
    for (const [name, operation] of streams) {
      t.same(await streamStatuses(operation, name, token, true), { REST: 401, tRPC: 401 }, name);
      const answer = await person.get(operation.path);
      await answer.text();
      asked += 1;
      t.equal(answer.status, 403, `${name} beside the dashboard`);
    }
  });
}

t.test('a CASHIER finds nothing of others, whatever it may ask', async (t) => {
  const { product, wallet } = await startSelling(service);
  const { client } = service.context.localLedger!;
  const worker = await service.join('worker');
  const order = { productId: product.id, reference: 'Unusual-7', customerEmail: 'ana@payer.example' };
  const theirs = (await service.api('POST', '/checkouts', order)).data;
  const { hash } = await client.pay({ to: wallet.address, amount: '25', memo: theirs.memo });
  const payment = await eventually(
    async () => (await service.api('GET', `/payments?transactionHash=${hash}`)).data[0],
    'the payment',
  );
  const cashier = people.get('CASHIER')!;
  const own = (await cashier.call('checkouts.create', false, { productId: product.id, reference: 'Mine-1' })).data;
  await worker.close();

  const idOf: Readonly<Record<string, string>> = { checkouts: theirs.id, payments: payment.id, wallets: wallet.id };
  const values: Readonly<Record<string, unknown>> = {
    ...{ search: 'Unusual', checkoutId: theirs.id, transactionHash: hash, walletId: wallet.id },
    ...{ productId: product.id, senderAddress: payment.senderAddress, status: 'PAID' },
  };
  /** As much as would show another's sale. */
  const traces = [theirs.id, theirs.memo, theirs.reference, payment.id, hash, order.customerEmail];
  for (const [name, operation] of namesOf(contract)) {
    if (!operation.readOnly || !MAY.CASHIER(name, operation)) continue;
    const id = 'id' in operation.params ? { id: idOf[name.split('.')[0]!] ?? product.id } : {};
    const filters = Object.keys(operation.query).flatMap((field) =>
      field in values ? [{ [field]: values[field] }] : [],
    );
    for (const input of [{}, ...filters]) {
      const { status, data } = await cashier.call(name, true, { ...id, ...input });
      asked += 1;
      const said = JSON.stringify(data);
      t.same(
        traces.filter((trace) => said.includes(trace)),
        [],
        `${name} ${JSON.stringify(input)}: ${status}`,
      );
    }
  }
  const listed = await cashier.call('checkouts.list', true, { search: 'Mine' });
  t.same(
    listed.data.items.map((each: { id: string }) => each.id),
    [own.id],
    'their own are found',
  );
});

t.test('openapi.json says of every operation which roles may', async (t) => {
  const { paths } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  for (const [name, { path, method, roles }] of [...namesOf(contract), ...namesOf(downloads)])
    t.same(paths[`/api/v1${path}`][method.toLowerCase()]['x-roles'], roles, name);
});

t.test('the matrix is whole', async (t) => {
  t.comment(
    `${asked} requests: ${namesOf(contract).length + namesOf(downloads).length} operations, ${tools.length} tools, ${streams.length} streams; ${ROLES.length} roles, 2 scopes of keys`,
  );
  t.ok(asked > 12 * namesOf(contract).length);
});
