/** Retries of parked records: one that always fails is in the way of no other. */
import { pino } from 'pino';
import t from 'tap';
import { createParkedRetries } from '../../src/watching/parked.js';
import { manualClock } from '../helpers/manual-clock.js';

t.test('a record whose try fails in an unknown way waits like one that cannot be had', async (t) => {
  const clock = manualClock();
  const parked = { _id: 'LOCAL:1', network: 'LOCAL', createdAt: clock.now(), tries: 0, dismissed: null };
  const noted: object[] = [];
  const fault = () => {
    throw new TypeError('a fault of our own');
  };
  const retries = createParkedRetries({
    network: 'LOCAL',
    ledger: { session: fault, servers: ['one'] },
    parkedRecords: {
      due: async () => [{ _id: parked._id, concerns: [] }],
      byId: async () => parked,
      nextTryAt: async () => null,
      noteTry: async (id: string, changes: object) => void noted.push({ id, ...changes }),
    },
    ...{ wallets: {}, recorder: {}, clock, log: pino({ level: 'silent' }), eventsStored: () => undefined },
  } as never);
  await retries.round(new AbortController().signal);
  t.match(noted, [{ id: parked._id, nextTryAt: Date }]);
  t.ok((noted[0] as { nextTryAt: Date }).nextTryAt > clock.now());
});
