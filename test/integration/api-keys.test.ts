import { pino } from 'pino';
import t from 'tap';
import { contract } from '../../contracts/index.js';
import { createAccountService, openAccount, unlimited } from '../../src/accounts/account.js';
import { hashApiKey } from '../../src/accounts/api-key.js';
import { createApiKeyService } from '../../src/accounts/api-keys.js';
import { createAuthentication } from '../../src/accounts/authentication.js';
import { createCommit } from '../../src/accounts/commit.js';
import { withContextRules } from '../../src/api/stored-rules.js';
import { registerAccountCommands, registerKeyCommands } from '../../src/cli/key.js';
import { createProgram, runProgram } from '../../src/cli/program.js';
import { NO_BRAND } from '../../src/domain/brand.js';
import { type Caller, withDoing } from '../../src/kit/caller.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { connectDatabase, type Database } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createStores } from '../../src/stores.js';
import { testDatabase } from '../helpers/mongo.js';

const MINUTE_MS = 60_000;
const log = pino({ level: 'silent' });
const full = { scope: 'FULL' } as const;

let nowMs = Date.parse('2026-11-21T09:30:00Z');
const clock: Clock = { ...systemClock, nowMs: () => nowMs, now: () => new Date(nowMs) };
const inFuture = (ms: number) => new Date(nowMs + ms).toISOString();
const newId = createIds(clock);

/** What one process has. */
function processOn({ connection, transaction }: Database, rememberedMs = 20) {
  const stores = createStores(connection, { clock, newId });
  const { forAccount } = stores;
  const { accounts, apiKeys } = stores.system;
  const { activities } = stores.system;
  const commit = createCommit({ transaction, forAccount, activities, newId });
  const service = createApiKeyService({ forAccount, commit, clock, newId, rememberedMs, quota: unlimited(commit) });
  const context = () => ({ now: clock.now(), networks: [], allowPrivate: false });
  const keys = withDoing('apiKeys', withContextRules(contract.apiKeys, service, context));
  const authentication = createAuthentication({ apiKeys, forAccount, clock, log, rememberedMs });
  return {
    stores,
    forAccount,
    commit,
    accounts,
    apiKeys,
    keys,
    account: createAccountService({
      ...{ forAccount, commit, clock: systemClock },
      rateNeeds: { ofBooks: async () => undefined },
      services: () => ({}) as never,
    }),
    authenticate: authentication.authenticate,
    settle: authentication.close,
    open: async (name = 'shop') => {
      const { account, apiKey } = await openAccount({ accounts, commit, apiKeys: keys, clock, newId }, name);
      const caller: Caller = { accountId: account.id, keyId: apiKey.id, scope: 'FULL' };
      return { account, apiKey, caller };
    },
  };
}

const { uri, db } = await testDatabase(t);
const databases = [await connectDatabase(uri), await connectDatabase(uri)] as const;
t.teardown(() => Promise.all(databases.map((database) => database.close())));
const [one, two] = [processOn(databases[0]), processOn(databases[1])];
await one.stores.ensureIndexes();

t.test('an account opens with a FULL key that is its owner everywhere, and is kept nowhere', async (t) => {
  const { account, apiKey, caller } = await one.open('Küche & Söhne');
  t.match(apiKey, { scope: 'FULL', expiresAt: null, lastUsedAt: null, keyMasked: /^sk_.{3}….{4}$/ });
  const owner = { ...caller, keyName: 'first key', keyHash: hashApiKey(apiKey.key) };
  t.same(await one.authenticate(apiKey.key), owner);
  t.same(await two.authenticate(apiKey.key), owner);
  t.same(await two.account.get(caller, {}), {
    ...{ id: account.id, name: 'Küche & Söhne', createdAt: account.createdAt },
    ...{ brand: NO_BRAND, rateMarkupPercent: '0', booksCurrency: null, tolerancePercent: '0', tipPercents: [] },
    ...{ embedOrigins: [], onboarding: 'shown' },
  });
  for (const collection of await db.collections()) {
    const text = JSON.stringify(await collection.find().toArray());
    t.notOk(text.includes(apiKey.key) || text.includes(apiKey.key.slice(3, -4)), collection.collectionName);
  }
  for (const token of ['', 'sk_', `${apiKey.key}x`, apiKey.key.toLowerCase()])
    t.equal(await one.authenticate(token), null);
});

t.test('a revoked or rotated key is unknown at once to every process', async (t) => {
  const { caller, apiKey } = await one.open();
  const second = await one.keys.create(caller, { name: 'second', scope: 'READ' });
  t.match(await two.authenticate(second.key), { scope: 'READ', keyId: second.id });

  const rotated = await one.keys.rotate(caller, { id: second.id });
  t.equal(await two.authenticate(second.key), null);
  t.match(await two.authenticate(rotated.key), { keyId: second.id });
  t.match(rotated, { id: second.id, name: 'second', createdAt: second.createdAt, lastUsedAt: null });
  t.not(rotated.keyMasked, second.keyMasked);

  t.same(await one.keys.delete(caller, { id: second.id }), { id: second.id, deleted: true });
  t.equal(await two.authenticate(rotated.key), null);
  await t.rejects(one.keys.delete(caller, { id: second.id }), { code: 'not_found' });
  await t.rejects(one.keys.rotate(caller, { id: second.id }), { code: 'not_found' });
  t.ok(await two.authenticate(apiKey.key));
});

t.test('a key that is made or rotated ends no later than the key that makes it', async (t) => {
  const { caller, apiKey } = await one.open();
  const [soon, later] = [inFuture(MINUTE_MS), inFuture(2 * MINUTE_MS)];
  const short = await one.keys.create(caller, { name: 'short', ...full, expiresAt: soon });
  const byShort: Caller = { ...caller, keyId: short.id };
  const endOf = async (expiresAt?: string | null) =>
    (await one.keys.create(byShort, { name: 'made', ...full, expiresAt })).expiresAt;
  for (const expiresAt of [undefined, null, later]) t.equal(await endOf(expiresAt), soon);
  t.equal(await endOf(inFuture(MINUTE_MS / 2)), inFuture(MINUTE_MS / 2), 'an earlier end stays');

  const endless = await one.keys.create(caller, { name: 'endless', ...full });
  t.equal(endless.expiresAt, null, 'a key without an end sets none');
  t.equal((await one.keys.rotate(caller, { id: endless.id })).expiresAt, null);
  t.equal((await one.keys.rotate(byShort, { id: endless.id })).expiresAt, soon);
  t.equal((await one.keys.rotate(byShort, { id: short.id })).expiresAt, soon);
  t.match(await one.authenticate(apiKey.key), { keyId: apiKey.id }, 'the maker of all is as it was');
});

t.test('what a process remembers of a key does not outlive the answer to a revocation', async (t) => {
  const rememberedMs = 100;
  const [revoking, serving] = [processOn(databases[0], rememberedMs), processOn(databases[1], rememberedMs)];
  const { caller } = await revoking.open();
  const keys = await Promise.all(['a', 'b'].map((name) => revoking.keys.create(caller, { name, ...full })));
  let lookups = 0;
  const apiKeys = {
    ...serving.apiKeys,
    grantOf: (hash: string) => {
      lookups += 1;
      return serving.apiKeys.grantOf(hash);
    },
  };
  const { authenticate } = createAuthentication({ ...serving, apiKeys, clock, log, rememberedMs });
  await Promise.all(Array.from({ length: 50 }, () => authenticate(keys[0]!.key)));
  t.equal(lookups, 1);

  let answered = false;
  const using = (async () => {
    while (!answered) {
      await Promise.all(keys.map(({ key }) => authenticate(key)));
      await clock.sleep(1);
    }
  })();
  await revoking.keys.rotate(caller, { id: keys[1]!.id });
  t.equal(await authenticate(keys[1]!.key), null);
  await revoking.keys.delete(caller, { id: keys[0]!.id });
  t.equal(await authenticate(keys[0]!.key), null);
  answered = true;
  await using;

  const { key, id: keyId } = await revoking.keys.create(caller, { name: 'c', scope: 'READ' });
  let isAway = true;
  const failing = {
    ...apiKeys,
    grantOf: async (hash: string) => {
      if (isAway) throw new Error('MongoDB is away');
      return serving.apiKeys.grantOf(hash);
    },
  };
  const recovering = createAuthentication({ ...serving, apiKeys: failing, clock, log });
  await t.rejects(recovering.authenticate(key), { message: 'MongoDB is away' });
  isAway = false;
  t.match(await recovering.authenticate(key), { keyId }, 'a failed look-up is not remembered');
});

t.test('a key stops working when it expires, and must expire in the future', async (t) => {
  const { caller } = await one.open();
  const key = await one.keys.create(caller, { name: 'week', scope: 'FULL', expiresAt: inFuture(MINUTE_MS) });
  t.equal(key.expiresAt, inFuture(MINUTE_MS));
  nowMs += MINUTE_MS - 1;
  t.ok(await one.authenticate(key.key));
  nowMs += 1;
  t.equal(await one.authenticate(key.key), null);
  for (const expiresAt of [inFuture(0), inFuture(-1), '2020-01-01']) {
    await t.rejects(one.keys.create(caller, { name: 'late', scope: 'FULL', expiresAt }), {
      code: 'validation_error',
      details: [{ path: 'expiresAt' }],
    });
  }
});

t.test("an account's keys are invisible to other accounts", async (t) => {
  const { caller, apiKey } = await one.open();
  const stranger = (await one.open()).caller;
  await t.rejects(one.keys.delete(stranger, { id: apiKey.id }), { code: 'not_found' });
  await t.rejects(one.keys.rotate(stranger, { id: apiKey.id }), { code: 'not_found' });
  for (let n = 0; n < 4; n += 1) await one.keys.create(caller, { name: `key ${n}`, scope: 'READ' });
  const { items, meta } = await one.keys.list(caller, { page: 2, pageSize: 2 });
  t.same(meta, { page: 2, pageSize: 2, total: 5, totalPages: 3 });
  t.same(
    items.map((item) => item.name),
    ['key 1', 'key 0'],
  );
  t.notOk(JSON.stringify(items).includes('hash'));
});

t.test('the last FULL key that works cannot be revoked', async (t) => {
  const { caller, apiKey } = await one.open();
  await one.keys.create(caller, { name: 'reader', scope: 'READ' });
  const brief = await one.keys.create(caller, { name: 'brief', ...full, expiresAt: inFuture(MINUTE_MS) });
  nowMs += MINUTE_MS;
  await t.rejects(one.keys.delete(caller, { id: apiKey.id }), { code: 'conflict' }, 'an expired key is no other key');
  await one.keys.delete(caller, { id: brief.id });
  await t.rejects(one.keys.delete(caller, { id: apiKey.id }), { code: 'conflict' });
  t.ok(await two.authenticate(apiKey.key), 'the refused revocation left the key as it was');

  const rotated = await one.keys.rotate(caller, { id: apiKey.id });
  await one.keys.create(caller, { name: 'next', ...full });
  await one.keys.delete(caller, { id: rotated.id });
  t.equal(await two.authenticate(rotated.key), null);
});

t.test('revocations at the same time leave one FULL key', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const { caller, apiKey } = await one.open();
    const ids = [apiKey.id];
    for (let n = 0; n < 2; n += 1) ids.push((await one.keys.create(caller, { name: 'more', ...full })).id);
    const outcomes = await Promise.allSettled(ids.map((id, n) => (n % 2 ? one : two).keys.delete(caller, { id })));
    t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
    t.match(
      outcomes.find(({ status }) => status === 'rejected'),
      { reason: { code: 'conflict' } },
    );
    t.equal((await one.keys.list(caller, { page: 1, pageSize: 10 })).meta.total, 1);
  }
});

t.test('the use of a key is recorded about once a minute, and never in the way of the request', async (t) => {
  const { caller, apiKey } = await one.open();
  const lastUsedAt = async () => (await one.keys.list(caller, { page: 1, pageSize: 1 })).items[0]!.lastUsedAt;
  const useMany = async () => {
    await Promise.all(Array.from({ length: 20 }, () => one.authenticate(apiKey.key)));
    await one.settle();
  };
  const firstUse = inFuture(0);
  await useMany();
  t.equal(await lastUsedAt(), firstUse);
  nowMs += MINUTE_MS - 1;
  await useMany();
  t.equal(await lastUsedAt(), firstUse);
  nowMs += 1;
  await useMany();
  t.equal(await lastUsedAt(), inFuture(0));

  nowMs += MINUTE_MS;
  let writes = 0;
  const forAccount = (accountId: string) => {
    const { apiKeys } = one.forAccount(accountId);
    const markUsed = async (id: string, at: Date) => {
      writes += 1;
      await apiKeys.markUsed(id, at);
    };
    return { apiKeys: { ...apiKeys, markUsed } };
  };
  const remembering = createAuthentication({ ...one, forAccount, clock, log, rememberedMs: MINUTE_MS });
  for (let n = 0; n < 3; n += 1) {
    await remembering.authenticate(apiKey.key);
    await remembering.close();
  }
  t.equal(writes, 1, 'a remembered key is not written again');

  nowMs += MINUTE_MS;
  const failing = (accountId: string) => {
    const markUsed = async () => {
      writes += 1;
      await clock.sleep(50);
      throw new Error('MongoDB is away');
    };
    return { apiKeys: { ...one.forAccount(accountId).apiKeys, markUsed } };
  };
  const undeterred = createAuthentication({ ...one, forAccount: failing, clock, log });
  const callers = await Promise.all(Array.from({ length: 20 }, () => undeterred.authenticate(apiKey.key)));
  t.ok(callers.every((found) => found?.keyId === apiKey.id));
  t.equal(writes, 2);
  await undeterred.close();
});

t.test('a creation that is done again makes one key, and shows one that works', async (t) => {
  const { caller } = await one.open();
  const id = newId('key');
  const again = { ...caller, reservedId: () => id };
  const lost = await one.keys.create(again, { name: 'once', ...full });
  const shown = await two.keys.create(again, { name: 'once', ...full });
  t.equal((await one.keys.list(caller, { page: 1, pageSize: 10 })).meta.total, 2);
  t.equal(await one.authenticate(lost.key), null);
  t.match(await one.authenticate(shown.key), { keyId: id });
});

/** What a command prints, and its exit code. */
async function cli(...args: string[]) {
  const program = createProgram('cli', 'administration');
  const connect = async () => ({ ...one, apiKeyService: one.keys, clock, newId, close: async () => undefined });
  registerAccountCommands(program, connect);
  registerKeyCommands(program, connect);
  const printed = { stdout: '', stderr: '' };
  const { stdout, stderr } = process;
  const [writeOut, writeErr] = [stdout.write, stderr.write];
  const collect = (name: 'stdout' | 'stderr') => (text: string | Uint8Array) => {
    printed[name] += text;
    return true;
  };
  stdout.write = collect('stdout');
  stderr.write = collect('stderr');
  try {
    return { code: await runProgram(program, args), ...printed };
  } finally {
    stdout.write = writeOut;
    stderr.write = writeErr;
  }
}

t.test('the commands make, list and revoke what the API knows', async (t) => {
  const made = await cli('account', 'create', '--name', 'by hand', '--json');
  t.equal(made.code, 0);
  t.equal(made.stderr, '');
  t.match(made.stdout, /^[^\n]+\n$/, 'one line and nothing else');
  const { account, apiKey } = JSON.parse(made.stdout);
  t.same(Object.keys(account), ['id', 'name']);
  t.same(Object.keys(apiKey), ['id', 'key']);
  t.match(await two.authenticate(apiKey.key), { accountId: account.id, keyId: apiKey.id, scope: 'FULL' });
  t.match((await cli('account', 'list')).stdout, new RegExp(`^${account.id} .* by hand\n`));

  const more = await cli(
    'key',
    'create',
    '--account',
    account.id,
    '--name',
    'reader',
    '--scope',
    'READ',
    '--expires',
    '2030-01-01',
    '--json',
  );
  const reader = JSON.parse(more.stdout).apiKey;
  t.match(reader, { scope: 'READ', expiresAt: '2030-01-01T00:00:00.000Z' });
  t.match(await two.authenticate(reader.key), { scope: 'READ' });
  const list = JSON.parse((await cli('key', 'list', '--account', account.id, '--json')).stdout);
  t.same(
    list.apiKeys.map((item: { id: string }) => item.id),
    [reader.id, apiKey.id],
  );
  t.equal((await cli('key', 'revoke', reader.id)).code, 0);
  t.equal(await two.authenticate(reader.key), null);
  t.match(await cli('account', '--help'), { code: 0, stdout: /create/ });
});

t.test('a command that fails is one line on stderr and exit code 1', async (t) => {
  const { account, apiKey } = await one.open();
  const failing: [RegExp, ...string[]][] = [
    [/unknown command 'frobnicate'/, 'frobnicate'],
    [/no command/],
    [/no command/, 'account'],
    [/unknown command 'destroy'/, 'account', 'destroy'],
    [/unknown option '--frob'/, 'account', 'create', '--name', 'x', '--frob'],
    [/'--name <name>' not specified/, 'account', 'create', '--json'],
    [/blank/, 'account', 'create', '--name', ' '],
    [/at most 120/, 'account', 'create', '--name', 'x'.repeat(121)],
    [/too many arguments/, 'account', 'list', 'all'],
    [/missing required argument 'id'/, 'key', 'revoke'],
    [/no such API key/, 'key', 'revoke', 'key_unknown'],
    [/last FULL key/, 'key', 'revoke', apiKey.id],
    [/no such account/, 'key', 'list', '--account', 'acct_unknown'],
    [/choices are FULL, READ/, 'key', 'create', '--account', account.id, '--name', 'x', '--scope', 'ALL'],
    [/ISO 8601/, 'key', 'create', '--account', account.id, '--name', 'x', '--expires', 'tomorrow'],
    [/expiresAt: .*future/, 'key', 'create', '--account', account.id, '--name', 'x', '--expires', '2020-01-01'],
  ];
  for (const [reason, ...args] of failing) {
    const { code, stdout, stderr } = await cli(...args);
    t.same({ code, stdout, lines: stderr.split('\n').length }, { code: 1, stdout: '', lines: 2 }, args.join(' '));
    t.match(stderr, reason);
  }
});
