/** The matrix of who may do what: every operation of the contract, by every role and every kind of key, made from the contract itself. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { downloads } from '../../contracts/exports.js';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';
import { ROLES, type Role } from '../../contracts/roles.js';
import { call, operations, TRANSPORTS } from '../helpers/api.js';
import { comeIn, type Person } from '../helpers/people.js';
import { startTestService } from '../helpers/service.js';

const service = await startTestService(t, { role: 'api' });

/** What a role may, in words of its own: a pattern of procedures. All that no pattern fits is refused. */
const MAY: Record<Role, (name: string, operation: Operation) => boolean> = {
  OWNER: () => true,
  MANAGER: (name) => !/^(users|apiKeys)\.|^webhooks\.(create|rotateSecret)$/.test(name),
  CASHIER: (name) =>
    /^(account\.get|wallets\.(list|get|assets)|products\.(list|get)|checkouts\.(create|list|get|instructions|cancel)|payments\.(list|get))$/.test(
      name,
    ),
  VIEWER: (name, { readOnly }) => readOnly && !/^(users|apiKeys|activity)\./.test(name),
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
      // An account's name and key stay as they are: a body of nothing is refused, and what takes none is asked for ids of nothing.
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

t.test('API keys go on by their scope alone', async (t) => {
  const { key: reader } = (await service.api('POST', '/api-keys', { name: 'r', scope: 'READ' })).data;
  for (const transport of TRANSPORTS) {
    for (const [name, operation] of operations) {
      const { outcome } = await call(transport, service.url, reader, name, inputOf(operation));
      asked += 1;
      const mayRead = operation.readOnly && name !== 'activity.list';
      t.equal(outcome === 'forbidden', !mayRead, `READ ${transport} ${name}: ${outcome}`);
    }
  }
});

t.test('openapi.json says of every operation which roles may', async (t) => {
  const { paths } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  for (const [name, { path, method, roles }] of [...namesOf(contract), ...namesOf(downloads)])
    t.same(paths[`/api/v1${path}`][method.toLowerCase()]['x-roles'], roles, name);
});

t.test('the matrix is whole', async (t) => {
  t.comment(
    `${asked} requests, ${namesOf(contract).length + namesOf(downloads).length} operations, ${ROLES.length} roles`,
  );
  t.ok(asked > 5 * namesOf(contract).length);
});
