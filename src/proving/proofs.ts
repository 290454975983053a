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
import { createRequester, LedgerUnavailable, SourceError } from '../ledger/index.js';
import type { PaymentDoc } from '../payments/index.js';
import type { Statement, Validator } from '../proof/index.js';
import type { CheckoutStore } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import { withoutArchive } from './maker.js';
import { type ProofDoc, proofIdOf } from './proof-store.js';

// What the service itself says about a payment, in its proof: what it settled. The ledger does not
// prove it; the key that signs deliveries signs it.

type StatementOf = (payment: PaymentDoc) => Promise<Statement | null>;

interface StatementDeps {
  forAccount: ForAccount<'checkouts' | 'paymentLinks' | 'account'>;
  publicUrl: string;
  /** Signs with the newest key of the installation. */
  sign: (body: string) => Promise<{ keyId: string; signature: string }>;
}

/** Begins every statement, so that no text of an account makes one that is signed for
 *  another purpose. */
const HEAD = 'Statement about a payment, by';

export function createStatementOf({ forAccount, publicUrl, sign }: StatementDeps): StatementOf {
  /** What it settled; null for a payment that was not taken. */
  async function settledBy({ accountId, status, checkoutId, paymentLinkId }: PaymentDoc): Promise<string | null> {
    const { checkouts, paymentLinks } = forAccount(accountId);
    if (checkoutId !== null) {
      const checkout = await checkouts.byId(checkoutId);
      if (checkout?.status !== 'PAID' || (status !== 'COMPLETED' && status !== 'UNDERPAID')) return null;
      const named = checkout.reference === null ? '' : `order ${JSON.stringify(checkout.reference)}, `;
      return `${status === 'COMPLETED' ? 'it settled' : 'it is a part of what settled'} ${named}checkout ${checkoutId}`;
    }
    if (status !== 'COMPLETED' || paymentLinkId === null) return null;
    const link = await paymentLinks.byId(paymentLinkId);
    const named = link?.name ? ` ${JSON.stringify(link.name)},` : '';
    return `it was taken for the payment link${named} ${paymentLinkId}`;
  }

  return async (payment) => {
    const settled = await settledBy(payment);
    if (settled === null) return null;
    const account = await forAccount(payment.accountId).account.get();
    const seller = JSON.stringify(account?.brand?.name ?? account?.name ?? '');
    const { _id, transactionHash, amount, assetCode } = payment;
    const body = `${HEAD} ${publicUrl} for the account ${seller}: payment ${_id} of ${amount} ${assetCode} by the transaction ${transactionHash} was received; ${settled}.`;
    return { body, ...(await sign(body)) };
  };
}

// Whose signatures count on LOCAL: the validator that the local ledger names itself. Every local
// ledger has its own.

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 64 * 1024;
/** A ledger that was begun again has another. */
const KEPT_MS = 5_000;

/** `[[VALIDATORS]]` of SEP-20, as the local ledger writes it. */
const KEY = /^PUBLIC_KEY\s*=\s*"(G[A-Z2-7]{55})"/m;

export type LocalValidators = ReturnType<typeof createLocalValidators>;

/** @param url of the local ledger; null when LOCAL is not watched */
export function createLocalValidators(
  url: string | null,
  { clock, monotonic }: { clock: Clock; monotonic: MonotonicClock },
) {
  const parse = (body: Buffer) => body.toString('utf8');
  const requester = createRequester(clock, { maxBodyBytes: MAX_BYTES, parse });
  let known: { validators: readonly Validator[]; untilMs: number } = { validators: [], untilMs: 0 };

  return {
    /** Empty where LOCAL is not watched. @throws LedgerUnavailable */
    async validators(): Promise<readonly Validator[]> {
      if (url === null) return [];
      if (known.untilMs > monotonic.nowMs()) return known.validators;
      const answer = await requester
        .send({ url: new URL('/.well-known/stellar.toml', url).href, headers: {} }, TIMEOUT_MS)
        .catch((error: unknown) => {
          if (error instanceof SourceError) throw new LedgerUnavailable(error.reason, KEPT_MS);
          throw error;
        });
      const node = KEY.exec(String(answer.body))?.[1];
      const validators = node ? [{ name: 'The local ledger', homeDomain: 'localhost', nodes: [node] }] : [];
      known = { validators, untilMs: monotonic.nowMs() + KEPT_MS };
      return validators;
    },
    close: () => requester.close(),
  };
}

const unpack = promisify(gunzip);

export type PaymentProof = OutputOf<Contract['payments']['proof']>;

/** A caller waits so long for a proof that has not been tried yet: most are made within
 *  a second. */
const FIRST_TRY_MS = 3_000;
const LOOK_MS = 100;

interface ProofsDeps {
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
