/** Stellar RPC beside Horizon on a real ledger: whichever is asked, the payments are the same. */
import { Keypair } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import t from 'tap';
import { createFlagGap } from '../../src/collect/flag-gap.js';
import { createWatcher } from '../../src/collect/watcher.js';
import { BlindServer, LedgerUnavailable, WrongNetwork } from '../../src/ledger/errors.js';
import type { LedgerSession, NetworkLedger } from '../../src/ledger/network-ledger.js';
import type { Credit, LedgerRecord } from '../../src/ledger/records.js';
import { createLedger } from '../../src/ledger/sources.js';
import { cursorAfter } from '../../src/ledger/toid.js';
import type { FaultInput } from '../../src/local-ledger/faults.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { startTestLedger } from '../helpers/ledger.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';
import { newId, openStores, walletDoc } from '../helpers/stores.js';

const log = pino({ level: process.env.TEST_LOG ?? 'silent' }, process.stderr);
const network = 'LOCAL';
const { uri } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { uri, closeMs: 40 });
const clock = manualClock();

type Kind = 'horizon' | 'rpc' | 'both';

function openLedger(kind: Kind, { perHour = null, timeoutMs }: { perHour?: number[] | null; timeoutMs?: number } = {}) {
  const opened = createLedger({
    network,
    horizonUrls: kind === 'rpc' ? [] : [url],
    rpcUrls: kind === 'horizon' ? [] : [`${url}/rpc`],
    passphrase: ledger.passphrase,
    budget: perHour && { take: async () => perHour.push(1) && 0 },
    clock,
    log,
    timeoutMs,
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
      const session = from.session();
      const options = { shownLedger, ...(feed ? { among: async () => null } : {}) };
      const page = feed
        ? await session.payments(cursor, limit, options)
        : await session.accountPayments(receiver, cursor, limit, options);
      t.notOk(page.gone);
      credits.push(...(await creditsOf(session, page.records, receiver)));
      cursor = page.cursor ?? cursor;
      if (!page.full) return { credits, reasons };
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error;
      reasons.add(error.reason);
      clock.advance(error.retryAfterMs + 1);
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

t.test('ledgers, times, accounts and trustlines', async (t) => {
  const [horizon, rpc] = [openLedger('horizon').session(), openLedger('rpc').session()];
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

t.test('what is no longer kept is gone, and what is not there yet is not', async (t) => {
  const { id } = await client.faults.add({ kind: 'retention', elderLedger: end - 2, api: 'rpc' });
  const session = openLedger('rpc').session();
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
  await rpc.session().tip();
  const { id } = await client.faults.add({ kind: 'blind' });
  clock.advance(300_000);
  await t.rejects(rpc.session().tip(), BlindServer);
  await client.faults.remove(id);
});

t.test('a transaction whose event was seen and that is not there yet is waited for', async (t) => {
  const rpc = openLedger('rpc');
  const session = rpc.session();
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
    rpc.session().complete(other, () => true),
    /stands elsewhere/,
  );
  clock.advance(60_000);
  t.equal(await rpc.session().complete(unknown, () => false), unknown, 'nothing is fetched that concerns nobody');
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
for (const fault of faults) {
  t.test(`recovered without loss: ${JSON.stringify(fault)}`, async (t) => {
    const { credits } = await readAll(openLedger('horizon'), to, start, 200);
    const { id } = await client.faults.add({ ...fault, probability: 0.1, api: 'rpc' } as FaultInput);
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
async function openWatcher(kind: Kind, addresses: readonly string[]) {
  const { db, stores, transaction, outbox, recorder } = await openStores(t);
  const windows = [{ from: { at: new Date(0), ledger: start }, until: null }];
  for (const [index, address] of addresses.entries()) {
    const fields = { _id: `wal_${index}`, accountId: 'acct_1', address, windows, network } as const;
    await stores.forAccount('acct_1').wallets.insert(walletDoc(fields));
  }
  const requests: number[] = [];
  const source = openLedger(kind, { perHour: requests });
  const watcher = createWatcher({
    ...stores.system,
    network,
    recorder,
    flagGap: createFlagGap({ ...stores.system, newId, outbox, transaction, eventsStored: () => undefined }),
    clock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    paymentsStored: () => undefined,
    pageLimit: 5,
  });
  const round = async () => {
    const session = source.session();
    const tip = await session.tip();
    await watcher.round(session, tip, new AbortController().signal);
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
  const parked = () => db.collection('parked_records').find().toArray();
  return { round, payments, parked, requests };
}

for (const [name, strangers] of [
  ['two wallets, each by its name', 0],
  ['five wallets in one request', 3],
  ['eleven wallets in two requests', 9],
  ['fourteen wallets by all transfers', 12],
] as const) {
  t.test(`three equal lists of payments: ${name}`, async (t) => {
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
        // Once for certain, so that RPC answers whatever chance says; in the end Horizon does again.
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
