/** A record that lacks something, or is not understood, is set aside when it may concern a wallet
 *  here, with all that tells what it may have paid. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import type { LedgerSession } from '../../src/ledger/network-ledger.js';
import { type LedgerRecord, parseRecord } from '../../src/ledger/records.js';
import { LedgerUnavailable } from '../../src/ledger/source.js';
import { readRecords } from '../../src/watching/reading.js';
import { keypair, PAYER, payment, SHOP } from '../helpers/horizon-records.js';

const PASSPHRASE = 'Test SDF Network ; September 2015';
const STRANGER = keypair(9).publicKey();
const { transaction: _, ...raw } = payment();
const lean: LedgerRecord = { raw, outcome: parseRecord(raw, PASSPHRASE) };

const read = (
  ours: string,
  {
    isTooLarge,
    historyOf = null,
    complete,
    ...options
  }: { isTooLarge?: true; complete?: LedgerSession['complete'] } & Partial<Parameters<typeof readRecords>[0]> = {},
  records: readonly LedgerRecord[] = [lean],
) => {
  const lacking = (record: LedgerRecord): LedgerRecord => {
    if (record.outcome.kind !== 'incomplete') throw new Error(record.outcome.kind);
    return { raw: record.raw, outcome: { ...record.outcome, ...(isTooLarge ? { isTooLarge } : {}) } };
  };
  return readRecords(
    {
      network: 'TESTNET',
      session: { complete: complete ?? (async (record) => lacking(record)) },
      clock: systemClock,
      isOurs: async (addresses) => new Set(addresses.filter((address) => address === ours)),
      historyOf,
      ...options,
    },
    records,
  );
};
const parked = async (reading: ReturnType<typeof read>) =>
  (await reading).parked.map(({ reason, concerns }) => ({ reason, concerns }));
const reason = 'its transaction cannot be fetched';

t.test(
  'what a wallet here received, or may have refunded, is set aside; only the former may have paid it',
  async (t) => {
    t.same(await parked(read(SHOP)), [{ reason, concerns: [SHOP] }]);
    t.same(await parked(read(PAYER)), [{ reason, concerns: [] }]);
    t.same(await parked(read(STRANGER)), [], 'what strangers sent each other is not');
  },
);

t.test('a record too large to be read is set aside for its receivers only', async (t) => {
  t.same(await parked(read(SHOP, { isTooLarge: true })), [{ reason, concerns: [SHOP] }]);
  t.same(await parked(read(PAYER, { isTooLarge: true })), []);
});

t.test(
  'a record tells in which time it may have paid: at its close, and what was made until it was read',
  async (t) => {
    const [found] = (await read(SHOP)).parked;
    const closedAt = new Date(raw.created_at as string);
    t.match(found, { ledger: 1000, closedFrom: closedAt, payableUntil: closedAt, tries: 0, dismissed: null });
    const soon = { ...systemClock, now: () => new Date(closedAt.getTime() + 60_000) };
    t.match((await read(SHOP, { clock: soon })).parked, [{ payableUntil: soon.now() }]);
    const undated = { raw: { ...raw, created_at: 'yesterday' }, outcome: lean.outcome };
    const closedFrom = new Date('2026-01-01T00:00:00Z');
    const [bounded] = (await read(SHOP, { closedFrom }, [undated])).parked;
    t.match(bounded, { closedFrom, payableUntil: bounded!.createdAt });
  },
);

t.test(
  'a record that names no receiver concerns every wallet of the network, or the one whose history shows it',
  async (t) => {
    const { to: _to, ...nameless } = payment();
    const record = { raw: nameless, outcome: parseRecord(nameless, PASSPHRASE) };
    t.match(await parked(read(SHOP, {}, [record])), [{ concerns: ['*'] }]);
    t.match(await parked(read(SHOP, { historyOf: STRANGER }, [record])), [{ concerns: [STRANGER] }]);
    const unknown = { ...payment(), type: 'teleport' };
    const known = { raw: unknown, outcome: parseRecord(unknown, PASSPHRASE) };
    t.match(await parked(read(SHOP, {}, [known])), [{ concerns: [SHOP] }]);
    t.same((await parked(read(SHOP, { historyOf: STRANGER }, [known])))[0]!.concerns.sort(), [SHOP, STRANGER].sort());
  },
);

t.test(
  'a page that may leave records behind fails when the server does, and asks for a few in vain only',
  async (t) => {
    let asked = 0;
    const failing = (isOfOne: boolean) => async () => {
      asked += 1;
      throw new LedgerUnavailable('it fails', 0, isOfOne);
    };
    const many = Array.from({ length: 200 }, () => lean);
    await t.rejects(read(SHOP, { leavesBehind: 'one_by_one', complete: failing(false) }, many), LedgerUnavailable);
    await t.rejects(read(SHOP, { complete: failing(false) }, many), LedgerUnavailable);
    for (const [leavesBehind, isOfOne] of [
      ['one_by_one', true],
      ['everything', false],
    ] as const) {
      asked = 0;
      t.equal((await read(SHOP, { leavesBehind, complete: failing(isOfOne) }, many)).parked.length, 200);
      t.ok(asked < 16, `${asked} of 200`);
    }
  },
);
