/** Makes the proofs that were asked for, beside everything else: one at a time of each network and level, so that no archive that stalls delays another proof. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { PROOF_LEVELS, type ProofLevel } from '../../contracts/proofs.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { whileHeld } from '../kit/lease.js';
import type { LeaseStore } from '../kit/leases.js';
import type { PaymentStore } from '../payments/index.js';
import type { MakeProof } from './maker.js';
import type { DueProof, Outcome, ProofStore } from './proof-store.js';

const LOOK_MS = 250;
const LEASE_MS = 15_000;
/** Interval of attempts at the lease. */
const LEASE_LOOK_MS = 1_000;
const AT_ONCE = 20;
/** After a fault of this program. */
const FAULT_MS = 300_000;

export interface ProverDeps {
  /** By network that is watched. */
  makers: ReadonlyMap<Network, MakeProof>;
  proofs: Pick<ProofStore, 'due' | 'note'>;
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

  async function tryOne(make: MakeProof, proof: DueProof): Promise<void> {
    const payment = await deps.payments.byId(proof.accountId, proof.paymentId);
    const outcome: Outcome = payment
      ? await make(proof, payment).catch((err: unknown) => {
          log.error({ err, proof: proof._id }, 'a proof was not made');
          const nextAt = new Date(clock.nowMs() + FAULT_MS);
          return { state: 'WAITING', reason: 'Its making failed: the log says why.', nextAt };
        })
      : // Its payment was removed, and the proof with it.
        { state: 'UNAVAILABLE', reason: 'The payment is not stored any more.', nextAt: null };
    await proofs.note(proof, outcome, clock.now());
    onTried(outcome.state);
  }

  async function workOff(network: Network, level: ProofLevel, enough: AbortSignal): Promise<number> {
    let made = 0;
    while (!enough.aborted) {
      const due = await proofs.due(network, level, clock.now(), AT_ONCE);
      for (const proof of due) {
        if (enough.aborted) break;
        await tryOne(makers.get(network)!, proof);
        made += 1;
      }
      if (due.length === 0) await monotonic.sleep(LOOK_MS, enough);
    }
    return made;
  }

  async function runOne(network: Network, level: ProofLevel, enough: AbortSignal): Promise<number> {
    const lease = { leases, name: `proofs:${network}:${level}`, holder, ms: LEASE_MS, clock: monotonic, log };
    let made = 0;
    while (!enough.aborted) {
      const tried = await whileHeld(lease, enough, (held) => workOff(network, level, held));
      if (tried === null) await monotonic.sleep(LEASE_LOOK_MS, enough);
      else made += tried;
    }
    return made;
  }

  return {
    /** Makes proofs until there is enough. @returns how many were tried */
    async run(enough: AbortSignal): Promise<number> {
      const all = [...makers.keys()].flatMap((network) => PROOF_LEVELS.map((level) => runOne(network, level, enough)));
      // Wait for all, so that none overlaps the next run.
      const ends = await Promise.allSettled(all);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
      return ends.reduce((sum, end) => sum + (end.status === 'fulfilled' ? end.value : 0), 0);
    },
  };
}
