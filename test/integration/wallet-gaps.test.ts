/** Where reading a wallet begins, and how ledgers that no source keeps are reported, on a
 *  real MongoDB. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { cursorId } from '../../src/domain/coverage.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import type { LedgerSession, ServerTip } from '../../src/ledger/network-ledger.js';
import type { LedgerTip } from '../../src/ledger/source.js';
import type { CursorDoc } from '../../src/watching/cursors.js';
import { createFlagGap } from '../../src/watching/gap-store.js';
import { createGaps } from '../../src/watching/lost-ledgers.js';
import { createKnownCloses } from '../../src/watching/network-states.js';
import { createWalletStarts } from '../../src/watching/wallet-starts.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import { testDatabase } from '../helpers/mongo.js';
import { newId, openStores, walletDoc } from '../helpers/stores.js';

const ADDRESS = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const NETWORK = 'TESTNET';
const log = pino({ level: 'silent' });
/** Ledger n closes in second 5n. */
const closeOf = (ledger: number) => new Date(1_700_000_000_000 + ledger * 5000);
const tipOf = (oldestLedger: number, latestLedger: number): LedgerTip => ({
  ...{ oldestLedger, latestLedger, latestClosedAt: closeOf(latestLedger) },
  ...{ passphrase: '', version: null, protocol: null, isBehind: false },
});

await testDatabase(t);

async function rig(t: Test) {
  const { stores, transaction, outbox, db } = await openStores(t);
  const { cursors, networkStates, gaps, wallets } = stores.system;
  const flagGap = createFlagGap({ wallets, gaps, outbox, transaction, newId, eventsStored: () => undefined });
  return {
    ...{ cursors, networkStates, wallets, flagGap, db },
    async wallet(from: WalletDoc['windows'][number]['from']): Promise<WalletDoc> {
      const wallet = walletDoc({ accountId: newId('acct'), address: ADDRESS, windows: [{ from, until: null }] });
      await stores.forAccount(wallet.accountId).wallets.insert(wallet);
      return wallet;
    },
  };
}

t.test('an address is read from the earliest ledger of its wallets, and claims no later time', async (t) => {
  const { cursors, wallets, wallet } = await rig(t);
  // The ledger of the first is known. The second one's is searched for, and closed earlier: its
  // server was behind, or a clock was off.
  await wallet({ at: closeOf(140), ledger: 100 });
  await wallet({ at: closeOf(121), ledger: null });
  const session = {
    ledgerAtOrBefore: async () => ({ sequence: 120, hash: '', closedAt: closeOf(120) }),
  } as unknown as LedgerSession;
  const starts = createWalletStarts({ network: NETWORK, wallets, cursors, knownCloses: createKnownCloses(), clock });
  await starts.startAll(session, { tip: tipOf(2, 150), state: null });
  const cursor = await cursors.byId(cursorId(NETWORK, ADDRESS));
  t.equal(cursor?.ledger, 100);
  t.same(cursor?.closedAt, closeOf(120));
});

t.test('a reset leaves a gap of its own, whatever was missing before it', async (t) => {
  const { flagGap, wallet, db } = await rig(t);
  const { _id: walletId } = await wallet({ at: closeOf(1), ledger: 1 });
  const before = { fromLedger: 1, toLedger: 9, at: closeOf(10) };
  await flagGap(NETWORK, { gap: before, address: null, without: [] });
  const ofReset = { gap: { fromLedger: 1, toLedger: 4, at: closeOf(20) }, address: null, without: [] };
  await flagGap(NETWORK, { ...ofReset, lostSince: closeOf(19) });
  // A process that is killed in between does it again.
  await flagGap(NETWORK, { ...ofReset, lostSince: closeOf(19) });
  const gaps = await db.collection('gaps').find({ walletId }).sort({ at: 1 }).toArray();
  t.match(gaps, [
    { toLedger: 9, isLost: true, lostSince: null },
    { toLedger: 4, isLost: true, lostSince: closeOf(19) },
  ]);
  t.equal(gaps.length, 2);
  t.equal(await db.collection('events').countDocuments({ type: 'wallet.gap', subjectId: walletId }), 2);
});

t.test('a clock that is set forward does not end the wait for a server that is away', async (t) => {
  const { cursors, networkStates, flagGap, wallet, db } = await rig(t);
  await db.collection('networkStates').insertOne({ _id: NETWORK as never, seenAt: clock.now() });
  await wallet({ at: closeOf(1), ledger: 1 });
  const tips: ServerTip[] = [
    { server: 'a', hasHistories: true, tip: null },
    { server: 'b', hasHistories: true, tip: tipOf(80, 100) },
  ];
  const session = { server: 'b', tips: async () => tips } as unknown as LedgerSession;
  let [aheadMs, passedMs] = [0, 0];
  const skewed = { ...clock, now: () => new Date(closeOf(100).getTime() + passedMs + aheadMs) };
  const deps = { network: NETWORK, flagGap, cursors, networkStates, clock, log, done: async () => [] } as const;
  const gaps = createGaps({ ...deps, clock: skewed, monotonic: { nowMs: () => passedMs } });
  const cursor: CursorDoc = {
    ...{ _id: cursorId(NETWORK, ADDRESS), network: NETWORK, address: ADDRESS, cursor: '0' },
    ...{ fromLedger: null, recordLedger: null },
    ...{ ledger: 49, closedAt: closeOf(49), readAt: closeOf(49), shownLedger: 49, shownClosedAt: closeOf(49) },
  };
  const pass = () => gaps.pass(session, tipOf(80, 100), cursor);
  t.equal(await pass(), null);
  passedMs += 50 * 60_000;
  t.equal(await pass(), null);
  aheadMs = 3_600_000;
  t.equal(await pass(), null, 'an hour by the clock alone');
  passedMs += 11 * 60_000;
  t.match((await pass())?.cursor, { shownLedger: 79 }, 'an hour that passed');
});

t.test('reading does not return to a server that has dropped ledgers since it was asked', async (t) => {
  const { cursors, networkStates, flagGap, wallet } = await rig(t);
  await wallet({ at: closeOf(1), ledger: 1 });
  let tips: ServerTip[] = [];
  const sessionOf = (server: string): LedgerSession =>
    ({ server, tips: async () => tips, on: sessionOf, tip: async () => tips[0]!.tip }) as unknown as LedgerSession;
  const deps = { network: NETWORK, flagGap, cursors, networkStates, clock, log, done: async () => [] } as const;
  const gaps = createGaps({ ...deps, monotonic: { nowMs: () => 0 } });
  const cursor: CursorDoc = {
    ...{ _id: cursorId(NETWORK, ADDRESS), network: NETWORK, address: ADDRESS, cursor: '0' },
    ...{ fromLedger: null, recordLedger: null },
    ...{ ledger: 49, closedAt: closeOf(49), readAt: closeOf(49), shownLedger: 49, shownClosedAt: closeOf(49) },
  };
  const other = { server: 'b', hasHistories: true, tip: tipOf(80, 100) };
  tips = [{ server: 'a', hasHistories: true, tip: tipOf(40, 100) }, other];
  const first = await gaps.pass(sessionOf('b'), tipOf(80, 100), cursor);
  t.equal(first?.session.server, 'a', 'the one that has them');
  // It drops them, and says so when it is asked next.
  const dropped = tipOf(60, 120);
  tips = [{ server: 'a', hasHistories: true, tip: dropped }, other];
  const then = await gaps.pass(sessionOf('a'), dropped, cursor);
  t.match(then?.cursor, { shownLedger: 59 }, 'ledgers that no source has are passed over');
});
