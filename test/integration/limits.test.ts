// biome-ignore-all lint/suspicious/noExplicitAny: rows are written and read as they lie in the database.
/** What keeps one from harming others and secrets from leaving: logs without documents, keys that
 *  can be changed. On a real database. */
import { randomBytes } from 'node:crypto';
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { createQuota } from '../../src/accounts/account.js';
import { createCommit } from '../../src/accounts/commit.js';
import { createLog } from '../../src/app/log.js';
import { removeExpired } from '../../src/app/retention.js';
import { checkSecretsKey, resealSecrets, type StoreResealed, sealedRows } from '../../src/app/secrets-key.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import { createCountSegments } from '../../src/kit/count-segments.js';
import { connectDatabase, orAlreadyMade } from '../../src/kit/database.js';
import { firstIdOf } from '../../src/kit/ids.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createProofStore } from '../../src/proving/proof-store.js';
import { createStores } from '../../src/stores.js';
import { startTestService } from '../helpers/service.js';
import { newId, openStores } from '../helpers/stores.js';

t.test('a failed bulk write is logged with its name, code and message, and without its documents', async (t) => {
  const { db } = await openStores(t);
  const documents = Array.from({ length: 50 }, () => ({
    _id: 'same' as never,
    secret: 'hunter2',
    memo: 'x'.repeat(5000),
  }));
  const error = await db
    .collection('things')
    .bulkWrite(
      documents.map((document) => ({ insertOne: { document } })),
      { ordered: false },
    )
    .then(
      () => null,
      (error) => error,
    );
  const lines: string[] = [];
  createLog('info', { write: (line: string) => void lines.push(line) }).error({ err: error }, 'not stored');
  t.match(JSON.parse(lines[0]!), {
    msg: 'not stored',
    err: { name: 'MongoBulkWriteError', code: 11000, message: /E11000/ },
  });
  t.notMatch(lines[0], /hunter2|xxxx/);
  t.ok(lines[0]!.length < 4000, `${lines[0]!.length} characters`);
});

t.test('secrets move to a new key while old and new are both given; then the old one is not needed', async (t) => {
  const { db, stores } = await openStores(t);
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
  const before = createSecretBox(oldKey, clock);
  await checkSecretsKey(stores.system.installation, before);
  const ids = Array.from({ length: 3 }, () => newId('hook'));
  await db.collection<any>('webhooks').insertMany(
    ids.map((_id) => ({
      _id,
      secrets: ['one', 'two'].map((name) => ({ sealed: before.seal(`${name} of ${_id}`, _id), until: null })),
    })),
  );
  const openAll = async (box: typeof before) => {
    const rows = await db.collection<any>('webhooks').find({}).toArray();
    return rows.flatMap(({ _id, secrets }) => secrets.map(({ sealed }: { sealed: string }) => box.open(sealed, _id)));
  };

  const plainly: StoreResealed = (_row, work) => work();
  const both = createSecretBox([newKey, oldKey], clock);
  await checkSecretsKey(stores.system.installation, both);
  t.equal((await openAll(both)).length, 6, 'the old key still opens');
  t.same(await resealSecrets(sealedRows(db), both, plainly), { resealed: 7, kept: 0 }, 'six secrets and the probe');
  t.same(await resealSecrets(sealedRows(db), both, plainly), { resealed: 0, kept: 7 }, 'again, nothing is left to do');

  const after = createSecretBox([newKey], clock);
  await checkSecretsKey(stores.system.installation, after);
  t.same((await openAll(after)).sort(), ids.flatMap((id) => [`one of ${id}`, `two of ${id}`]).sort());
  await t.rejects(checkSecretsKey(stores.system.installation, before), { name: 'StartupError' });
  await t.rejects(resealSecrets(sealedRows(db), before, plainly), {
    name: 'StartupError',
    message: /^7 secrets cannot be decrypted with any key/,
  });
});

t.test(
  'retention removes what ended and what is dust, in bounded batches, and never a payment of a link',
  async (t) => {
    const { uri, db } = await openStores(t);
    const { connection, transaction, close } = await connectDatabase(uri);
    t.teardown(close);
    const day = 86_400_000;
    const nowMs = Date.now();
    const before = new Date(nowMs - 30 * day);
    /** An id of that age. */
    const aged = (prefix: 'dlv' | 'evt' | 'pay', days: number, n = 0) => {
      const first = firstIdOf(prefix, new Date(nowMs - days * day));
      return `${first.slice(0, -4)}${n.toString(8).padStart(4, '0')}`;
    };
    const accountId = 'acct_a';
    const insert = (name: string, rows: object[]) => db.collection<any>(name).insertMany(rows);
    const idsOf = async (name: string) =>
      (await db.collection<any>(name).find({}).sort({ _id: 1 }).toArray()).map(({ _id }) => _id);

    await insert('webhooks', [{ _id: 'hook_a', accountId, secrets: [] }]);
    const old = Array.from({ length: 1200 }, (_, n) => aged('evt', 40, n));
    const waiting = old[700]!;
    const recent = aged('evt', 20);
    await insert(
      'events',
      [...old, recent].map((_id) => ({ _id, accountId, subjectId: `pay of ${_id}`, type: 'x', occurrence: _id })),
    );
    await insert(
      'deliveries',
      [...old, recent].map((eventId, n) => ({
        ...{
          _id: aged('dlv', eventId === recent ? 20 : 40, n),
          accountId,
          webhookId: 'hook_a',
          eventId,
          eventType: 'x',
        },
        subjectId: `pay of ${eventId}`,
        status: eventId === waiting ? 'PENDING' : ['DELIVERED', 'FAILED', 'CANCELLED'][n % 3],
        endedAt: eventId === waiting ? null : new Date(nowMs - (eventId === recent ? 20 : 40) * day),
      })),
    );
    const payment = (n: number, days: number, status: string, amount: string) => ({
      ...{ _id: aged('pay', days, n), accountId, status, amount, walletId: 'w', operationId: `${n}`, changeIndex: 0 },
      transactionHash: `${n}`,
    });
    await insert('payments', [
      payment(1, 40, 'UNMATCHED', '0.0009999'),
      payment(2, 40, 'UNMATCHED', '0.001'),
      payment(3, 40, 'COMPLETED', '0.0000001'),
      payment(4, 40, 'UNDERPAID', '0.0000001'),
      payment(5, 20, 'UNMATCHED', '0.0000001'),
    ]);
    await insert('activities', [{ _id: firstIdOf('act', new Date(nowMs - 4000 * day)), accountId }]);

    const deps = {
      db: connection.db!,
      transaction,
      proofs: createProofStore(connection).system,
      countSegments: createCountSegments(connection),
    };
    const stopped = AbortSignal.abort();
    t.same(await removeExpired(deps, { before, dustStroops: 10_000n }, stopped), {
      deliveries: 0,
      events: 0,
      payments: 0,
    });
    const running = new AbortController().signal;
    const [one, other] = await Promise.all(
      [0n, 0n].map((dustStroops) => removeExpired(deps, { before, dustStroops }, running)),
    );
    t.equal(one!.deliveries + other!.deliveries, 1199, 'two processes at once remove each delivery once');
    t.equal(one!.events + other!.events, 1199);
    t.same(await idsOf('events'), [waiting, recent], 'an event stays as long as a delivery waits for it');
    t.equal((await idsOf('deliveries')).length, 2);
    t.equal((await idsOf('payments')).length, 5, 'without DUST_AMOUNT no payment is dust');
    t.match(await removeExpired(deps, { before, dustStroops: 10_000n }, running), { payments: 1 });
    t.same((await idsOf('payments')).length, 4);
    t.equal(await db.collection('payments').countDocuments({ amount: '0.0009999' }), 0);
    t.equal(await db.collection('activities').countDocuments(), 1, 'activity stays');
  },
);

t.test('retention counts from the end of a delivery, and keeps what a replay is to send', async (t) => {
  const { uri, db } = await openStores(t);
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  const day = 86_400_000;
  const ago = (days: number) => new Date(Date.now() - days * day);
  const insert = (name: string, rows: object[]) => db.collection<any>(name).insertMany(rows);
  await insert(
    'webhooks',
    ['a', 'b'].map((n) => ({ _id: `hook_${n}`, accountId: `acct_${n}`, secrets: [] })),
  );
  const add = async (accountId: string, n: number, status: string, endedAt: Date | null) => {
    const [first, second] = [firstIdOf('evt', ago(40)), firstIdOf('dlv', ago(40))].map(
      (id) => `${id.slice(0, -1)}${n}`,
    );
    const [, name] = accountId.split('_');
    const common = { accountId, subjectId: `pay_${n}` };
    await insert('events', [{ _id: first, ...common, type: 'x', occurrence: '' }]);
    const delivery = { _id: second, ...common, webhookId: `hook_${name}`, eventId: first, eventType: 'x' };
    await insert('deliveries', [{ ...delivery, replayId: '', status, endedAt }]);
  };
  await add('acct_a', 0, 'DELIVERED', ago(31));
  await add('acct_a', 1, 'FAILED', ago(29));
  await add('acct_a', 2, 'DELIVERED', ago(29));
  await add('acct_a', 3, 'PENDING', null);
  await add('acct_b', 4, 'FAILED', ago(31));
  await db.collection<any>('replays').insertOne({ _id: 'rpl_1', accountId: 'acct_b', webhookId: 'hook_b' });
  const deps = {
    db: connection.db!,
    transaction,
    proofs: createProofStore(connection).system,
    countSegments: createCountSegments(connection),
  };
  const remove = () => removeExpired(deps, { before: ago(30), dustStroops: 0n }, new AbortController().signal);
  const left = async (name: string) => (await db.collection(name).distinct('subjectId')).sort();
  t.match(await remove(), { deliveries: 1, events: 1 });
  t.same(await left('deliveries'), ['pay_1', 'pay_2', 'pay_3', 'pay_4']);
  t.same(await left('events'), ['pay_1', 'pay_2', 'pay_3', 'pay_4'], 'what has a delivery can be sent again');
  await db.collection('replays').deleteMany({});
  t.match(await remove(), { deliveries: 1, events: 1 }, 'when the replay is over');
  t.same(await left('events'), ['pay_1', 'pay_2', 'pay_3']);
});

t.test(
  'an account gets as many webhooks, API keys and wallets as the settings say, and not one more in a race',
  async (t) => {
    const service = await startTestService(t, {
      env: { MAX_WEBHOOKS_PER_ACCOUNT: '7', MAX_API_KEYS_PER_ACCOUNT: '8', MAX_WALLETS_PER_ACCOUNT: '9' },
    });
    const processes = [service.context, await service.join('api')];
    const as = { accountId: service.accountId, keyId: 'key_x', scope: 'FULL' as const };
    const addresses = Array.from({ length: 40 }, () => Keypair.random().publicKey());
    const servicesOf = (n: number) => processes[n % 2]!.services;
    const webhook = { name: 'w', url: 'https://shop.example/', events: ['payment.completed' as const] };
    const kinds = [
      { what: 'webhooks', max: 7, create: (n: number, by = as) => servicesOf(n).webhooks.create(by, webhook) },
      {
        what: 'API keys',
        max: 8,
        create: (n: number, by = as) => servicesOf(n).apiKeys.create(by, { name: 'k', scope: 'READ' }),
      },
      {
        what: 'wallets',
        max: 9,
        create: (n: number, by = as) =>
          servicesOf(n).wallets.create(by, { name: 'w', address: addresses[n]!, network: 'LOCAL' }),
      },
    ];
    for (const { what, max, create } of kinds) {
      const interrupted = { ...as, reservedId: (prefix: string) => `${prefix}_reserved` } as typeof as;
      const { id } = await create(0, interrupted);
      const refused = (await Promise.allSettled(addresses.slice(1).map((_, n) => create(n + 1)))).flatMap((result) =>
        result.status === 'rejected' ? [result.reason] : [],
      );
      // One was made above, and the account began with an API key.
      t.equal(refused.length, 39 - (max - (what === 'API keys' ? 2 : 1)), what);
      for (const reason of refused) {
        t.match(reason, { code: 'conflict', message: `An account has at most ${max} ${what}: delete one first.` });
      }
      t.equal((await create(0, interrupted)).id, id, 'a creation repeated after a crash is not refused for itself');
    }

    const { data } = await service.api('GET', '/webhooks');
    t.equal(data.length, 7);
    t.match(await service.api('POST', '/webhooks', webhook), {
      status: 409,
      error: { code: 'conflict', message: 'An account has at most 7 webhooks: delete one first.' },
    });
    t.equal((await service.api('DELETE', `/webhooks/${data[0].id}`)).status, 200);
    t.equal((await service.api('POST', '/webhooks', webhook)).status, 201, 'room again');
    const other = await service.openAccount();
    t.equal((await service.api('POST', '/webhooks', webhook, other.apiKey)).status, 201, 'another account has its own');
  },
);

t.test(
  'creations of an account that come in side by side share transactions, and one that fails fails alone',
  async (t) => {
    const { uri } = await openStores(t);
    const { connection, transaction, close } = await connectDatabase(uri);
    t.teardown(close);
    const { forAccount, system } = createStores(connection, { clock, newId });
    await system.accounts.insert({ _id: 'acct_a', name: 'a', createdAt: clock.now() });
    const things = connection.db!.collection<any>('things');
    await things.insertOne({ _id: 77 });
    let transactions = 0;
    const quota = createQuota({
      commit: createCommit({
        transaction: (work) =>
          transaction((session) => {
            transactions++;
            return work(session);
          }),
        ...{ forAccount, activities: system.activities, newId },
      }),
      forAccount,
      count: (_accountId, session) => things.countDocuments({}, { session }),
      max: 10_000,
      what: 'things',
    });
    const doing = { operation: 'things_create', effect: 'adds', input: {} } as const;
    const caller = { accountId: 'acct_a', keyId: '', scope: 'FULL', doing } as const;
    const create = (_id: number) =>
      quota({ caller, subjectId: `thing_${_id}` }, async (session) => {
        await orAlreadyMade(things.insertOne({ _id }, { session }));
      });
    // 32 connections, each with its next request as soon as the one before is answered.
    let next = 0;
    const failed: number[] = [];
    const sendAll = async () => {
      while (next < 1000) {
        const id = next++;
        await create(id).catch(() => failed.push(id));
      }
    };
    await Promise.all(Array.from({ length: 32 }, sendAll));
    t.same(failed, [77], 'the one that was there before');
    t.equal(await things.countDocuments(), 1000);
    t.equal(
      await connection.db!.collection('activities').countDocuments(),
      999,
      'each is told of, the failed one is not',
    );
    t.ok(transactions < 200, `${transactions} transactions`);
  },
);
