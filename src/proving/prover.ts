/** Makes the proofs that were asked for, beside everything else: one at a time of each network and
 *  level, so that no archive that stalls delays another proof, and one of each account in turn. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { PROOF_LEVELS, type ProofLevel } from '../../contracts/proofs.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { type LeaseStore, whileHeld } from '../kit/leases.js';
import { createLoop } from '../kit/loop.js';
import type { PaymentStore } from '../payments/index.js';
import type { MakeProof } from './maker.js';
import type { DueProof, Outcome, ProofStore } from './proof-store.js';

/** Those that were asked for in another process are found by looking. */
const LOOK_MS = 2000;
const LEASE_MS = 15_000;
/** Interval of attempts at the lease. */
const LEASE_LOOK_MS = 1_000;
/** After a fault of this program. */
const FAULT_MS = 300_000;

export interface ProverDeps {
  /** By network that is watched. */
  makers: ReadonlyMap<Network, MakeProof>;
  proofs: Pick<ProofStore, 'due' | 'dueAccounts' | 'note'>;
  payments: Pick<PaymentStore, 'byId'>;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  /** Called with how each try ended. */
  onTried: (state: Outcome['state']) => void;
  /** Unique per process. */
  holder: string;
  clock: Clock;
  monotonic: MonotonicClock;
  log: Logger;
}

export type Prover = ReturnType<typeof createProver>;

export function createProver(deps: ProverDeps) {
  const { makers, proofs, leases, onTried, holder, clock, monotonic, log } = deps;

  async function tryOne(make: MakeProof, proof: DueProof, patience: AbortSignal): Promise<void> {
    const payment = await deps.payments.byId(proof.accountId, proof.paymentId);
    const outcome: Outcome = payment
      ? await make(proof, payment, patience).catch((err: unknown) => {
          log.error({ err, proof: proof._id }, 'a proof was not made');
          const nextAt = new Date(clock.nowMs() + FAULT_MS);
          return { state: 'WAITING', reason: 'Its making failed: the log says why.', nextAt };
        })
      : // Its payment was removed, and the proof with it.
        { state: 'UNAVAILABLE', reason: 'The payment is not stored any more.', nextAt: null };
    await proofs.note(proof, outcome, clock.now());
    onTried(outcome.state);
  }

  function workerOf(network: Network, level: ProofLevel) {
    let tried = 0;
    const make = makers.get(network)!;
    /** The account whose turn comes last. */
    let last = '';
    const loop = createLoop({
      step: async (signal) => {
        const accounts = (await proofs.dueAccounts(network, level, clock.now())).sort();
        const next = accounts.findIndex((accountId) => accountId > last);
        const turns = next < 0 ? accounts : [...accounts.slice(next), ...accounts.slice(0, next)];
        for (const accountId of turns) {
          const proof = await proofs.due(accountId, network, level, clock.now());
          if (proof) {
            await tryOne(make, proof, signal);
            tried += 1;
          }
          // The budget ended its turn, maybe: it goes on in the next run.
          if (signal.aborted) return 0;
          last = accountId;
        }
        // After a fault in one account's turn its server rests, and the accounts after it wait: so
        // each comes first once.
        last = turns[0] ?? last;
        return accounts.length === 0 ? LOOK_MS : 0;
      },
      onError: (err) => {
        log.warn({ err, network }, 'proofs were not made; they are tried again');
        return LOOK_MS;
      },
      clock: monotonic,
    });
    const lease = { leases, name: `proofs:${network}:${level}`, holder, ms: LEASE_MS, clock: monotonic, log };
    return {
      wake: loop.wake,
      /** @returns how many were tried */
      async run(enough: AbortSignal): Promise<number> {
        const before = tried;
        while (!enough.aborted) {
          const held = await whileHeld(lease, enough, loop.run);
          if (held === null) await monotonic.sleep(LEASE_LOOK_MS, enough);
        }
        return tried - before;
      },
    };
  }

  const workers = [...makers.keys()].flatMap((network) => PROOF_LEVELS.map((level) => workerOf(network, level)));
  return {
    /** Looks at once for proofs that were asked for. */
    wake() {
      for (const worker of workers) worker.wake();
    },
    /** Makes proofs until there is enough. @returns how many were tried */
    async run(enough: AbortSignal): Promise<number> {
      // Wait for all, so that none overlaps the next run.
      const ends = await Promise.allSettled(workers.map((worker) => worker.run(enough)));
      return ends.reduce((sum, end) => {
        if (end.status === 'rejected') throw end.reason;
        return sum + end.value;
      }, 0);
    },
  };
}
