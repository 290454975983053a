/** The acceptance of a checkout: all payments in its asset are accepted as enough. The accepting
 *  request completes the largest payments; the rest are completed later, in batches, so that
 *  thousands of tiny payments cannot make a transaction large. Behind it: the parts that a PAID
 *  checkout left to be decided, in the same batches. */

import type { Logger } from 'pino';
import { assetOf } from '../domain/asset.js';
import { type AcceptOutcome, accept } from '../domain/checkout.js';
import { parseRate } from '../domain/rate.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import type { Database, Session } from '../kit/database.js';
import type { CheckoutDoc, CheckoutStore } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import { leftSumOf, toCheckoutState, withState } from './checkout.js';
import { type CheckoutPayable, loadPayable, ofAllAccounts, type SystemPayables } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentStore } from './payment-store.js';
import type { PaymentChange, Settle } from './settle.js';

/** Checkouts of one run. */
const CHECKOUTS = 10;
/** Payments of one batch. */
const AT_ONCE = 500;
/** Batches of one checkout in one run: a checkout with a million payments must not delay
 *  the others. */
const MAX_BATCHES = 10;
/** Checkouts that failed and wait for their turn after all others. */
const MOST_FAILED = 1000;

/** The accepted checkout, or why it was not accepted. */
type Accepted = CheckoutPayable | Extract<AcceptOutcome<never>, { outcome: 'refused' }>['because'] | 'stock';
/** @param from the moment as the ledger sees it */
export type AcceptCheckout = (before: CheckoutPayable, from: LedgerStamp, session: Session) => Promise<Accepted>;

export function createAcceptCheckout(deps: {
  forAccount: ForAccount<'checkouts' | 'payments'>;
  settle: Settle;
  clock: Pick<Clock, 'now'>;
}): AcceptCheckout {
  return async (before, from, session) => {
    const { checkout } = before;
    const { checkouts, payments } = deps.forAccount(checkout.accountId);
    const all = await payments.ofCheckout(checkout, session, 'left');
    const came = all
      .map((payment) => ({
        ...{ payment, asset: assetOf(payment), ...leftSumOf(payment, checkout) },
        rate: payment.value && payment.value.currency === checkout.currency ? parseRate(payment.value.rate) : null,
      }))
      .filter(({ stroops }) => stroops > 0n);
    // The payments read may be only some of very many; the sum covers all.
    const hasMore = checkout.paymentCount > all.length;
    const total = hasMore ? await payments.sumOfCheckout(checkout, session) : null;
    const now = deps.clock.now();
    const result = accept(toCheckoutState(checkout), came, from, now, total);
    if (result.outcome === 'refused') return result.because;
    const completed = result.payments.map(({ payment }) => complete(payment));
    // What it gave back is taken again; the coupon only where it is not used up.
    const holding = await checkouts.takeAgain(checkout, session);
    if (holding.holds && !holding.holds.pieces) return 'stock';
    const payable = { ...before, checkout: withState(holding, result.after, now) };
    await payments.complete(idsOf(completed), session);
    await deps.settle([{ payable, statusBefore: checkout.status, payments: completed }], session);
    if (hasMore) await checkouts.scheduleCompletion(checkout._id, session);
    return payable;
  };
}

type Named = Pick<CheckoutDoc, '_id' | 'accountId'>;

interface AcceptanceFinisherDeps extends Pick<SystemPayables, 'products' | 'wallets'> {
  checkouts: Pick<CheckoutStore, 'toComplete' | 'reloadToComplete' | 'moveCompletion'> &
    Pick<CheckoutStore, 'withUndecidedParts' | 'endPartDecisions'>;
  payments: Pick<PaymentStore, 'leftOfCheckout' | 'complete' | 'undecidedParts' | 'decide'>;
  settle: Settle;
  transaction: Database['transaction'];
  log: Logger;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}

/** May run in several processes at once: each batch moves the checkout's `completedUpTo` in
 *  its transaction. */
export function createAcceptanceFinisher(deps: AcceptanceFinisherDeps) {
  const { checkouts, payments, settle, transaction, log, eventsStored } = deps;

  /** In one transaction. @returns how many payments */
  const completeSome = (accepted: Named): Promise<number> =>
    transaction(async (session) => {
      const checkout = await checkouts.reloadToComplete(accepted, session);
      if (!checkout) return 0;
      const left = await payments.leftOfCheckout(checkout, checkout.completedUpTo!, AT_ONCE, session);
      const upTo = left.length < AT_ONCE ? null : left.at(-1)!._id;
      await checkouts.moveCompletion(checkout, upTo, session);
      if (left.length === 0) return 0;
      const payable = await loadPayable(ofAllAccounts(deps, [checkout]), checkout, session);
      // Neither can be deleted: the checkout has payments.
      if (!payable) throw new Error(`checkout ${checkout._id} has lost its product or wallet`);
      const completed = left.map(complete);
      await payments.complete(checkout.accountId, idsOf(completed), session);
      await settle([{ payable, payments: completed }], session);
      return left.length;
    });

  /** The parts that were left over when a checkout with very many payments became PAID; the others
   *  were decided then. In one transaction. @returns how many parts */
  const decideSome = (checkout: Named): Promise<number> =>
    transaction(async (session) => {
      const ids = await payments.undecidedParts(checkout, AT_ONCE, session);
      await payments.decide(checkout.accountId, ids, session);
      if (ids.length < AT_ONCE) await checkouts.endPartDecisions(checkout, session);
      return ids.length;
    });

  const completions = failedLast(checkouts.toComplete, completeSome, log);
  const decisions = failedLast(checkouts.withUndecidedParts, decideSome, log);
  return {
    /** Deals with what is left. Safe to repeat, and to run in several processes at once.
     *  @returns how many payments it completed */
    async run(signal: AbortSignal): Promise<number> {
      const completed = await completions(signal);
      if (completed > 0) eventsStored();
      await decisions(signal);
      return completed;
    },
  };
}

/** Deals with some checkouts a run, in batches; those that failed come after all others.
 *  @param find finds some, without these ids
 *  @param some deals with one batch, and returns how many payments it had
 *  @returns how many payments a run had */
function failedLast(
  find: (most: number, without: readonly string[]) => Promise<Named[]>,
  some: (checkout: Named) => Promise<number>,
  log: Logger,
): (signal: AbortSignal) => Promise<number> {
  const failed = new Set<string>();
  return async (signal) => {
    const found = await find(CHECKOUTS, [...failed]);
    if (found.length < CHECKOUTS || failed.size >= MOST_FAILED) failed.clear();
    let all = 0;
    for (const checkout of found) {
      try {
        for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++) {
          const count = await some(checkout);
          all += count;
          if (count < AT_ONCE) break;
        }
      } catch (error) {
        failed.add(checkout._id);
        log.error(
          { err: error, checkoutId: checkout._id },
          'payments of a checkout left as they are; trying again later',
        );
      }
    }
    return all;
  };
}

const complete = (before: PaymentDoc): PaymentChange => ({
  before,
  after: { ...before, status: 'COMPLETED', reason: null },
});

const idsOf = (changes: readonly PaymentChange[]) => changes.map(({ after }) => after._id);
