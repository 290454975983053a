/** A record whose transaction a source does not have is waited for, and parked in the end, when it may concern a wallet here: as payment or as refund. */
import t from 'tap';
import { systemClock } from '../../src/clock.js';
import { readRecords } from '../../src/collect/reading.js';
import { LedgerUnavailable } from '../../src/ledger/errors.js';
import { parseRecord } from '../../src/ledger/parse.js';
import type { LedgerRecord } from '../../src/ledger/records.js';
import { keypair, PAYER, payment, SHOP } from '../helpers/horizon-records.js';

const PASSPHRASE = 'Test SDF Network ; September 2015';
const STRANGER = keypair(9).publicKey();
const { transaction: _, ...raw } = payment();
const lean: LedgerRecord = { raw, outcome: parseRecord(raw, PASSPHRASE) };

const read = (ours: string, options: { isTooLarge?: true; mayCome?: () => boolean } = {}) => {
  const { isTooLarge, mayCome } = options;
  const { outcome } = lean;
  if (outcome.kind !== 'incomplete') throw new Error(outcome.kind);
  return readRecords(
    {
      network: 'TESTNET',
      session: { complete: async () => ({ raw, outcome: { ...outcome, ...(isTooLarge ? { isTooLarge } : {}) } }) },
      clock: systemClock,
      isOurs: async (addresses) => new Set(addresses.filter((address) => address === ours)),
      ofOneAddress: false,
      ...(mayCome ? { mayCome } : {}),
    },
    [lean],
  );
};
const reasons = async (reading: ReturnType<typeof read>) => (await reading).parked.map(({ reason }) => reason);

for (const [who, address] of [
  ['received', SHOP],
  ['sent', PAYER],
] as const) {
  t.test(`what a wallet here ${who} is waited for, and parked when it does not come`, async (t) => {
    await t.rejects(read(address, { mayCome: () => true }), LedgerUnavailable);
    t.same(await reasons(read(address, { mayCome: () => false })), ['its transaction cannot be had']);
  });
}

t.test('what is too large to be read is not waited for, and parked for who received it only', async (t) => {
  const mayCome = () => t.fail('it is not asked for again');
  t.same(await reasons(read(SHOP, { isTooLarge: true, mayCome })), ['its transaction cannot be had']);
  t.same(await reasons(read(PAYER, { isTooLarge: true, mayCome })), []);
});

t.test('what strangers sent each other is neither waited for nor parked', async (t) => {
  t.same(await reasons(read(STRANGER, { mayCome: () => true })), []);
});
