/** Stellar RPC beside Horizon on a real ledger: whichever is asked, the payments are the same. */
import { createHash } from 'node:crypto';
import { Account, Asset, Keypair, Operation, TransactionBuilder, type xdr } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import t from 'tap';
import { assetName, NATIVE } from '../../src/domain/asset.js';
import { sdk } from '../../src/domain/stellar-sdk.js';
import { createLedger, type LedgerSession, type NetworkLedger } from '../../src/ledger/network-ledger.js';
import { type Credit, cursorAfter, type LedgerRecord } from '../../src/ledger/records.js';
import type { Fetch } from '../../src/ledger/request.js';
import { submitTransaction } from '../../src/ledger/rpc/submission.js';
import {
  BlindServer,
  type Holdings,
  LedgerUnavailable,
  MOST_ASSETS,
  SourceError,
  WrongNetwork,
} from '../../src/ledger/source.js';
import type { FaultInput } from '../../src/local-ledger/index.js';
import { createFlagGap } from '../../src/watching/gap-store.js';
import { retryParked } from '../../src/watching/parked.js';
import { createWatcher } from '../../src/watching/watcher.js';
import { budgetOf } from '../helpers/budget.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { startTestLedger } from '../helpers/ledger.js';
import { LONG } from '../helpers/long.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';
import { newId, openStores, parkedDoc, walletDoc } from '../helpers/stores.js';

const minimal = sdk().xdr;
const log = pino({ level: process.env.TEST_LOG ?? 'silent' }, process.stderr);
const network = 'LOCAL';
const { uri } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { uri, closeMs: 40 });
const clock = manualClock();

type Kind = 'horizon' | 'rpc' | 'both';

interface Opened {
  perHour?: number[] | null;
  timeoutMs?: number | undefined;
  /** Single transactions that are larger are too large. */
  maxTransactionBytes?: number | undefined;
  fetch?: Fetch;
}

/** Stellar RPC whose answers to getEvents are changed. @param change of the entries; `ask` counts
 *  the answers, from 1 */
const changingEvents = (change: (events: Record<string, any>[], ask: number) => unknown[]): Fetch => {
  let asks = 0;
  return async (url, init) => {
    const answer = await fetch(url, init as RequestInit);
    if (!String(init.body).includes('"getEvents"')) return answer as unknown as Awaited<ReturnType<Fetch>>;
    const body = (await answer.json()) as Record<string, any>;
    asks += 1;
    if (body.result) body.result.events = change(body.result.events, asks);
    return new Response(JSON.stringify(body), answer) as unknown as Awaited<ReturnType<Fetch>>;
  };
};

/** Answers as ever, but for such a transaction. */
const refusingLarge =
  (maxBytes: number): Fetch =>
  async (url, init) => {
    const answer = await fetch(url, init as RequestInit);
    const text = await answer.text();
    if (String(init.body).includes('"getTransaction"') && text.length > maxBytes)
      throw new SourceError('an answer of too many bytes', { kind: 'too_large' });
    return new Response(text, answer) as unknown as Awaited<ReturnType<Fetch>>;
  };

function openLedger(kind: Kind, { perHour = null, timeoutMs, maxTransactionBytes, fetch }: Opened = {}) {
  const opened = createLedger({
    network,
    horizonUrls: kind === 'rpc' ? [] : [url],
    rpcUrls: kind === 'horizon' ? [] : [`${url}/rpc`],
    passphrase: ledger.passphrase,
    budget: perHour && budgetOf({ take: async () => perHour.push(1) && 0 }),
    clock,
    log,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(fetch ? { fetch } : {}),
    ...(maxTransactionBytes === undefined ? {} : { fetch: refusingLarge(maxTransactionBytes) }),
  });
  t.teardown(() => opened.close());
  return opened;
}

/** The credits of records, after whatever they lack was fetched. */
async function creditsOf(session: LedgerSession, records: LedgerRecord[], receiver: string): Promise<Credit[]> {
  const whole = [];
  for (const record of records) whole.push(await session.complete(record, (receivers) => receivers.includes(receiver)));
  t.strictSame(
    whole.filter(({ outcome }) => outcome.kind === 'parked').map(({ outcome }) => outcome),
    [],
  );
  return whole.flatMap(({ outcome }) =>
    outcome.kind === 'credits' ? outcome.credits.filter((credit) => credit.receiver === receiver) : [],
  );
}

/** Reads to the end, whatever happens on the way. */
async function readAll(from: NetworkLedger, receiver: string, start: number, limit: number, feed = false) {
  const credits: Credit[] = [];
  const reasons = new Set<string>();
  let [cursor, shownLedger] = [cursorAfter(start), start];
  for (;;) {
    try {
      const session = from.session({ purpose: 'watching' });
      const options = { shownLedger, ...(feed ? { among: async () => null } : {}) };
      const page = feed
        ? await session.payments(cursor, limit, options)
        : await session.accountPayments(receiver, cursor, limit, options);
      t.notOk(page.gone);
      credits.push(...(await creditsOf(session, page.records, receiver)));
      cursor = page.cursor ?? cursor;
      if (!page.full) return { credits, reasons };
    } catch (error) {
      if (!(error instanceof LedgerUnavailable || error instanceof BlindServer)) throw error;
      reasons.add(error.message);
      clock.advance(error instanceof LedgerUnavailable ? error.retryAfterMs + 1 : 60_000);
    }
  }
}

const accounts = await openAccounts(client);
const to = accounts.shop.publicKey();
const start = (await client.status()).sequence;
const expected = await payEveryKind(client, accounts);
const end = (await client.status()).sequence;
await client.fund();

t.test('the same credits to the byte, whichever is asked', async (t) => {
  const [horizon, rpc] = [openLedger('horizon'), openLedger('rpc')];
  for (const [receiver, count] of [
    [to, expected.shop],
    [accounts.issuer, expected.issuer],
  ] as const) {
    const { credits } = await readAll(horizon, receiver, start, 200);
    t.equal(credits.length, count);
    for (const limit of [200, 3]) {
      t.strictSame((await readAll(rpc, receiver, start, limit)).credits, credits, `pages of ${limit}`);
      t.strictSame((await readAll(rpc, receiver, start, limit, true)).credits, credits, `all transfers by ${limit}`);
    }
  }
});

t.test('Stellar RPC and Horizon tell alike of ledgers, times, accounts and trustlines', async (t) => {
  const [horizon, rpc] = [
    openLedger('horizon').session({ purpose: 'watching' }),
    openLedger('rpc').session({ purpose: 'watching' }),
  ];
  t.strictSame(await rpc.ledger(end), await horizon.ledger(end));
  t.equal(await rpc.ledger(end + 1_000_000), null);
  const { latestLedger, latestClosedAt, oldestLedger, passphrase } = await rpc.tip();
  t.ok(latestLedger >= end && oldestLedger === 1 && passphrase === ledger.passphrase);
  t.ok(Math.abs(latestClosedAt.getTime() - Date.now()) < 60_000);
  const { closedAt } = (await horizon.ledger(end)) as { closedAt: Date };
  for (const time of [closedAt, new Date(closedAt.getTime() - 1), new Date(0)]) {
    const [found, wanted] = [await rpc.ledgerAtOrBefore(time), await horizon.ledgerAtOrBefore(time)];
    t.strictSame([found?.sequence, found?.closedAt], [wanted?.sequence, wanted?.closedAt]);
  }
  const eur = { code: 'EUR', issuer: accounts.issuer };
  for (const [address, asset] of [
    [to, eur],
    [to, null],
    [to, { ...eur, code: 'EURO' }],
    [Keypair.random().publicKey(), eur],
  ] as const)
    t.strictSame(await rpc.account(address, asset), await horizon.account(address, asset));
});

t.test('what an account holds is told alike, of the assets that are named', async (t) => {
  const [horizon, rpc] = [
    openLedger('horizon').session({ purpose: 'watching' }),
    openLedger('rpc').session({ purpose: 'watching' }),
  ];
  for (const address of [to, accounts.payer.publicKey(), accounts.issuer]) {
    const listed = await horizon.holdings(address, []);
    const assets = listed.balances.map(({ asset }) => asset).filter(({ issuer }) => issuer !== null);
    const held = await rpc.holdings(address, assets);
    const byName = ({ balances }: Holdings) =>
      new Map(balances.map(({ asset, stroops }) => [assetName(asset), stroops] as const));
    t.strictSame(byName(held), byName(listed));
    t.equal(held.changedLedger, listed.changedLedger);
    t.ok(held.latestLedger! >= end && listed.latestLedger! >= end);
    t.ok(held.changedLedger <= held.latestLedger!);
  }
  const [lumens, ...others] = (await rpc.holdings(to, [])).balances;
  t.match([lumens!.asset, others], [NATIVE, []], 'nothing is told of assets that are not named');
  const many = Array.from({ length: MOST_ASSETS }, (_, n) => ({ code: `N${n}`, issuer: accounts.issuer }));
  t.equal((await rpc.holdings(to, many)).balances.length, 1, 'as many as one request can name, which it does not hold');
  await t.rejects(rpc.holdings(to, [...many, { code: 'EUR', issuer: accounts.issuer }]), RangeError);
  const nobody = await rpc.holdings(Keypair.random().publicKey(), many.slice(0, 2));
  t.match(nobody, { balances: [], changedLedger: 0, latestLedger: Number });
});

t.test('a transaction named by its hash, and whether anything came, are told alike', async (t) => {
  const [horizon, rpc] = [
    openLedger('horizon').session({ purpose: 'watching' }),
    openLedger('rpc').session({ purpose: 'watching' }),
  ];
  const { credits } = await readAll(openLedger('horizon'), to, start, 200);
  const hashes = [...new Set(credits.map(({ transactionHash }) => transactionHash))];
  t.ok(hashes.length > 15);
  for (const hash of hashes) {
    const found = (await rpc.transactionRecords(hash))!;
    t.strictSame(
      await creditsOf(rpc, found, to),
      credits.filter(({ transactionHash }) => transactionHash === hash),
    );
  }
  for (const by of [horizon, rpc]) {
    t.equal(await by.transactionRecords('0'.repeat(64)), null);
    t.match(await by.quietCheck(to, cursorAfter(start), { shownLedger: start }), { isQuiet: false });
    const { isQuiet, shownLedger } = await by.quietCheck(to, cursorAfter(end), { shownLedger: start });
    t.ok(isQuiet && shownLedger! >= end - 5, `quiet: ${isQuiet}, shown up to ${shownLedger} of ${end}`);
  }
});

t.test("a fee bump's payment has the outer hash, by whichever of the two it is looked up", async (t) => {
  const [horizon, rpc] = [
    openLedger('horizon').session({ purpose: 'watching' }),
    openLedger('rpc').session({ purpose: 'watching' }),
  ];
  const { credits } = await readAll(openLedger('horizon'), to, start, 200);
  const bumped = credits.filter(({ memo }) => memo.text === 'bumped');
  const transactionHash = bumped[0]!.transactionHash;
  const outer = await client.server.transactions().transaction(transactionHash).call();
  const hashes = [outer.fee_bump_transaction!.hash, outer.inner_transaction!.hash];
  t.equal(hashes[0], transactionHash);
  t.not(hashes[1], transactionHash);
  for (const by of [horizon, rpc])
    for (const hash of hashes)
      t.strictSame(await creditsOf(by, (await by.transactionRecords(hash))!, to), bumped, `by ${hash}`);
});

t.test('a payment has the ledger’s hash, also where its signature looks like the end of an envelope', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const from = Keypair.fromSecret(payer.secret);
  const preimage = Buffer.concat([Buffer.from('opens'.padEnd(28)), Buffer.alloc(4)]);
  const sha256Hash = createHash('sha256').update(preimage).digest();
  await client.submit({ from, operations: [Operation.setOptions({ signer: { sha256Hash, weight: 1 } })] });
  const account = await client.server.loadAccount(payer.address);
  const paying = new TransactionBuilder(account, { fee: '100', networkPassphrase: client.passphrase })
    .addOperation(payment(payee.address, '1'))
    .setTimeout(0)
    .build();
  paying.signHashX(preimage);
  const { hash } = await client.server.submitTransaction(paying);
  const rpc = openLedger('rpc').session({ purpose: 'watching' });
  const named = await creditsOf(rpc, (await rpc.transactionRecords(hash))!, payee.address);
  for (const kind of ['horizon', 'rpc'] as const) {
    const { credits } = await readAll(openLedger(kind), payee.address, end, 200);
    t.equal(credits.at(-1)?.transactionHash, hash, kind);
    t.strictSame(named, credits.slice(-1), 'and by its hash');
  }
});

t.test('the envelope of a hundred payments is decoded once', async (t) => {
  const [payer, payee] = [await client.fund(), await client.fund()];
  const operations = Array.from({ length: 100 }, () => payment(payee.address, '1'));
  const { hash } = await client.submit({ from: Keypair.fromSecret(payer.secret), operations });
  const session = openLedger('rpc').session({ purpose: 'watching' });
  await session.tip();
  const decode = minimal.TransactionEnvelope.fromXdr;
  let decoded = 0;
  const counting = (...args: unknown[]) => {
    decoded += 1;
    return (decode as (...args: unknown[]) => unknown).apply(minimal.TransactionEnvelope, args);
  };
  Object.assign(minimal.TransactionEnvelope, { fromXdr: counting });
  t.teardown(() => Object.assign(minimal.TransactionEnvelope, { fromXdr: decode }));
  const records = (await session.transactionRecords(hash))!;
  t.equal((await creditsOf(session, records, payee.address)).length, 100);
  t.equal(decoded, 1);
});

function payment(destination: string, amount: string, asset = Asset.native()): xdr.Operation {
  return Operation.payment({ destination, amount, asset });
}

interface Making {
  from?: Keypair;
  signer?: Keypair;
  /** Sequence numbers too many. */
  ahead?: bigint;
  maxTime?: number;
  /** The account is on the ledger. */
  known?: boolean;
}

t.test("what becomes of a transaction is told alike, by Horizon's codes", async (t) => {
  const eur = new Asset('EUR', accounts.issuer);
  const payer = Keypair.fromSecret((await client.fund()).secret);
  const payee = (await client.fund()).address;
  const nobody = Keypair.random();
  const sessions = {
    horizon: openLedger('horizon').session({ purpose: 'watching' }),
    rpc: openLedger('rpc').session({ purpose: 'watching' }),
  };
  const { horizon, rpc } = sessions;
  const ticking = setInterval(() => clock.advance(100), 10);
  t.teardown(() => clearInterval(ticking));

  t.equal(await rpc.sequenceOf(payer.publicKey()), await horizon.sequenceOf(payer.publicKey()));
  t.equal(await rpc.sequenceOf(nobody.publicKey()), null);
  async function made(
    operation: xdr.Operation,
    { from = payer, signer, ahead = 0n, maxTime = 0, known = true }: Making = {},
  ): Promise<string> {
    const sequence = known ? BigInt((await rpc.sequenceOf(from.publicKey()))!) : 7n;
    const account = new Account(from.publicKey(), `${sequence + ahead}`);
    const timebounds = { minTime: 0, maxTime };
    const transaction = new TransactionBuilder(account, {
      fee: '100',
      networkPassphrase: client.passphrase,
      timebounds,
    })
      .addOperation(operation)
      .build();
    transaction.sign(signer ?? from);
    return transaction.toXdr();
  }
  const refused = (transactionCode: string, operationCode: string | null = null) => ({
    state: 'refused',
    transactionCode,
    operationCode,
  });
  const cases: [() => Promise<string>, object][] = [
    [() => made(payment(payee, '1')), { state: 'applied' }],
    [() => made(payment(payee, '1000000')), refused('tx_failed', 'op_underfunded')],
    [() => made(payment(to, '1', eur)), refused('tx_failed', 'op_src_no_trust')],
    [() => made(payment(payee, '1', eur), { from: accounts.payer }), refused('tx_failed', 'op_no_trust')],
    [() => made(payment(nobody.publicKey(), '1')), refused('tx_failed', 'op_no_destination')],
    [() => made(payment(payee, '1'), { ahead: 5n }), refused('tx_bad_seq')],
    [() => made(payment(payee, '1'), { signer: nobody }), refused('tx_bad_auth')],
    [() => made(payment(payee, '1'), { maxTime: 1 }), refused('tx_too_late')],
    [() => made(payment(payee, '1'), { from: nobody, known: false }), refused('tx_no_source_account')],
    [async () => 'AAAA', refused('tx_malformed')],
  ];
  for (const [make, expected] of cases) {
    for (const [kind, session] of Object.entries(sessions)) {
      const envelope = await make();
      t.strictSame(await session.submit(envelope), expected, `${JSON.stringify(expected)} by ${kind}`);
      t.strictSame(await rpc.submit(envelope), expected, 'handed over again by RPC');
      t.strictSame(await horizon.submit(envelope), expected, 'handed over again by Horizon');
    }
  }

  ledger.stopTimer();
  await ledger.closeLedger();
  const waiting = await made(payment(payee, '1'));
  t.strictSame(await rpc.submit(waiting), { state: 'pending' }, 'no ledger took it in time');
  ledger.startTimer();
  t.strictSame(await rpc.submit(waiting), { state: 'applied' });

  const hash = '0'.repeat(64);
  const answering = (status: string) => (async () => ({ status, hash })) as never;
  await t.rejects(submitTransaction(answering('TRY_AGAIN_LATER'), 'x', clock), /no more transactions for now/);
  const outer = minimal.TransactionResultResult.txBadSeq();
  const ext = minimal.TransactionResultExt.v0();
  const feeCharged = minimal.Int64.fromString('100');
  const errorResultXdr = new minimal.TransactionResult({ feeCharged, result: outer, ext }).toXdr('base64');
  for (const status of ['PENDING', 'ERROR'])
    for (const error of [new SourceError('connection failed'), new LedgerUnavailable('no budget', 1)]) {
      const sentThenAway = async (method: string) => {
        if (method === 'sendTransaction') return { status, hash, errorResultXdr };
        throw error;
      };
      const told = await submitTransaction(sentThenAway as never, 'x', clock);
      t.strictSame(told, { state: 'pending' }, `${status}, then ${error.name}: the payer is not asked to pay again`);
    }
});

t.test('a payment whose transaction could not be read is parked, and stored when it is tried again', async (t) => {
  const [payer, shop] = [await client.fund(), await client.fund()];
  const filling = Array.from({ length: 99 }, (_, n) => Operation.manageData({ name: `n${n}`, value: 'x'.repeat(64) }));
  const from = Keypair.fromSecret(payer.secret);
  const { hash } = await client.submit({ from, operations: [payment(shop.address, '5'), ...filling], memo: 'long' });
  const small = 16_000;
  for (const kind of ['rpc', 'horizon'] as const) {
    const watcher = await openWatcher('rpc', [shop.address], small);
    await watcher.round();
    clock.advance(5000);
    await watcher.round();
    const found = async () => (await watcher.payments()).filter(({ transactionHash }) => transactionHash === hash);
    t.strictSame(await found(), []);
    t.match(await watcher.parked(), [{ reason: 'its transaction cannot be fetched' }]);
    const tooSmall = openLedger('rpc', { maxTransactionBytes: small });
    t.match(await watcher.retry(tooSmall), [{ payments: 0, reason: 'its transaction cannot be fetched' }]);
    t.strictSame(await watcher.retry(openLedger(kind)), [{ payments: 1, reason: null }], `by ${kind}`);
    t.match(await found(), [{ amount: '5', memo: 'long' }]);
    t.strictSame(await watcher.parked(), []);
  }

  const watcher = await openWatcher('rpc', [shop.address]);
  const [{ raw, outcome }] = (await openLedger('rpc').session({ purpose: 'watching' }).transactionRecords(hash)) as [
    LedgerRecord,
  ];
  const _id = `${network}:${outcome.pagingToken}`;
  for (const count of [1, 0]) {
    await watcher.parkedRecords.park([parkedDoc({ _id, network, raw: JSON.stringify(raw) })]);
    t.strictSame(await watcher.retry(openLedger('rpc')), [{ payments: count, reason: null }], 'once');
  }
});

t.test('what is no longer kept is gone, and what is not there yet is not', async (t) => {
  const { id } = await client.faults.add({ kind: 'retention', elderLedger: end - 2, api: 'rpc' });
  const session = openLedger('rpc').session({ purpose: 'watching' });
  t.match(await session.accountPayments(to, cursorAfter(start), 200, { shownLedger: start }), { gone: true });
  t.equal(await session.ledger(start), 'gone');
  t.match(await session.accountPayments(to, cursorAfter(start), 200, { shownLedger: end - 3 }), { gone: false });
  await client.faults.remove(id);
  const ahead = end + 1_000_000;
  const page = await session.accountPayments(to, cursorAfter(ahead), 200, { shownLedger: ahead });
  t.match(page, { gone: false, full: false, records: [] });
  t.ok(page.shownLedger! < ahead);
});

t.test('a server that shows no events of classic payments is refused, and one of another network', async (t) => {
  const { id } = await client.faults.add({ kind: 'blind' });
  await t.rejects(openLedger('rpc').checkNetwork(), BlindServer);
  await t.rejects(openLedger('both').checkNetwork(), /EMIT_CLASSIC_EVENTS/, 'beside a Horizon too');
  await client.faults.remove(id);
  const other = await client.faults.add({ kind: 'wrong_passphrase', api: 'rpc' });
  await t.rejects(openLedger('rpc').checkNetwork(), WrongNetwork);
  await client.faults.remove(other.id);
  await openLedger('both').checkNetwork();
});

t.test('a server that went blind is noticed while it is read', async (t) => {
  const rpc = openLedger('rpc');
  await rpc.session({ purpose: 'watching' }).tip();
  const { id } = await client.faults.add({ kind: 'blind' });
  clock.advance(300_000);
  // Looking again must leave most of a small budget to the reading.
  for (let calls = 0; calls < 49; calls++) await rpc.session({ purpose: 'watching' }).tip();
  await t.rejects(rpc.session({ purpose: 'watching' }).tip(), BlindServer);
  await client.faults.remove(id);
});

t.test(
  'no ledger is passed unseen: neither while a server is blind for some time, nor where it stays so',
  async (t) => {
    const payee = (await client.fund()).address;
    const payer = await client.fund();
    const before = (await client.status()).sequence;
    await client.pay({ to: payee, amount: '1', fromSecret: payer.secret });
    const paidIn = (await client.status()).sequence;
    await client.fund();
    const isClassic = ({ ledger }: Record<string, any>) => ledger > before && ledger <= paidIn;
    for (const [name, isBlind] of [
      ['the first answers', (ask: number) => ask > 2 && ask <= 12],
      ['every other answer', (ask: number) => ask % 2 === 1],
    ] as const) {
      const fetch = changingEvents((events, ask) => (isBlind(ask) ? [] : events));
      const { credits } = await readAll(openLedger('rpc', { fetch }), payee, before, 200);
      t.match(credits, [{ amount: 10_000_000n }], name);
    }
    // A machine that was blind when these ledgers closed, and sees those before and after.
    const reader = openLedger('rpc', {
      fetch: changingEvents((events) => events.filter((event) => !isClassic(event))),
    });
    let cursor = cursorAfter(before - 1);
    for (let n = 0; n < 10; n++) {
      const page = await reader
        .session({ purpose: 'watching' })
        .accountPayments(payee, cursor, 200, { shownLedger: before - 1 })
        .catch((error: Error) => error);
      clock.advance(60_000);
      if (page instanceof Error) {
        t.match(page.message, /no events of classic payments.*EMIT_CLASSIC_EVENTS/);
        continue;
      }
      t.ok(page.full, 'there is more to come');
      cursor = page.cursor!;
      t.ok(BigInt(cursor) >> 32n < BigInt(paidIn));
    }
  },
);

t.test('an event that is answered twice is one, and one that cannot be read holds up no other', async (t) => {
  const { credits } = await readAll(openLedger('horizon'), to, start, 200);
  const twice = changingEvents((events) => [...events.flatMap((event) => [event, event]), ...events.slice(0, 1)]);
  t.strictSame((await readAll(openLedger('rpc', { fetch: twice }), to, start, 200)).credits, credits);
  const odd = { id: 'x', topic: 'y' };
  const session = openLedger('rpc', { fetch: changingEvents((events) => [...events, odd]) }).session({
    purpose: 'watching',
  });
  const { records } = await session.accountPayments(to, cursorAfter(start), 200, { shownLedger: start });
  const isOdd = ({ outcome }: LedgerRecord) => outcome.kind === 'parked';
  t.match(records.filter(isOdd), [{ raw: odd, outcome: { receivers: null } }], 'set aside');
  t.strictSame(
    await creditsOf(
      session,
      records.filter((each) => !isOdd(each)),
      to,
    ),
    credits,
  );
});

t.test("what an issuer's own wallet pays is found by its name", async (t) => {
  const [issuer, payer] = [await client.fund(), await client.fund()];
  await client.trust({ secret: payer.secret, assetCode: 'GIFT', assetIssuer: issuer.address });
  const before = (await client.status()).sequence;
  const operations = [payment(payer.address, '3', new Asset('GIFT', issuer.address))];
  await client.submit({ from: Keypair.fromSecret(issuer.secret), operations, memo: 'refund' });
  for (const kind of ['horizon', 'rpc'] as const) {
    const session = openLedger(kind).session({ purpose: 'watching' });
    const options = { shownLedger: before };
    const { records } = await session.accountPayments(issuer.address, cursorAfter(before), 200, options);
    t.match(await creditsOf(session, records, payer.address), [{ sender: issuer.address }], kind);
  }
});

t.test('a transaction whose event was seen and that is not there yet is waited for', async (t) => {
  const rpc = openLedger('rpc');
  const session = rpc.session({ purpose: 'watching' });
  const { records } = await session.accountPayments(to, cursorAfter(start), 1, { shownLedger: start });
  const { outcome } = records[0]!;
  if (outcome.kind !== 'incomplete') return t.fail('it has to be fetched');
  const unknown = { ...records[0]!, outcome: { ...outcome, transactionHash: '0'.repeat(64) } };
  await t.rejects(
    session.complete(unknown, () => true),
    /does not have a transaction/,
  );
  const other = { ...records[0]!, outcome: { ...outcome, ledger: outcome.ledger + 1 } };
  clock.advance(60_000);
  await t.rejects(
    rpc.session({ purpose: 'watching' }).complete(other, () => true),
    /stands elsewhere/,
  );
  clock.advance(60_000);
  t.equal(
    await rpc.session({ purpose: 'watching' }).complete(unknown, () => false),
    unknown,
    'nothing is fetched that concerns no wallet',
  );
});

const faults: FaultInput[] = [
  { kind: 'rate_limited', retryAfterSeconds: 30 },
  { kind: 'unavailable', retryAfterSeconds: 3600 },
  { kind: 'timeout', emptyBody: true },
  { kind: 'html' },
  { kind: 'cut_json' },
  { kind: 'hang' },
  { kind: 'reset_connection' },
];
/** The others are alike, or wait for long. */
const QUICK = new Set(['timeout', 'html']);
for (const fault of faults) {
  t.test(`recovered without loss: ${JSON.stringify(fault)}`, QUICK.has(fault.kind) ? {} : LONG, async (t) => {
    const { credits } = await readAll(openLedger('horizon'), to, start, 200);
    const { id } = await client.faults.add({ ...fault, probability: 0.25, api: 'rpc' } as FaultInput);
    const reader = openLedger('rpc', { timeoutMs: 1000 });
    const reading = readAll(reader, to, start, 4);
    const ticking = setInterval(() => clock.advance(fault.kind === 'hang' ? 500 : 0), 20);
    const found = await reading.finally(() => clearInterval(ticking));
    await client.faults.remove(id);
    t.strictSame(
      [...new Map(found.credits.map((each) => [`${each.operationId}:${each.changeIndex}`, each])).values()],
      credits,
    );
    t.ok(found.reasons.size > 0, [...found.reasons].join(', '));
    t.notMatch([...found.reasons].join(), /rpc/, 'no URL is shown');
  });
}

/** A watcher with a database of its own. */
async function openWatcher(kind: Kind, addresses: readonly string[], maxTransactionBytes?: number) {
  const { db, stores, transaction, outbox, recorder } = await openStores(t);
  const windows = [{ from: { at: new Date(0), ledger: start }, until: null }];
  for (const [index, address] of addresses.entries()) {
    const fields = { _id: `wal_${index}`, accountId: 'acct_1', address, windows, network } as const;
    await stores.forAccount('acct_1').wallets.insert(walletDoc(fields));
  }
  const requests: number[] = [];
  const source = openLedger(kind, { perHour: requests, maxTransactionBytes });
  const watcher = createWatcher({
    ...stores.system,
    network,
    recorder,
    flagGap: createFlagGap({ ...stores.system, newId, outbox, transaction, eventsStored: () => undefined }),
    clock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    eventsStored: () => undefined,
    pageLimit: 5,
  });
  const round = async () => {
    const session = source.session({ purpose: 'watching' });
    const tip = await session.tip();
    await watcher.round(session, tip);
    return { server: session.server, tip };
  };
  const payments = async () => {
    const found = await db
      .collection('payments')
      .find()
      .sort({ operationId: 1, changeIndex: 1, walletId: 1 })
      .toArray();
    return found.map(({ _id, createdAt, ...rest }) => rest);
  };
  const { parkedRecords, wallets } = stores.system;
  const parked = async () => (await parkedRecords.list({ page: 1, pageSize: 10 })).items;
  /** By these servers. */
  const retry = async (by: NetworkLedger) => {
    const deps = { wallets, parkedRecords, recorder, clock };
    const results = [];
    for (const record of await parked())
      results.push(await retryParked(deps, record, [by.session({ purpose: 'parked' })]));
    return results;
  };
  return { round, payments, parked, retry, parkedRecords, requests };
}

for (const [name, strangers] of [
  ['two wallets, each by its name', 0],
  ['eleven wallets in two requests', 9],
  ['fourteen wallets by all transfers', 12],
] as const) {
  t.test(`three equal lists of payments: ${name}`, strangers === 0 ? {} : LONG, async (t) => {
    const others = Array.from({ length: strangers }, () => Keypair.random().publicKey());
    const addresses = [to, accounts.issuer, ...others];
    const [byHorizon, byRpc, byBoth] = [
      await openWatcher('horizon', addresses),
      await openWatcher('rpc', addresses),
      await openWatcher('both', addresses),
    ];
    for (let n = 0; n < 2; n++) {
      for (const watcher of [byHorizon, byRpc]) await watcher.round();
      clock.advance(5000);
    }
    const servers = new Set<string | null>();
    for (let n = 0; n < 10; n++) {
      const { id } = await client.faults.add({
        kind: 'unavailable',
        // Once for certain, so that RPC answers whatever chance says; in the end Horizon
        // does again.
        probability: n === 0 ? 1 : 0.5,
        count: 4,
        api: n % 2 ? 'rpc' : 'horizon',
      });
      await byBoth.round().then(
        ({ server }) => servers.add(server),
        (error) => t.ok(error instanceof LedgerUnavailable, error.message),
      );
      await client.faults.remove(id).catch(() => undefined);
      clock.advance(5000);
    }
    for (let n = 0; n < 3; n++) {
      clock.advance(61_000);
      servers.add((await byBoth.round()).server);
    }
    const payments = await byHorizon.payments();
    t.equal(payments.length, expected.shop + expected.issuer);
    t.strictSame(await byRpc.payments(), payments);
    t.strictSame(await byBoth.payments(), payments);
    t.equal(servers.size, 2, 'both answered');
    t.strictSame(await byRpc.parked(), []);
  });
}
