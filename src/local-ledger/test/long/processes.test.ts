/** The local ledger outlives its processes: a restart continues, a crash leaves whole ledgers,
 *  and of many processes one closes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Account, Asset, Keypair, Operation, TimeoutInfinite, TransactionBuilder } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import t from 'tap';
import { builtFile } from '../../../../test/helpers/command.js';
import { startTestLedger } from '../../../../test/helpers/ledger.js';
import { freePort, testDatabase } from '../../../../test/helpers/mongo.js';
import { createLedgerClient } from '../../client.js';
import { systemClock } from '../../clock.js';
import { createLocalLedger } from '../../index.js';
import { ListenError, type ServedLedger, serveLocalLedger } from '../../serve.js';

const log = pino({ level: 'silent' });
const clock = systemClock;
const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** Resolves once the condition holds; fails after 20 s. */
async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !(await holds()); await clock.sleep(20)) {
    if (Date.now() > end) throw new Error('it did not come true within 20 s');
  }
}

function child(program: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const run = spawn(process.execPath, program === '' ? ['--import=tsx', ...args] : [builtFile(program), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => run.kill('SIGKILL'));
  return run;
}

t.test('a restart continues the same ledger', async (t) => {
  const { db } = await testDatabase(t);
  const first = await startTestLedger(t, { db, closeMs: 20 });
  const payee = await first.client.fund();
  await first.client.pay({ to: payee.address, amount: '1', memo: 'before' });
  await first.close();
  const { sequence } = await (async () => first.ledger.ledger.head())();

  const second = await startTestLedger(t, { db, closeMs: 20 });
  await second.client.pay({ to: payee.address, amount: '2', memo: 'after' });
  const page = await second.client.server.payments().forAccount(payee.address).call();
  t.strictSame(
    page.records.map((record) => (record as unknown as { amount?: string }).amount),
    [undefined, '1.0000000', '2.0000000'],
  );
  const [before, after] = [page.records[1]!, page.records[2]!].map(({ id }) => Number(BigInt(id) >> 32n));
  t.ok(before! <= sequence && after! > sequence, 'ledgers count on');
  const list = await second.client.server.ledgers().limit(200).call();
  t.strictSame(
    list.records.map((ledger) => ledger.sequence),
    list.records.map((_, index) => index + 1),
    'none is missing',
  );
});

t.test('a reset that was cut off is finished at the next start', async (t) => {
  const { db } = await testDatabase(t);
  const first = await startTestLedger(t, { db, closeMs: 20 });
  const { address } = await first.client.fund();
  await first.close();
  // The state after the process died having dropped the first collection.
  await db.collection('ledger_head').updateOne({}, { $set: { isResetting: true } });
  await db.collection('ledger_entries').drop();
  const second = await startTestLedger(t, { db, closeMs: null });
  t.equal((await second.client.status()).sequence, 1);
  t.equal((await fetch(`${second.url}/accounts/${address}/payments`)).status, 404);
  second.ledger.startTimer();
  t.match(await second.client.fund(), { address: String });
});

t.test('weeks of empty ledgers are a handful of documents, and each is still there to be asked for', async (t) => {
  const { db } = await testDatabase(t);
  let nowMs = Date.parse('2026-01-01T00:00:01.250Z');
  const steady = { ...clock, nowMs: () => nowMs, now: () => new Date(nowMs) };
  const { ledger, url } = await startTestLedger(t, { db, closeMs: null, clock: steady });
  const genesisMs = Date.parse('2026-01-01T00:00:01Z');
  for (let second = 1; second <= 300; second++) {
    nowMs = genesisMs + second * 1000;
    await ledger.closeLedger();
  }
  t.equal(await db.collection('ledger_spans').countDocuments(), 0);
  nowMs += 60_000;
  for (let second = 1; second <= 20; second++) {
    nowMs += 1000;
    await ledger.closeLedger();
  }
  t.equal(await db.collection('ledger_spans').countDocuments(), 1, 'a pause begins another');
  const at = async (sequence: number) =>
    ((await (await fetch(`${url}/ledgers/${sequence}`)).json()) as { closed_at: string }).closed_at;
  t.strictSame(
    [await at(1), await at(2), await at(301), await at(302), await at(321)],
    [
      '2026-01-01T00:00:01Z',
      '2026-01-01T00:00:02Z',
      '2026-01-01T00:05:01Z',
      '2026-01-01T00:06:02Z',
      '2026-01-01T00:06:21Z',
    ],
  );
  nowMs -= 3_600_000;
  await ledger.closeLedger();
  t.equal(await at(322), '2026-01-01T00:06:21Z', 'when the clock is set back, the time of the ledger stands still');
});

t.test('the timer closes at whole multiples of its pace', async (t) => {
  const { db } = await testDatabase(t);
  let nowMs = 1_000_250;
  const wakeUps: { atMs: number; wake(): void }[] = [];
  const stepped = {
    ...clock,
    nowMs: () => nowMs,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((wake) => {
        wakeUps.push({ atMs: nowMs + ms, wake });
        signal?.addEventListener('abort', () => wake());
      }),
  };
  const { ledger, client } = await startTestLedger(t, { db, closeMs: null, clock: stepped });
  ledger.startTimer();
  const ticks: number[] = [];
  for (let tick = 0; tick < 4; tick++) {
    await until(() => wakeUps.length > tick);
    const { atMs, wake } = wakeUps[tick]!;
    ticks.push(atMs);
    // Timers fire a little early or late.
    nowMs = atMs + [-1, 0, 340, 0][tick]!;
    wake();
    await until(async () => (await client.status()).sequence === tick + 2);
  }
  t.strictSame(ticks, [1_001_000, 1_002_000, 1_003_000, 1_004_000]);
});

/** Closes a ledger with the envelopes in it, and is killed as soon as its MongoDB client reports
 *  the event `DIE_AT` for `DIE_OF`. */
const CLOSE_AND_DIE = `
  const { MongoClient } = await import('mongodb');
  const { pino } = await import('pino');
  const { systemClock } = await import('./src/local-ledger/clock.ts');
  const { createLocalLedger } = await import('./src/local-ledger/index.ts');
  const client = new MongoClient(process.env.DB_URI, { monitorCommands: true });
  const ledger = await createLocalLedger({ db: client.db(), clock: systemClock, log: pino({ level: 'silent' }), closeMs: 1000 });
  await ledger.listen({ host: '127.0.0.1', port: 0 });
  for (const envelope of process.env.ENVELOPES.split(',')) await ledger.ledger.submit(ledger.ledger.decode(envelope));
  client.on(process.env.DIE_AT, ({ commandName }) => {
    if (commandName === process.env.DIE_OF) process.kill(process.pid, 'SIGKILL');
  });
  await ledger.closeLedger();
`;

t.test('killed in the middle of a close, a ledger is whole or not there at all', async (t) => {
  const deaths = [
    { at: 'commandStarted', of: 'update', isThere: false },
    { at: 'commandStarted', of: 'insert', isThere: false },
    { at: 'commandStarted', of: 'commitTransaction', isThere: false },
    { at: 'commandSucceeded', of: 'commitTransaction', isThere: true },
  ];
  for (const { at, of, isThere } of deaths) {
    const { db, uri } = await testDatabase(t);
    const first = await startTestLedger(t, { db, closeMs: 20 });
    const [payer, payee] = [await first.client.fund(), await first.client.fund()];
    const { sequence: before } = await first.client.server.loadAccount(payer.address);
    await first.close();
    const { sequence } = first.ledger.ledger.head();
    const account = new Account(payer.address, before);
    const envelopes = ['10', '1000000'].map((amount) => {
      const transaction = new TransactionBuilder(account, { fee: '200', networkPassphrase: first.ledger.passphrase })
        .addOperation(Operation.payment({ destination: payee.address, asset: Asset.native(), amount }))
        .addOperation(Operation.manageData({ name: amount, value: 'x' }))
        .setTimeout(TimeoutInfinite)
        .build();
      transaction.sign(Keypair.fromSecret(payer.secret));
      return transaction.toXdr();
    });

    const dying = child('', ['--input-type=module', '-e', CLOSE_AND_DIE], {
      DB_URI: uri,
      ENVELOPES: envelopes.join(','),
      DIE_AT: at,
      DIE_OF: of,
    });
    t.strictSame(await once(dying, 'exit'), [null, 'SIGKILL']);
    const left = await db.collection('ledger_head').findOne({});
    t.equal(
      left!.sequence,
      isThere ? sequence + 1 : sequence,
      `${at} ${of}: the ledger is ${isThere ? '' : 'not '}there`,
    );

    const startMs = Date.now();
    const second = await startTestLedger(t, { db, closeMs: 20 });
    t.ok(Date.now() - startMs < 20_000, 'a transaction that a dead process left open holds up no other');
    const { server } = second.client;
    const seen = await db.collection('ledger_operations').countDocuments({ accounts: payee.address });
    t.equal(seen > 1, isThere, 'and so are its operations');
    t.equal((await server.loadAccount(payer.address)).sequence, (BigInt(before) + (isThere ? 2n : 0n)).toString());
    t.equal(
      (await server.loadAccount(payee.address)).balances.at(-1)!.balance,
      isThere ? '10010.0000000' : '10000.0000000',
    );

    // A client without an answer submits the same again.
    const answers: number[] = [];
    for (const tx of envelopes) {
      const response = await fetch(`${second.url}/transactions`, { method: 'POST', body: new URLSearchParams({ tx }) });
      answers.push(response.status);
    }
    t.strictSame(answers, [200, 400]);
    const payments = await server.payments().forAccount(payee.address).includeFailed(true).call();
    t.equal(payments.records.length, 3, 'and it is there once');
    t.equal((await server.loadAccount(payee.address)).balances.at(-1)!.balance, '10010.0000000');
    await second.close();
  }
});

t.test('one of all processes on a database serves; when it is killed another takes over', async (t) => {
  const { db, uri } = await testDatabase(t);
  const port = await freePort();
  const env = {
    MONGODB_URI: uri,
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
    LOCAL_LEDGER_PORT: String(port),
    LOCAL_LEDGER_CLOSE_MS: '100',
    LOG_LEVEL: 'error',
  };
  const first = child('src/local-ledger/main.ts', [], env);
  const [line] = (await once(first.stdout!, 'data')) as [Buffer];
  t.match(String(line), `http://127.0.0.1:${port}`);
  const served = await serveLocalLedger({ db, clock, log, host: '127.0.0.1', port, closeMs: 100 });
  t.teardown(() => served.close());
  const third = await serveLocalLedger({ db, clock, log, host: '127.0.0.1', port, closeMs: 100 });
  t.teardown(() => third.close());
  t.strictSame([served.url, third.url], [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port}`]);

  const client = createLedgerClient({ url: served.url, passphrase: 'Standalone Network ; February 2017' });
  const payee = await client.fund();
  await client.pay({ to: payee.address, amount: '1' });
  const { sequence, databaseId } = await client.status();
  first.kill('SIGKILL');
  const startMs = Date.now();
  await until(async () => (await client.status().catch(() => null)) !== null);
  t.ok(Date.now() - startMs < 15_000, 'within seconds');
  t.match(await client.status(), { databaseId, isClosing: true });
  await client.pay({ to: payee.address, amount: '2' });
  t.ok((await client.status()).sequence > sequence);
  const page = await client.server.payments().forAccount(payee.address).call();
  t.equal(page.records.length, 3);

  await Promise.all([served, third].map((one) => one.close()));
  await t.rejects(client.status(), /no local ledger answers/);
});

t.test('a process that lost the ledger to another closes nothing more', async (t) => {
  const { db } = await testDatabase(t);
  const options = { db, clock, log, closeMs: 1000 };
  const [slow, quick] = [await createLocalLedger(options), await createLocalLedger(options)];
  t.teardown(() => Promise.all([slow.close(), quick.close()]));
  await slow.listen({ host: '127.0.0.1', port: 0 });
  await slow.closeLedger();
  await quick.listen({ host: '127.0.0.1', port: 0 });
  const sequence = await quick.closeLedger();
  let isLost = false;
  slow.ledger.closer.whenLost(() => {
    isLost = true;
  });
  await t.rejects(slow.closeLedger(), /taken the local ledger over/);
  t.ok(isLost);
  await t.rejects(slow.closeLedger(), /taken the local ledger over/, 'and does not take it back');
  t.equal(await quick.closeLedger(), sequence + 1);

  const [a, b] = [await createLocalLedger(options), await createLocalLedger(options)];
  t.teardown(() => Promise.all([a.close(), b.close()]));
  const race = await Promise.allSettled(
    Array.from({ length: 20 }, (_, turn) => (turn % 2 === 0 ? a : b).closeLedger()),
  );
  const closed = race.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  t.equal(new Set(closed).size, closed.length, 'no ledger is closed twice');
});

t.test('a process whose ledger was taken over serves what the other closes', async (t) => {
  const { db } = await testDatabase(t);
  const port = await freePort();
  const served = await serveLocalLedger({ db, clock, log, host: '127.0.0.1', port, closeMs: 50 });
  t.teardown(() => served.close());
  const other = await createLocalLedger({ db, clock, log, closeMs: 50 });
  const { url } = await other.listen({ host: '127.0.0.1', port: 0 });
  other.startTimer();
  await until(() => served.url === url);
  t.equal(served.url, url, 'it follows');
  await other.close();
  await until(() => served.url !== url);
  const client = createLedgerClient({ url: served.url, passphrase: 'Standalone Network ; February 2017' });
  t.match(await client.status(), { isClosing: true }, 'and takes over again');
});

t.test('a port that belongs to something else is told in one line', async (t) => {
  const { db } = await testDatabase(t);
  const stranger = createServer((_req, res) => res.end('hello'));
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  t.teardown(() => stranger.close());
  const { port } = stranger.address() as AddressInfo;
  const refused = serveLocalLedger({ db, clock, log, host: '127.0.0.1', port, closeMs: 1000 });
  const error = await refused.catch((reason: unknown) => reason);
  t.ok(error instanceof ListenError);
  t.match((error as Error).message, new RegExp(`^[^\\n]*${port}[^\\n]*$`));

  const { db: elsewhere } = await testDatabase(t);
  const ledgers: ServedLedger[] = [];
  t.teardown(() => Promise.all(ledgers.map((ledger) => ledger.close())));
  const own = await freePort();
  ledgers.push(await serveLocalLedger({ db, clock, log, host: '127.0.0.1', port: own, closeMs: 1000 }));
  const foreign = serveLocalLedger({ db: elsewhere, clock, log, host: '127.0.0.1', port: own, closeMs: 1000 });
  t.ok(
    (await foreign.catch((reason: unknown) => reason)) instanceof ListenError,
    'a ledger of another database is something else',
  );
});
