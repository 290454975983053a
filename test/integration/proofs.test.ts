/** Whose proof is made when: the prover and the store of proofs on a real MongoDB, with the test's
 *  own makers. The proofs themselves are in test/e2e/proofs.test.ts. */
import { pino } from 'pino';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import type { PaymentDoc } from '../../src/payments/index.js';
import type { MakeProof } from '../../src/proving/maker.js';
import { createProver } from '../../src/proving/prover.js';
import { manualClock } from '../helpers/manual-clock.js';
import { eventually } from '../helpers/service.js';
import { openStores } from '../helpers/stores.js';

const paymentOf = (accountId: string, nth = 0) =>
  ({ _id: `pay_${accountId}_${nth}`, accountId, network: 'TESTNET' }) as PaymentDoc;

t.test('a proof is asked for the first time by eight callers at once → each gets it', async (t) => {
  const { db, stores } = await openStores(t);
  const { proofs } = stores.forAccount('acct_1');
  const now = systemClock.now();
  for (let nth = 0; nth < 30; nth++) {
    const payment = paymentOf('acct_1', nth);
    const asked = await Promise.all(Array.from({ length: 8 }, () => proofs.ask(payment, 'signed', now)));
    t.same([...new Set(asked.map(({ _id }) => _id))], [`${payment._id}:signed`]);
  }
  t.equal(await db.collection('proofs').countDocuments(), 30);
});

t.test('each try for one account puts the archive to rest → the others’ proofs are made', async (t) => {
  const { stores } = await openStores(t);
  const { proofs, leases } = stores.system;
  const clock = manualClock();
  const REST_MS = 10_000;
  let restsUntilMs = 0;
  const make: MakeProof = async ({ accountId }) => {
    const waiting = (inMs: number) =>
      ({ state: 'WAITING', reason: 'x', nextAt: new Date(clock.nowMs() + inMs) }) as const;
    if (restsUntilMs > clock.nowMs()) return waiting(restsUntilMs - clock.nowMs());
    if (accountId !== 'acct_1') return { state: 'READY', reason: null, nextAt: null, bundle: Buffer.from('x') };
    restsUntilMs = clock.nowMs() + REST_MS;
    return waiting(REST_MS);
  };
  const accounts = ['acct_1', 'acct_2', 'acct_3'];
  for (const accountId of accounts)
    await stores.forAccount(accountId).proofs.ask(paymentOf(accountId), 'signed', clock.now());
  const made = new Set<string>();
  const tries: string[] = [];
  const prover = createProver({
    makers: new Map([['TESTNET', make]]),
    proofs: {
      ...proofs,
      note: async (proof, outcome, at) => {
        await proofs.note(proof, outcome, at);
        tries.push(proof.accountId);
        if (outcome.state === 'READY') made.add(proof.accountId);
      },
    },
    payments: { byId: async (accountId) => paymentOf(accountId) },
    leases,
    onTried: () => undefined,
    holder: 'test',
    clock,
    monotonic: clock,
    log: pino({ level: 'silent' }),
  });
  const enough = new AbortController();
  const running = prover.run(enough.signal);
  const passing = setInterval(() => clock.advance(250), 5);
  t.teardown(() => clearInterval(passing));
  await eventually(async () => made.size === 2 || tries.length > 30, 'both are made');
  enough.abort();
  clock.advance(60_000);
  await running;
  t.same([...made].sort(), ['acct_2', 'acct_3']);
});
