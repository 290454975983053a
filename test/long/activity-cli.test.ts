/** What the operator does to accounts at the command line: every command is told in their activity,
 *  or changes nothing of theirs. */

import type { Command } from 'commander';
import t from 'tap';
import { program } from '../../src/cli/commands.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { ANY_WALLET } from '../../src/watching/parked-store.js';
import { startProgram } from '../helpers/command.js';
import { testDatabase } from '../helpers/mongo.js';
import { startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';
import { parkedDoc } from '../helpers/stores.js';

type Json = any;

const database = await testDatabase(t, { own: true });
const { db } = database;
const service = await startTestService(t, { database, role: 'api', env: { AUDIT_INTERVAL_HOURS: '0' } });
const { accountId, apiKey } = service;
const ledgerUrl = service.context.localLedger!.url;
const { parkedRecords } = service.context.stores.system;
const newId = createIds(systemClock);
const { wallet } = await startSelling(service);
const webhook = (
  await service.api('POST', '/webhooks', { name: 'w', url: 'https://shop.example/w', events: ['payment.completed'] })
).data;
const other = await service.openAccount('Other');

const NEW_KEY = Buffer.alloc(32, 9).toString('base64');
const settings = { MONGODB_URI: database.uri, DATA_DIR: service.dataDir, HORIZON_URLS_LOCAL: ledgerUrl };
const cli = (args: readonly string[], env: Record<string, string> = {}) =>
  startProgram('src/cli/main.ts', args, { env: { ...settings, SECRETS_KEY: `${TEST_SECRETS_KEY},${NEW_KEY}`, ...env } })
    .ended;
const told = async (query = '', key = apiKey): Promise<Json[]> =>
  (await service.api('GET', `/activity?actorId=cli&pageSize=100${query}`, undefined, key)).data;
const park = async (id: string, concerns: string[]) => {
  await parkedRecords.park([
    parkedDoc({ _id: id, network: 'LOCAL', raw: '{}', concerns, nextTryAt: new Date(Date.now() + 3_600_000) }),
  ]);
  return id;
};

/** Commands that change nothing of an account, and why. */
const NOT_TOLD: Readonly<Record<string, string>> = {
  start: 'starts the service',
  'account list': 'reads',
  'key list': 'reads',
  'user list': 'reads',
  'jobs list': 'reads',
  'parked list': 'reads',
  'setup-code': 'reads',
  'webhook-key list': 'reads',
  'export payments': 'reads',
  'events tail': 'reads',
  backup: 'reads',
  restore: 'fills an empty database, its activity too',
  mcp: 'calls the API, which tells',
  'webhook listen': 'calls the API, which tells',
  'parked retry': 'records what the ledger brings, of which events tell',
  ledger: 'plays on the local ledger, which belongs to no account',
};

interface Told {
  args: string[];
  env?: Record<string, string>;
  operation: string;
  subjectId?: string | undefined;
  changes?: Json[];
}

/** What each of the others is called with, and what is told of it. */
const TOLD: Readonly<Record<string, () => Promise<Told>>> = {
  'account create': async () => ({ args: ['--name', 'New', '--json'], operation: 'account_create' }),
  'key create': async () => ({ args: ['--account', accountId, '--name', 'by hand'], operation: 'apiKeys_create' }),
  'key revoke': async () => {
    const { id } = (await service.api('POST', '/api-keys', { name: 'old', scope: 'READ' })).data;
    return { args: [id], operation: 'apiKeys_delete', subjectId: id };
  },
  'user invite': async () => ({
    args: ['--account', accountId, '--name', 'Ana', '--role', 'OWNER'],
    operation: 'users_create',
  }),
  audit: async () => ({
    args: ['--wallet', wallet.id],
    operation: 'wallets_startAudit',
    subjectId: wallet.id,
    changes: [],
  }),
  'gap mend': async () => {
    const gap = { accountId, walletId: wallet.id, network: 'LOCAL' as const, fromLedger: 2, toLedger: 3 };
    const open = { at: new Date(), readTo: null, mendedAt: null, isLost: false, lostSince: null };
    await db.collection<Json>('gaps').insertOne({ _id: newId('gap'), ...gap, ...open });
    return { args: ['--horizon', ledgerUrl], operation: 'wallets_mendGaps', subjectId: wallet.id };
  },
  'parked dismiss': async () => {
    const record = await park('LOCAL:7', [wallet.address]);
    return {
      args: [record, '--why', 'a test of ours'],
      operation: 'parked_dismiss',
      subjectId: wallet.id,
      changes: [
        { field: 'record', from: null, to: record },
        { field: 'why', from: null, to: 'a test of ours' },
      ],
    };
  },
  'webhook-key rotate': async () => ({ args: [], operation: 'webhookKeys_rotate', changes: [] }),
  'secrets reseal': async () => ({
    args: [],
    env: { SECRETS_KEY: `${NEW_KEY},${TEST_SECRETS_KEY}` },
    operation: 'webhooks_reseal',
    subjectId: webhook.id,
    changes: [{ field: 'secret', from: null, to: null }],
  }),
};

const leaves = (command: Command, path: string[] = []): string[] =>
  command.commands.flatMap((each) => {
    const name = [...path, each.name()];
    return each.commands.length > 0 ? leaves(each, name) : [name.join(' ')];
  });

t.test('every command that changes something of an account is told there, once', async (t) => {
  t.same(
    leaves(program).sort(),
    [...Object.keys(TOLD), ...Object.keys(NOT_TOLD)].sort(),
    'each command has its row here',
  );
  // It audits what a worker watches.
  const worker = await service.join('worker');
  for (const [name, prepare] of Object.entries(TOLD)) {
    const { args, env, ...expected } = await prepare();
    const { operation } = expected;
    const before = await told(`&operation=${operation}`);
    const { code, stdout, stderr } = await cli([...name.split(' '), ...args], env);
    t.equal(code, 0, `${name}: ${stderr}`);
    const key = name === 'account create' ? JSON.parse(stdout).apiKey.key : apiKey;
    const after = await told(`&operation=${operation}`, key);
    t.equal(after.length, before.length + 1, `${name} is told once`);
    t.match(after[0], { ...expected, actor: { type: 'cli', id: 'cli', name: 'cli' }, address: null }, name);
  }
  t.same(await told('', other.apiKey), [], 'the other account has no activity');
  await worker.close();
});

t.test('a call that changed nothing is not told', async (t) => {
  const before = (await told()).length;
  t.equal((await cli(['gap', 'mend', '--horizon', ledgerUrl])).code, 0);
  t.equal((await cli(['gap', 'mend', '--horizon', ledgerUrl, '--wallet', wallet.id])).code, 0, 'it has no gap left');
  t.equal((await cli(['secrets', 'reseal'], { SECRETS_KEY: `${NEW_KEY},${TEST_SECRETS_KEY}` })).code, 0);
  t.match(await cli(['parked', 'dismiss', 'LOCAL:7', '--why', 'again']), {
    code: 1,
    stderr: /There is no open record LOCAL:7/,
  });
  t.equal((await told()).length, before);
  t.equal((await service.api('POST', `/wallets/${wallet.id}/gaps/mend`)).status, 200);
  t.same((await service.api('GET', '/activity?operation=wallets_mendGaps&pageSize=100')).data.length, 1);
});

t.test(
  'what concerns many accounts is told a batch at a time, takes effect with the last, and goes on after a cut',
  async (t) => {
    const ids = Array.from({ length: 250 }, () => newId('acct')).sort();
    await db.collection<Json>('accounts').insertMany(ids.map((_id) => ({ _id, name: 'Many', createdAt: new Date() })));
    const row = { name: 'W', nameKey: 'w', active: true, windows: [], watching: true, watchStarted: true };
    const owned = (accountId: string) => ({ ...row, accountId, createdAt: new Date() });
    await db
      .collection<Json>('wallets')
      .insertMany(ids.map((id) => ({ _id: newId('wallet'), network: 'LOCAL', address: `G${id}`, ...owned(id) })));
    await db
      .collection<Json>('webhooks')
      .insertMany(ids.map((id) => ({ _id: newId('hook'), url: 'https://x.example', secrets: [], ...owned(id) })));
    /** Accounts that were told, and how often at most. */
    const toldOf = async (operation: string) => {
      const found = await db
        .collection<Json>('activities')
        .find({ operation, accountId: { $in: ids } })
        .toArray();
      return { accounts: new Set(found.map((each) => each.accountId)).size, entries: found.length };
    };
    const refuse = (accountId: string | null) =>
      db.command({ collMod: 'activities', validator: accountId ? { accountId: { $ne: accountId } } : {} });
    const keysOf = async () => JSON.parse((await cli(['webhook-key', 'list', '--json'])).stdout).keys;

    const record = await park('LOCAL:8', [ANY_WALLET]);
    const keys = await keysOf();
    await refuse(ids[220]!);
    const dismiss = (why: string) => cli(['parked', 'dismiss', record, '--why', why]);
    t.equal((await dismiss('the first')).code, 1);
    t.equal((await cli(['webhook-key', 'rotate'])).code, 1);
    for (const operation of ['parked_dismiss', 'webhookKeys_rotate']) {
      const { accounts, entries } = await toldOf(operation);
      t.ok(accounts > 150 && accounts < 220, `${operation}: ${accounts} were told before the cut`);
      t.equal(entries, accounts);
    }
    t.equal((await parkedRecords.byId(record))?.dismissed, null, 'it is open still');
    t.match((await cli(['parked', 'list'])).stdout, /LOCAL:8 .*being dismissed/);
    t.same(await keysOf(), keys, 'the new key does not sign');

    await refuse(null);
    const [first, second] = await Promise.all([dismiss('the second'), dismiss('the third')]);
    t.same([first.code, second.code].sort(), [0, 1], 'two at once: one does it');
    const [rotated, again] = await Promise.all([cli(['webhook-key', 'rotate']), cli(['webhook-key', 'rotate'])]);
    t.same([rotated.code, again.code], [0, 0]);
    t.match((await parkedRecords.byId(record))?.dismissed, { why: 'the first' }, 'for the reason that was told');
    t.same(await toldOf('parked_dismiss'), { accounts: 250, entries: 250 }, 'each account once');
    t.same(await toldOf('webhookKeys_rotate'), { accounts: 250, entries: 500 }, 'each account once for each key');
    t.equal((await keysOf()).length, keys.length + 2);
  },
);
