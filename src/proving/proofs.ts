/** Proofs in the API and for payers: has them made, and shows them with the service's statement. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Contract } from '../../contracts/index.js';
import type { Network } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { ProofLevel } from '../../contracts/proofs.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { PaymentDoc } from '../payments/index.js';
import type { CheckoutStore } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import { withoutArchive } from './maker.js';
import { type ProofDoc, proofIdOf } from './proof-store.js';
import type { StatementOf } from './statement.js';

const unpack = promisify(gunzip);

export type PaymentProof = OutputOf<Contract['payments']['proof']>;

/** A caller waits so long for a proof that has not been tried yet: most are made within a second. */
const FIRST_TRY_MS = 3_000;
const LOOK_MS = 100;

export interface ProofsDeps {
  forAccount: ForAccount<'payments' | 'proofs' | 'checkouts' | 'paymentLinks' | 'account'>;
  /** Networks with a history archive. */
  archived: ReadonlySet<Network>;
  statementOf: StatementOf;
  /** Called when a proof is to be made. */
  proofsAsked: () => void;
  clock: Clock;
  monotonic: MonotonicClock;
}

export type ReadProof = (payment: PaymentDoc, level?: ProofLevel, signal?: AbortSignal) => Promise<PaymentProof>;

export function createReadProof(deps: ProofsDeps): ReadProof {
  const { forAccount, archived, statementOf, proofsAsked, clock, monotonic } = deps;

  /** Has it made unless it is; waits for its first try. */
  async function made(payment: PaymentDoc, level: ProofLevel, signal?: AbortSignal): Promise<ProofDoc> {
    const { proofs } = forAccount(payment.accountId);
    const id = proofIdOf(payment._id, level);
    const known = await proofs.byId(id);
    if (known?.state === 'READY') return known;
    let proof = await proofs.ask(payment, level, clock.now());
    proofsAsked();
    for (const endMs = monotonic.nowMs() + FIRST_TRY_MS; proof.tries === 0 && !signal?.aborted; ) {
      if (monotonic.nowMs() > endMs) break;
      await monotonic.sleep(LOOK_MS, signal);
      proof = (await proofs.byId(id)) ?? proof;
    }
    return proof;
  }

  return async (payment, wanted, signal) => {
    const hasArchive = archived.has(payment.network);
    const level = wanted ?? (hasArchive ? 'signed' : 'ledger');
    const empty = { level, retryAfterSeconds: null, proof: null };
    if (level === 'signed' && !hasArchive)
      return { ...empty, state: 'UNAVAILABLE', reason: withoutArchive(payment.network) };
    const { state, reason, nextAt, bundle } = await made(payment, level, signal);
    if (state === 'READY') {
      const proof = { ...JSON.parse((await unpack(bundle!)).toString()), statement: await statementOf(payment) };
      return { ...empty, state, reason: null, proof };
    }
    const waitMs = nextAt === null ? 0 : nextAt.getTime() - clock.nowMs();
    const retryAfterSeconds = state === 'WAITING' ? Math.max(1, Math.ceil(waitMs / 1000)) : null;
    return { ...empty, state, reason: reason ?? 'It is being made.', retryAfterSeconds };
  };
}

/** For payers, who have the slug of their checkout. */
export const createPayerProof =
  (
    { forAccount, checkouts }: Pick<ProofsDeps, 'forAccount'> & { checkouts: Pick<CheckoutStore, 'bySlug'> },
    read: ReadProof,
  ) =>
  async (slug: string, paymentId: string | null, level?: ProofLevel): Promise<PaymentProof | null> => {
    const checkout = await checkouts.bySlug(slug);
    if (checkout?.status !== 'PAID') return null;
    const { payments } = forAccount(checkout.accountId);
    const payment = paymentId === null ? await payments.completingCheckout(checkout) : await payments.byId(paymentId);
    return payment?.checkoutId === checkout._id ? read(payment, level) : null;
  };

/** @param read has proofs made, and reads them */
export const createProofOperation =
  ({ forAccount }: Pick<ProofsDeps, 'forAccount'>, read: ReadProof): ServiceOf<Contract['payments']>['proof'] =>
  async (caller, { id, level, format }) => {
    const payment = await forAccount(caller.accountId).payments.byId(id);
    if (!payment) throw notFound('payment');
    const shown = await read(payment, level, caller.signal);
    if (format === 'file' && shown.state !== 'READY') throw conflict(`There is no file yet. ${shown.reason}`);
    return shown;
  };
