/** Ledgers that share a second, and close in less than one: numbers decide, and a time never parts
 *  two ledgers of one second. */
import pino from 'pino';
import t from 'tap';
import { firstLedgerOf } from '../../src/audit/plan.js';
import { type Movement, statementOf } from '../../src/audit/statement-rules.js';
import { NATIVE } from '../../src/domain/asset.js';
import { wasRead } from '../../src/domain/coverage.js';
import { isWatched, type LedgerStamp, sideOf } from '../../src/domain/terms.js';
import { findLedgerAtOrBefore } from '../../src/ledger/session.js';
import type { LedgerTip } from '../../src/ledger/source.js';
import type { CursorDoc } from '../../src/watching/cursors.js';
import { createKnownCloses } from '../../src/watching/network-states.js';
import { createStreamReader, type ReadOptions } from '../../src/watching/stream-reader.js';
import { startOf } from '../../src/watching/wallet-starts.js';

const at = (seconds: number): Date => new Date(Date.UTC(2026, 10, 25) + seconds * 1000);
/** Ten a second, close times rounded down as the ledger tells them. */
const closedAt = (ledger: number): Date => at(Math.floor(ledger / 10));

t.test('the newest ledger of a second is found, whichever of its ledgers are asked for', async (t) => {
  for (const time of [at(50), at(50.35), at(50.999)]) {
    const latest = { sequence: 900, closedAt: closedAt(900) };
    const found = await findLedgerAtOrBefore(time, 3, latest, async (sequence) => ({
      sequence,
      closedAt: closedAt(sequence),
    }));
    t.equal(found?.sequence, 509, `${time.toISOString()}`);
  }
});

t.test('an audit that knows its beginning by time alone covers every ledger of that second', async (t) => {
  const asked: Date[] = [];
  const session = {
    ledgerAtOrBefore: async (time: Date) => {
      asked.push(time);
      return { sequence: 499, closedAt: closedAt(499) };
    },
  };
  const untold: LedgerStamp = { at: at(50.35), ledger: null };
  t.equal(await firstLedgerOf(untold, session, 900), 499);
  t.ok(asked[0]! < at(50), 'ledgers of the second itself may hold payments that count');
  t.equal(await firstLedgerOf({ at: at(50.35), ledger: 503 }, session, 900), 503);
  t.equal(await firstLedgerOf({ at: at(50.35), ledger: 5000 }, session, 900), 499, 'a ledger of before a reset');
  t.equal(asked.length, 2);
});

t.test('a statement leaves out what closed before it in ledgers that its search had not seen yet', async (t) => {
  const movement = (ledger: number, stroops: bigint) =>
    ({ at: closedAt(ledger), ledger, asset: NATIVE, stroops, kind: 'received' }) as Movement;
  const movements = [
    movement(498, 1n),
    movement(499, 10n),
    movement(500, 100n),
    movement(509, 1000n),
    movement(510, 10_000n),
  ];
  const now = [{ asset: NATIVE, stroops: 11_111n }];
  const ledgersOf = (from: number, to: number | null) => {
    const [row] = statementOf(now, movements, { from: at(from), to: to === null ? null : at(to) });
    return [row!.opening, row!.closing, row!.movements.map(({ ledger }) => ledger)];
  };
  t.same(ledgersOf(50, 51), [11n, 1111n, [500, 509]]);
  t.same(ledgersOf(49.5, 50.5), [11n, 1111n, [500, 509]], 'a second lies on one side as a whole');
  t.same(ledgersOf(50.5, null), [1111n, 11_111n, [510]]);
});

t.test(
  'the newest ledger of all parts what came before from what came after, whichever second they tell',
  async (t) => {
    const stamp: LedgerStamp = { at: at(50.35), ledger: 503, isNewest: true };
    const side = (ledger: number, seconds: number) => sideOf({ ledger, closedAt: at(seconds) }, stamp);
    t.equal(side(503, 50), 'before');
    t.equal(side(504, 50), 'after');
    t.equal(side(504, 49), 'after', 'the clock that stamped is a little ahead');
    t.equal(side(504, 30), 'before', 'so far apart the number is of another network');
  },
);

t.test('a window is read to its end only where no ledger may have closed unread before that', async (t) => {
  const readTo = { ledger: 503, at: at(52), closedAt: at(51) };
  const window = (until: LedgerStamp) => ({ from: { at: at(50.6), ledger: 503 }, until });
  t.notOk(wasRead(window({ at: at(53), ledger: 503 }), undefined, readTo), 'newer ones may have closed by then');
  t.ok(wasRead(window({ at: at(53), ledger: 503, isNewest: true }), undefined, readTo), 'there were none');
});

t.test('what has been read when a window begins does not include ledgers of the same second', async (t) => {
  const facts = { tip: { latestLedger: 900, oldestLedger: 2 } as LedgerTip, state: null };
  t.same(startOf({ from: { at: at(50.35), ledger: 503 }, until: null }, facts), { ledger: 503, closedAt: at(50) });
});

t.test('watcher and audit begin a wallet with the same ledger of its second, and count all from there', async (t) => {
  const facts = { tip: { latestLedger: 900, oldestLedger: 2 } as LedgerTip, state: null };
  const session = { ledgerAtOrBefore: async () => ({ sequence: 499, closedAt: closedAt(499) }) };
  for (const ledger of [499, 500, 503, 508, 509])
    for (const isNewest of [true, false]) {
      const from = { at: at(50.35), ledger, isNewest };
      const begun = startOf({ from, until: null }, facts)!.ledger;
      t.equal(await firstLedgerOf(from, session, 900), begun, `${ledger} was known`);
      for (let each = 495; each < 515; each++) {
        const counts = isWatched([{ from, until: null }], { ledger: each, closedAt: closedAt(each) });
        t.equal(counts, each > begun, `${ledger} was known: ${each}`);
      }
    }
});

t.test(
  'an answer that does not say how far its server is shows what is hours old, however fast ledgers close',
  async (t) => {
    const shownAfter = async (spanLedgers: number, ledgerMs: number) => {
      const knownCloses = createKnownCloses();
      const [latest, span] = [1_000_000, spanLedgers];
      const closed = (ledger: number) => new Date(at(9e6).getTime() - Math.floor((latest - ledger) * ledgerMs));
      for (const ledger of [latest - span, latest]) knownCloses.note({ ledger, closedAt: closed(ledger) });
      const reader = createStreamReader({
        knownCloses,
        clock: { now: () => at(9e6), nowMs: () => at(9e6).getTime() },
        cursors: { advance: async () => true },
        log: pino({ level: 'silent' }),
      } as never);
      const tip = { latestLedger: latest, latestClosedAt: at(9e6), oldestLedger: 2 };
      const session = { tip: async () => tip, quietCheck: async () => ({ isQuiet: true, shownLedger: null }) };
      const cursor = { ledger: 10, shownLedger: 999_000 - 100_000, shownClosedAt: at(0), cursor: '0' } as CursorDoc;
      const found = await reader.quietCheck({ session, tip } as unknown as ReadOptions, { ...cursor, address: 'G' });
      return latest - found!.shownLedger;
    };
    t.equal(await shownAfter(100, 5500), 1000);
    t.equal(await shownAfter(1000, 100), 50_000, 'ten a second');
    t.equal(await shownAfter(20, 100), 101_000, 'two seconds show no pace');
  },
);
