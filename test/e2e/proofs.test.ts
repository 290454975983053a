/** A payment is proven by the API's bundle alone: whatever kind it is of, and whatever an
 *  archive says. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { monotonicClock, systemClock } from '../../src/kit/clock.js';
import { createLedger, LedgerUnavailable } from '../../src/ledger/index.js';
import type { Asker, Fetch, LedgerBudget } from '../../src/ledger/request.js';
import { PASSPHRASE } from '../../src/local-ledger/index.js';
import type { PaymentDoc } from '../../src/payments/index.js';
import { verifyProof } from '../../src/proof/index.js';
import { type Archive, CHECKPOINT, checkpointOf, createArchives } from '../../src/proving/archives.js';
import { createMaker, type MakerDeps } from '../../src/proving/maker.js';
import type { DueProof } from '../../src/proving/proof-store.js';
import { createProver } from '../../src/proving/prover.js';
import { createRequestBudgetStore } from '../../src/watching/request-budgets.js';
import { ROOT } from '../helpers/command.js';
import { bash, blocksOf, literally } from '../helpers/documents.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { LONG } from '../helpers/long.js';
import { type ManualClock, manualClock } from '../helpers/manual-clock.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';
import { openStores } from '../helpers/stores.js';

type Json = any;
const run = promisify(execFile);

const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-proofs-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const service = await startTestService(t);
const client = service.context.localLedger!.client;
const trust = await trustIn(service);

/** The passphrase and the validator of the service's own ledger. */
async function trustIn(at: TestService) {
  const toml = await (await fetch(`${at.context.localLedger!.url}/.well-known/stellar.toml`)).text();
  const [, node] = /^PUBLIC_KEY = "(G\w+)"$/m.exec(toml)!;
  return { passphrase: PASSPHRASE, validators: [{ name: 'Local', homeDomain: 'localhost', nodes: [node!] }] };
}

/** @param level of the proof, by default the network's */
const proofOf = async (id: string, level?: string, at: TestService = service): Promise<Json> =>
  (await at.api('GET', `/payments/${id}/proof${level ? `?level=${level}` : ''}`)).data;

/** A checkpoint of the test's ledger takes 6.4 s. */
const ready = (id: string, level?: string, at: TestService = service): Promise<Json> =>
  eventually(
    async () => {
      const shown = await proofOf(id, level, at);
      return shown.state === 'READY' && shown;
    },
    `the proof of ${id}`,
    60_000,
  );

/** A checkout that is paid, and its payment. */
async function paidOrder(at: TestService = service, reference = 'order-1042'): Promise<Json> {
  const { wallet, product } = await startSelling(at);
  const checkout = (await at.api('POST', '/checkouts', { productId: product.id, reference })).data;
  await at.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: checkout.memo });
  const payment = await eventually(
    async () => (await at.api('GET', `/payments?checkoutId=${checkout.id}`)).data[0],
    'the payment',
  );
  return { payment, checkout };
}

t.test('a payment of any kind → proven by its ledger, and with the validator’s signature', async (t) => {
  const parties = await openAccounts(client);
  const address = parties.shop.publicKey();
  const wallet = (await service.api('POST', '/wallets', { name: 'All', address, network: 'LOCAL' })).data;
  const counts = await payEveryKind(client, parties);
  const payments: Json[] = await eventually(
    async () => {
      const { data } = await service.api('GET', `/payments?walletId=${wallet.id}&status=UNMATCHED&pageSize=100`);
      return data.length >= counts.shop && data;
    },
    'all payments',
    60_000,
  );
  const kinds = new Set<string>();
  for (const payment of payments) {
    for (const [level, verdict] of [
      ['ledger', 'CONSISTENT'],
      ['signed', 'SIGNED'],
    ] as const) {
      const { proof } = await ready(payment.id, level);
      const found = await verifyProof(proof, trust);
      t.equal(found.verdict, verdict, found.reasons.join(' '));
      t.match(found.claim, {
        ...{ amount: payment.amount, to: payment.receiverAddress, from: payment.senderAddress },
        ...{ assetCode: payment.assetCode, assetIssuer: payment.assetIssuer, memoType: payment.memoType },
        ...{ toMuxedId: payment.destinationMuxedId, ledger: payment.ledger, closedAt: payment.ledgerClosedAt },
      });
      t.equal(proof.statement, null, 'it settled nothing');
      kinds.add(found.claim!.kind);
    }
  }
  t.same([...kinds].sort(), [
    'account_merge',
    'contract',
    'path_payment_strict_receive',
    'path_payment_strict_send',
    'payment',
  ]);
});

t.test('the file of a proof → verified by the command, which has nothing else', async (t) => {
  const { payment } = await paidOrder();
  await ready(payment.id);
  const path = `${service.url}/api/v1/payments/${payment.id}/proof?format=file`;
  const answer = await fetch(path, { headers: { authorization: `Bearer ${service.apiKey}` } });
  t.equal(answer.status, 200);
  t.match(answer.headers.get('content-disposition'), /^attachment; filename=".+\.json"$/);
  const [file, known] = [join(folder, 'proof.json'), join(folder, 'validators.json')];
  await writeFile(file, await answer.text());
  await writeFile(known, JSON.stringify(trust.validators));
  const published: Json = await (await fetch(`${service.url}/.well-known/webhook-keys.json`)).json();
  const [key] = published.keys;
  const command = ['--import=tsx', 'src/proof/main.ts', 'verify', file];
  const { stdout } = await run(process.execPath, [
    ...command,
    ...['--passphrase', PASSPHRASE, '--validators', known, '--statement-key', `${key.id}=${key.publicKey}`],
  ]);
  t.match(stdout, /^SIGNED\n/);
  t.match(stdout, /Payment {6}25 XLM/);
  t.match(stdout, /Statement \(genuine; .*order-1042/);
  const alone = await run(process.execPath, command).catch((error) => error);
  t.match(alone, { code: 1, stdout: /^UNKNOWN\n/ }, 'who names no network trusts none');
});

t.test('who asks, and for what', async (t) => {
  const { payment } = await paidOrder();
  const { data: reader } = await service.api('POST', '/api-keys', { name: 'reads', scope: 'READ' });
  const path = `/payments/${payment.id}/proof`;
  t.equal((await service.api('GET', path, undefined, reader.key)).status, 200, 'a READ key may');
  const stranger = await service.openAccount('Stranger');
  t.equal((await service.api('GET', path, undefined, stranger.apiKey)).status, 404);
  t.equal((await service.api('GET', `${path}?level=best`)).status, 400);
  const shown = await ready(payment.id, 'ledger');
  t.match(shown, { level: 'ledger', reason: null, retryAfterSeconds: null, proof: { anchor: null } });
  t.match((await ready(payment.id)).level, 'signed', 'the highest that the network has');
  t.same((await proofOf(payment.id, 'ledger')).proof, shown.proof, 'it is made once');
  const stored = await service.context.stores.forAccount(service.accountId).proofs.byId(`${payment.id}:signed`);
  t.ok(stored!.bundle!.length < JSON.stringify((await proofOf(payment.id)).proof).length, 'kept compressed');
});

t.test('a payer → gets the proof of a paid checkout, and of no other payment', async (t) => {
  const { wallet, product } = await startSelling(service);
  const checkout = (await service.api('POST', '/checkouts', { productId: product.id })).data;
  const path = `${service.url}${new URL(checkout.url).pathname}/proof`;
  const get = (query = '', accept = 'application/json') => fetch(`${path}${query}`, { headers: { accept } });
  const paid = async (amount: string, count: number): Promise<Json> => {
    await client.pay({ to: wallet.address, amount, memo: checkout.memo });
    return eventually(async () => {
      const { data } = await service.api('GET', `/payments?checkoutId=${checkout.id}`);
      return data.length === count && data[0];
    }, `the payment of ${amount}`);
  };
  const part = await paid('10', 1);
  t.equal((await get()).status, 404, 'not paid yet');
  t.equal((await get(`?payment=${part.id}`)).status, 404);
  const rest = await paid('15', 2);
  const file = await eventually(
    async () => {
      const answer = await get();
      if (answer.status === 200) return answer;
      t.equal(answer.status, 202);
      t.ok(Number(answer.headers.get('retry-after')) >= 1);
      const page = await get('', 'text/html');
      if (page.status === 202) t.match(await page.text(), /The proof is being made/);
      return null;
    },
    'the proof',
    60_000,
  );
  t.match(file.headers.get('content-disposition'), /attachment/);
  const bundle: Json = await file.json();
  t.equal(bundle.claim.transactionHash, rest.transactionHash, 'of the payment that completed it');
  t.match(bundle.statement.body, /it settled checkout chk_/);
  t.match(await verifyProof(bundle, trust), { verdict: 'SIGNED', claim: { amount: '15' } });
  const ofPart: Json = await eventually(async () => {
    const answer = await get(`?payment=${part.id}&level=ledger`);
    return answer.status === 200 && answer.json();
  }, 'the proof of the part');
  t.match(ofPart, { claim: { amount: '10' }, statement: { body: /a part of what settled/ } });
  const { payment: others } = await paidOrder();
  t.equal((await get(`?payment=${others.id}`)).status, 404, 'another order’s');
  t.equal((await get('?payment=pay_x')).status, 404);
  t.equal((await fetch(`${service.url}/c/nothing/proof`)).status, 404);
});

/** What the archive does to a request. */
type Behaviour = 'honest' | 'away' | 'html' | 'cut' | 'stalls' | 'lies' | 'missing' | 'bomb' | 'redirects';

const BOMB = gzipSync(Buffer.alloc(128 * 1024 * 1024));

/** Answers a request as told. @param real the path at an honest archive */
async function answer(behaviour: Behaviour, real: string, res: ServerResponse): Promise<unknown> {
  if (behaviour === 'away') return res.destroy();
  if (behaviour === 'missing') return res.writeHead(404).end('no such file');
  if (behaviour === 'html') return res.setHeader('content-type', 'text/html').end('<html>Welcome</html>');
  if (behaviour === 'stalls') return res.writeHead(200).write('x');
  if (behaviour === 'bomb') return res.end(BOMB);
  if (behaviour === 'redirects') return res.writeHead(302, { location: real }).end();
  const found = await fetch(real);
  const body = Buffer.from(await found.arrayBuffer());
  if (!found.ok || behaviour === 'honest') return res.writeHead(found.status).end(body);
  if (behaviour === 'cut') return res.end(body.subarray(0, body.length / 2));
  const lie = gunzipSync(body).map((byte, index) => (index % 97 === 96 ? byte ^ 1 : byte));
  return res.end(gzipSync(lie));
}

/** An archive before the ledger's own that behaves as it is told. */
async function startArchive(t: Test) {
  let [behaviour, origin]: [Behaviour, string] = ['away', ''];
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url!);
    void answer(behaviour, `${origin}${req.url}`, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/archive`,
    asked,
    /** The honest one. */
    of: (url: string) => {
      origin = url;
    },
    be: (next: Behaviour) => {
      behaviour = next;
    },
  };
}

/** Makes proofs of the service's ledger by a clock of its own. */
function makeBy(t: Test, clock: ManualClock, given: { budget: LedgerBudget | null; fetch?: Fetch }) {
  const clocks = { clock, monotonic: clock, log: pino({ level: 'silent' }) };
  const sources = { horizonUrls: [service.context.localLedger!.url], rpcUrls: [], passphrase: PASSPHRASE };
  const ledger = createLedger({ network: 'LOCAL', ...clocks, ...sources, ...given });
  t.teardown(() => ledger.close());
  const maker = createMaker({ network: 'LOCAL', ledger, archives: null, validators: async () => [], clock });
  return { clocks, maker };
}

t.test('proofs wait for a budget that is used up → each is made, those of two accounts in turn', async (t) => {
  const { wallet } = await startSelling(service);
  for (const amount of ['1', '2', '3', '4']) await client.pay({ to: wallet.address, amount });
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const paid: Json[] = await eventually(async () => {
    const { data } = await service.api('GET', path);
    return data.length === 4 && data;
  }, 'the payments');
  const { payments } = service.context.stores.forAccount(service.accountId);
  const docs = await Promise.all(paid.map(async ({ id }) => (await payments.byId(id))!));

  const [{ connection, stores }, clock] = [await openStores(t), manualClock()];
  // A share of 45 an hour: a request each 88 s, longer than a run of the job lasts.
  const budget = createRequestBudgetStore(connection, clock).of('LOCAL', 360);
  const [share] = budget.allowancesOf({ purpose: 'proofs' });
  while ((await share!.take()) === 0);
  // No time passes while a request is in flight: else a busy machine makes it time out.
  let inFlight = 0;
  const fetchWhole: Fetch = async (...asked) => {
    inFlight += 1;
    try {
      const answer = await fetch(...asked);
      const body = Buffer.from(await answer.arrayBuffer());
      return { status: answer.status, headers: answer.headers, body: Readable.from([body]) };
    } finally {
      inFlight -= 1;
    }
  };
  const { clocks, maker } = makeBy(t, clock, { budget, fetch: fetchWhole });
  for (const [nth, doc] of docs.entries())
    await stores.forAccount(nth < 3 ? 'acct_many' : 'acct_one').proofs.ask(doc, 'ledger', clock.now());

  const made: string[] = [];
  const { proofs, leases } = stores.system;
  const prover = createProver({
    makers: new Map([['LOCAL', maker]]),
    proofs: {
      ...proofs,
      note: async (proof, outcome, at) => {
        await proofs.note(proof, outcome, at);
        if (outcome.state === 'READY') made.push(proof.accountId);
      },
    },
    payments: { byId: (_account, id) => payments.byId(id) },
    leases,
    onTried: () => undefined,
    holder: 'test',
    ...clocks,
  });
  const run = async () => {
    const enough = new AbortController();
    void clock.sleep(60_000).then(() => enough.abort());
    await prover.run(enough.signal);
  };
  let isOver = false;
  t.teardown(() => {
    isOver = true;
  });
  const running = (async () => {
    while (made.length < docs.length && !isOver) await run();
  })();
  const passing = setInterval(() => inFlight === 0 && clock.advance(1000), 10);
  t.teardown(() => clearInterval(passing));
  await eventually(async () => made.length === docs.length, 'all proofs', 60_000);
  await running;
  t.same(made, ['acct_many', 'acct_one', 'acct_many', 'acct_many']);
});

t.test('the network started over since a payment → its proof is UNAVAILABLE an hour after it', async (t) => {
  const { payment: shown } = await paidOrder();
  const payment = (await service.context.stores.forAccount(service.accountId).payments.byId(shown.id))!;
  const clock = manualClock(payment.ledgerClosedAt.getTime());
  const other = payment.ledger + 1_000_000;
  const { maker } = makeBy(t, clock, { budget: null });
  const make = (changes: object) =>
    maker({ level: 'ledger', tries: 0 } as DueProof, { ...payment, ...changes }, new AbortController().signal);
  const gone = { ledger: other };
  const foreign = { transactionHash: 'f'.repeat(64) };
  for (const changes of [gone, foreign]) t.match(await make(changes), { state: 'WAITING', reason: /ledger/ });
  clock.advance(3_601_000);
  for (const changes of [gone, foreign]) t.match(await make(changes), { state: 'UNAVAILABLE', nextAt: null });
  t.match(await make({}), { state: 'READY' });
});

t.test('an archive lies → WAITING, and READY within a minute of its honesty', LONG, async (t) => {
  const archive = await startArchive(t);
  const own = await startTestService(t, { env: { ARCHIVE_URLS_LOCAL: archive.url } });
  archive.of(own.context.localLedger!.url);
  const { payment } = await paidOrder(own);
  archive.be('lies');
  const shown = await eventually(async () => {
    const proof = await proofOf(payment.id, 'signed', own);
    return /nothing/.test(proof.reason) && proof;
  }, `the lie is found out`);
  t.match(shown, { state: 'WAITING', reason: String, proof: null });
  t.ok(shown.retryAfterSeconds >= 1 && shown.retryAfterSeconds <= 60);
  t.ok(await ready(payment.id, 'ledger', own), 'the ledger’s level needs no archive');
  const begun = Date.now();
  archive.be('honest');
  const { proof } = await ready(payment.id, 'signed', own);
  t.ok(Date.now() - begun < 60_000, `${Date.now() - begun} ms`);
  t.equal((await verifyProof(proof, await trustIn(own))).verdict, 'SIGNED');
});

t.test('whatever an archive answers → no proof, and no fault of the maker', LONG, async (t) => {
  const { payment: shown } = await paidOrder();
  await ready(shown.id);
  const payment = (await service.context.stores.forAccount(service.accountId).payments.byId(shown.id))!;
  const ledger = { isFree: true, servers: [] } as unknown as MakerDeps['ledger'];
  const archive = await startArchive(t);
  archive.of(service.context.localLedger!.url);
  const make = (budget: LedgerBudget | null = null, patience = new AbortController().signal) => {
    const clocks = { clock: systemClock, monotonic: monotonicClock };
    const archives = createArchives({ urls: [archive.url], budget, ...clocks, timeoutMs: 5_000 });
    t.teardown(() => archives.close());
    const validators = async () => trust.validators;
    const maker = createMaker({ network: 'LOCAL', ledger, archives, validators, clock: systemClock });
    return maker({ level: 'signed', tries: 0 } as DueProof, payment, patience);
  };
  for (const behaviour of ['away', 'html', 'cut', 'lies', 'missing', 'bomb', 'redirects', 'stalls'] as const) {
    archive.be(behaviour);
    const { state, reason, bundle } = await make();
    t.same([state, bundle], ['WAITING', undefined], `${behaviour}: ${reason}`);
  }
  archive.be('honest');
  archive.asked.length = 0;
  const askers: Asker[] = [];
  let taken = 0;
  const allowance = { take: async () => Number(++taken > 1000), intervalMs: 1000 };
  const counted: LedgerBudget = {
    allowancesOf: (asker) => {
      askers.push(asker);
      return [allowance];
    },
    othersSpent: () => 0,
  };
  const made = await make(counted);
  t.equal(made.state, 'READY');
  t.equal((await verifyProof(gunzipSync(made.bundle!).toString(), trust)).verdict, 'SIGNED');
  const isLast = payment.ledger % 64 === 63;
  t.equal(archive.asked.length, isLast ? 6 : 4, 'requests for one proof');
  t.equal(taken, archive.asked.length, 'each is taken from the budget');
  t.ok(askers.every(({ purpose }) => purpose === 'proofs'));
  const usedUp: LedgerBudget = { ...counted, allowancesOf: () => [{ take: async () => 60_000, intervalMs: 60_000 }] };
  t.match(await make(usedUp, AbortSignal.timeout(100)), { state: 'WAITING', reason: /budget of LOCAL is used up/ });
});

/** The maker of a signed proof, by archives of a test. */
const signedBy = (all: readonly Archive[], payment: PaymentDoc, changes: Partial<MakerDeps> = {}) => {
  const ledger = { isFree: true, servers: [] } as unknown as MakerDeps['ledger'];
  const archives = { all: [...all], close: async () => undefined };
  const validators = async () => trust.validators;
  const maker = createMaker({ network: 'LOCAL', ledger, archives, validators, clock: systemClock, ...changes });
  return maker({ level: 'signed', tries: 0 } as DueProof, payment, new AbortController().signal);
};

const stored = async (id: string): Promise<PaymentDoc> =>
  (await service.context.stores.forAccount(service.accountId).payments.byId(id))!;

t.test('no source tells of a contract call now → WAITING, and the archive is not blamed', async (t) => {
  const { wallet } = await startSelling(service);
  await client.payByContract({ to: wallet.address, amount: '3' });
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const { id } = await eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
  await ready(id);
  const url = `${service.context.localLedger!.url}/archive`;
  const archives = createArchives({ urls: [url], budget: null, clock: systemClock, monotonic: monotonicClock });
  t.teardown(() => archives.close());
  const [archive] = archives.all as [Archive];
  const away = () => Promise.reject(new LedgerUnavailable('away', 1000));
  const ledger = { isFree: true, servers: ['x'], session: () => ({ on: () => ({ invocation: away }) }) };
  const made = await signedBy([archive], await stored(id), { ledger: ledger as unknown as MakerDeps['ledger'] });
  t.match(made, { state: 'WAITING', reason: /source of the ledger is away/ });
  t.equal(archive.restsMs(), 0, 'it may be asked for other payments');
});

t.test('one of two sources tells of another contract call → the other one’s proves it', async (t) => {
  const { wallet } = await startSelling(service);
  await client.payByContract({ to: wallet.address, amount: '3' });
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const { id } = await eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
  const { proof } = await ready(id);
  const told: Record<string, Buffer> = {
    liar: Buffer.from('another call'),
    honest: Buffer.from(proof.invocation, 'base64'),
  };
  const url = `${service.context.localLedger!.url}/archive`;
  const make = async (...servers: string[]) => {
    const archives = createArchives({ urls: [url], budget: null, clock: systemClock, monotonic: monotonicClock });
    const [archive] = archives.all as [Archive];
    const on = (server: string) => ({ invocation: async () => told[server] });
    const ledger = { isFree: true, servers, session: () => ({ on }) } as unknown as MakerDeps['ledger'];
    const made = await signedBy([archive], await stored(id), { ledger });
    await archives.close();
    return { made, restsMs: archive.restsMs() };
  };
  const found = await make('liar', 'honest');
  t.equal(found.made.state, 'READY');
  t.equal(found.restsMs, 0, 'the archive is not blamed');
  t.match((await make('liar')).made, { state: 'WAITING', reason: /another call/ });
});

/** A ledger of the payment's checkpoint without a transaction, not its last one. */
async function emptyLedgerBeside(archive: Archive, { ledger }: PaymentDoc): Promise<number> {
  const last = checkpointOf(ledger);
  const file = Buffer.from((await archive.file('transactions', last, new AbortController().signal))!);
  const withSome = new Set<number>();
  // Each record has its length before it, with the highest bit set, and begins with its ledger.
  for (let at = 0; at < file.length; at += 4 + (file.readUInt32BE(at) & 0x7fff_ffff))
    withSome.add(file.readUInt32BE(at + 4));
  return Array.from({ length: CHECKPOINT - 1 }, (_, nth) => last - 1 - nth).find((each) => !withSome.has(each))!;
}

t.test('an archive’s ledger lacks the transaction → UNAVAILABLE an hour after it, nothing to blame', async (t) => {
  const { payment: shown } = await paidOrder();
  await ready(shown.id);
  const payment = await stored(shown.id);
  const { url, asked, of, be } = await startArchive(t);
  of(service.context.localLedger!.url);
  be('honest');
  const archives = createArchives({ urls: [url], budget: null, clock: systemClock, monotonic: monotonicClock });
  t.teardown(() => archives.close());
  const [archive] = archives.all as [Archive];
  const clock = manualClock(payment.ledgerClosedAt.getTime());
  const make = (changes: object) => signedBy([archive], { ...payment, ...changes }, { clock });
  const changed = [{ transactionHash: 'f'.repeat(64) }, { ledger: await emptyLedgerBeside(archive, payment) }];
  for (const each of changed) t.match(await make(each), { state: 'WAITING', reason: /transaction in its ledger/ });
  const before = asked.length;
  await make(changed[0]!);
  t.equal(asked.length - before, 4, 'its files are read again');
  clock.advance(3_601_000);
  for (const each of changed) t.match(await make(each), { state: 'UNAVAILABLE', nextAt: null });
  t.equal(archive.restsMs(), 0, 'it may be asked for other payments');
  t.match(await make({}), { state: 'READY' });
});

t.test('one archive has nothing and another rests → WAITING until it may be asked', async (t) => {
  const { payment } = await paidOrder();
  await ready(payment.id, 'ledger');
  const archiveOf = (restsMs: number): Archive => ({
    label: 'archive',
    restsMs: () => restsMs,
    file: async () => null,
    forget: () => undefined,
    blame: () => undefined,
  });
  const late = manualClock(Date.now() + 7_200_000);
  const make = async (...all: Archive[]) => signedBy(all, await stored(payment.id), { clock: late });
  t.match(await make(archiveOf(0)), { state: 'UNAVAILABLE', nextAt: null });
  const { state, nextAt } = await make(archiveOf(0), archiveOf(9_000), archiveOf(7_000));
  t.same([state, nextAt?.getTime()], ['WAITING', late.nowMs() + 7_000]);
});

t.test('a payment in the last ledger of its checkpoint → waits for the next one', LONG, async (t) => {
  const { wallet } = await startSelling(service);
  const payers = await Promise.all(Array.from({ length: 8 }, () => client.fund()));
  const last = await eventually(
    async () => {
      const end = Math.floor(((await client.status()).sequence + payers.length) / 64) * 64 + 63;
      // One goes for each of the ledgers before it: on a busy machine a payment takes several.
      const paid = payers.map(async ({ secret }, nth) => {
        await eventually(async () => (await client.status()).sequence >= end - 1 - nth, `ledger ${end - 1 - nth}`);
        return await client.pay({ to: wallet.address, amount: '1', fromSecret: secret });
      });
      return (await Promise.all(paid)).find((each) => each.ledger % 64 === 63);
    },
    'a payment in the last ledger',
    120_000,
  );
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const { id } = await eventually(
    async () => (await service.api('GET', path)).data.find((each: Json) => each.transactionHash === last.hash),
    'it is recorded',
  );
  const { proof } = await ready(id);
  t.match(await verifyProof(proof, trust), { verdict: 'SIGNED', ledger: last.ledger });
  t.ok(proof.anchor.ledger > last.ledger);
});

t.test('a process dies while it makes a proof → another one makes it, once', LONG, async (t) => {
  const own = await startTestService(t, { role: 'api' });
  const worker = await own.join('worker');
  const { payment } = await paidOrder(own);
  await worker.close(0);
  const { leases } = own.context.stores.system;
  // What a killed process leaves: its leases, and a proof that is not made.
  for (const level of ['ledger', 'signed']) await leases.hold(`proofs:LOCAL:${level}`, 'dead', 15_000);
  t.match(await proofOf(payment.id, 'ledger', own), { state: 'WAITING', reason: 'It is being made.', proof: null });
  await Promise.all([own.join('worker'), own.join('worker')]);
  const { proof } = await ready(payment.id, 'ledger', own);
  t.equal((await verifyProof(proof, await trustIn(own))).verdict, 'CONSISTENT');
  const stored = await own.context.stores.forAccount(own.accountId).proofs.byId(`${payment.id}:ledger`);
  t.match(stored, { state: 'READY', tries: 1, nextAt: null });
});

t.test('the guide to proofs → does as it says', LONG, async (t) => {
  const { payment } = await paidOrder();
  const block = blocksOf('docs/guides/proofs.md');
  const command = `node --import=${import.meta.resolve('tsx')} ${ROOT}src/proof/main.ts`;
  const get = literally(block('sh', 'until proof'), service, { 'sk_…': service.apiKey, 'pay_…': payment.id });
  const check = block('sh', 'stellar.toml').replaceAll('npx stellar-payment-proof', command);
  const done = await bash(`${get}\n${check}`, { LEDGER_URL: service.context.localLedger!.url }, folder).ended;
  t.match(done, { code: 0, stdout: /^SIGNED\n/ }, done.stderr);
});

t.test('one archive is away or lies → the next one proves it', LONG, async (t) => {
  const [first, second] = [await startArchive(t), await startArchive(t)];
  const own = await startTestService(t, { env: { ARCHIVE_URLS_LOCAL: `${first.url},${second.url}` } });
  for (const archive of [first, second]) archive.of(own.context.localLedger!.url);
  second.be('honest');
  for (const behaviour of ['away', 'lies'] as const) {
    first.be(behaviour);
    const { payment } = await paidOrder(own);
    t.match(await ready(payment.id, 'signed', own), { state: 'READY' }, behaviour);
  }
});

t.test('a network without an archive → UNAVAILABLE with signatures, and proven by its ledger', async (t) => {
  const ledgerUrl = service.context.localLedger!.url;
  const own = await startTestService(t, { env: { HORIZON_URLS_LOCAL: ledgerUrl } });
  const { address } = await client.fund();
  const wallet = (await own.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  await client.pay({ to: address, amount: '2' });
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const payment = await eventually(async () => (await own.api('GET', path)).data[0], 'the payment');
  t.match(await proofOf(payment.id, 'signed', own), {
    state: 'UNAVAILABLE',
    reason: /ARCHIVE_URLS_LOCAL/,
    proof: null,
  });
  t.match(await ready(payment.id, undefined, own), { level: 'ledger', state: 'READY' });
  const file = await own.api('GET', `/payments/${payment.id}/proof?level=signed&format=file`);
  t.match(file, { status: 409, error: { code: 'conflict', message: /ARCHIVE_URLS_LOCAL/ } });
});

t.test('the same from Stellar RPC alone', async (t) => {
  const ledgerUrl = service.context.localLedger!.url;
  const own = await startTestService(t, { env: { RPC_URLS_LOCAL: `${ledgerUrl}/rpc` } });
  const { address } = await client.fund();
  const wallet = (await own.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  await client.pay({ to: address, amount: '2' });
  await client.payByContract({ to: address, amount: '3', muxedId: '7' });
  const path = `/payments?walletId=${wallet.id}&status=UNMATCHED`;
  const payments: Json[] = await eventually(async () => {
    const { data } = await own.api('GET', path);
    return data.length === 2 && data;
  }, 'the payments');
  for (const { id, amount } of payments) {
    const { proof } = await ready(id, 'ledger', own);
    t.match(await verifyProof(proof, trust), { verdict: 'CONSISTENT', claim: { amount } });
  }
});
