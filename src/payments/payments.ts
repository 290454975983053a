/** Payments in the API: reading them, and a merchant's decisions about those that were
 *  not taken. */

import type { FieldError } from '../../contracts/errors.js';
import type { Contract } from '../../contracts/index.js';
import { networkInfo } from '../../contracts/networks.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import { PAYMENT_STATUSES } from '../../contracts/payments.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import type { Commit } from '../accounts/index.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { assetOf } from '../domain/asset.js';
import type { Pair } from '../domain/rate.js';
import { isPayable, type PayUri } from '../domain/sep7.js';
import { badRequest, conflict, invalid, NO_SUCH, notFound } from '../kit/api-error.js';
import { onlySeller, type ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { Session } from '../kit/database.js';
import { pageOf } from '../kit/paging.js';
import type { LoadRates } from '../rates/index.js';
import {
  type AccountProducts,
  type CheckoutDoc,
  type ProductDoc,
  type Quotes,
  toProductSummary,
} from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import type { BookByHash } from '../watching/index.js';
import { isUnneeded, leftOf, withLate } from './checkout.js';
import { judgeAssigned, toJudgedFields } from './judge.js';
import { networksOf, type Payable, pairsOf, payableOf, withTermsAt } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentFilter } from './payment-store.js';
import type { RefundBook } from './refunds.js';
import type { Settle } from './settle.js';

export type Payment = OutputOf<Contract['payments']['get']>;

/** @param product of the payment's link or checkout; null when there is none. */
export const toPayment = (payment: PaymentDoc, product: ProductDoc | null): Payment => ({
  id: payment._id,
  status: payment.status,
  reason: payment.reason,
  amount: payment.amount,
  assetCode: payment.assetCode,
  assetIssuer: payment.assetIssuer,
  expectedAmount: payment.expectedAmount,
  excessAmount: payment.excessAmount,
  shortfallAmount: payment.shortfallAmount,
  memo: payment.memo,
  memoType: payment.memoType,
  destinationMuxedId: payment.destinationMuxedId ?? null,
  senderAddress: payment.senderAddress,
  senderMuxedAddress: payment.senderMuxedAddress ?? null,
  receiverAddress: payment.receiverAddress,
  network: payment.network,
  transactionHash: payment.transactionHash,
  operationId: payment.operationId,
  ledger: payment.ledger,
  ledgerClosedAt: payment.ledgerClosedAt.toISOString(),
  paymentLinkId: payment.paymentLinkId,
  checkoutId: payment.checkoutId,
  product: product && toProductSummary(product),
  walletId: payment.walletId,
  needsDecision: payment.needsDecision,
  decisionNote: payment.dismissal?.note ?? null,
  value: shownValue(payment),
  refundedAmount: payment.refundedAmount ?? '0',
  refunds: (payment.refunds ?? []).map(({ at, ...refund }) => ({ ...refund, at: at.toISOString() })),
  explorerUrl: networkInfo[payment.network].explorerUrl?.(payment.transactionHash) ?? null,
  createdAt: payment.createdAt.toISOString(),
});

/** One that is REJECTED counts for nothing, until it is accepted. */
const shownValue = ({ status, value }: PaymentDoc): Payment['value'] =>
  value && status !== 'REJECTED' ? { ...value, rateAt: value.rateAt.toISOString() } : null;

type ListFilter = Omit<ParsedInputOf<Contract['payments']['list']>, 'page' | 'pageSize'>;

const NOTHING_LEFT = 'All of this payment was already sent back.';

/** Statuses shown by default. */
export const MATCHED = PAYMENT_STATUSES.filter((status) => status !== 'UNMATCHED');

/** A COMPLETED payment never needs a decision. */
const DECIDABLE = PAYMENT_STATUSES.filter((status) => status !== 'COMPLETED');

/** The list's filters for the store. */
export function filterOf(query: ListFilter): PaymentFilter {
  const { status, createdFrom, createdTo, ...equal } = query;
  return {
    ...equal,
    status: status && status.length > 0 ? status : query.needsDecision ? DECIDABLE : MATCHED,
    createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
    createdTo: createdTo === undefined ? undefined : new Date(createdTo),
  };
}

/** Payments with their products, in the same order. */
export async function withProducts(
  payments: readonly PaymentDoc[],
  products: Pick<AccountProducts, 'byIds'>,
  session?: Session,
): Promise<Payment[]> {
  const ids = [...new Set(payments.flatMap((payment) => payment.productId ?? []))];
  const byId = new Map((await products.byIds(ids, session)).map((product) => [product._id, product]));
  return payments.map((payment) => toPayment(payment, byId.get(payment.productId ?? '') ?? null));
}

interface Assigned {
  paymentLinkId?: string | null | undefined;
  checkoutId?: string | null | undefined;
}
const noSuchIn = ({ checkoutId }: Assigned): FieldError => (checkoutId ? NO_SUCH.checkout : NO_SUCH.link);
const closeOf = ({ ledger, ledgerClosedAt }: PaymentDoc) => ({ ledger, closedAt: ledgerClosedAt });

/** The payable to assign a payment to, as of the payment's ledger; null when it is gone. */
export async function findAssigned(
  stores: ReturnType<ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>>,
  ids: Assigned,
  payment: PaymentDoc | null,
  session: Session,
): Promise<Payable | null> {
  const found = await payableOf(stores, ids, session);
  return found && payment ? withTermsAt(stores.products, found, [closeOf(payment)], session) : found;
}

/** Why the payment cannot be assigned to it, regardless of its status. */
export function faultOfAssignment(found: Payable | null, ids: Assigned, payment: PaymentDoc | null): FieldError | null {
  if (!found) return noSuchIn(ids);
  const networks = payment && networksOf(found, closeOf(payment));
  if (!payment || networks?.includes(payment.network)) return null;
  const [path, what] = ids.checkoutId ? ['checkoutId', 'checkout'] : ['paymentLinkId', 'payment link'];
  const message = `The ${what} takes payments on ${networks?.at(-1)}; this payment is on ${payment.network}.`;
  return { path, message, code: 'not_allowed' };
}

/** Proofs have a room of their own. */
type Service = Omit<ServiceOf<Contract['payments']>, 'proof'>;

interface PaymentServiceDeps {
  forAccount: ForAccount<'payments' | 'refunds' | 'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  settle: Settle;
  refundBook: Pick<RefundBook, 'bookBefore'>;
  commit: Commit;
  /** Called when events may have been stored. */
  eventsStored: () => void;
  clock: Clock;
  payUri: PayUri;
  bookByHash: BookByHash;
  loadRates: LoadRates;
  quotes: Quotes;
}

export function createPaymentService(deps: PaymentServiceDeps): Service {
  return {
    list: list(deps),
    get: get(deps),
    accept: accept(deps),
    assign: assign(deps),
    dismiss: dismiss(deps),
    addRefund: addRefund(deps),
    refund: refund(deps),
  };
}

const show = async ({ forAccount }: PaymentServiceDeps, payment: PaymentDoc) =>
  toPayment(
    payment,
    (payment.productId && (await forAccount(payment.accountId).products.byId(payment.productId))) || null,
  );

/** Converts an amount in the payment's currency to its asset, at the current rate.
 *  @throws ApiError */
async function worthNow({ quotes }: PaymentServiceDeps, payment: PaymentDoc, value: string): Promise<string> {
  if (!payment.value) throw conflict('This payment has no value in a currency.');
  const { currency } = payment.value;
  const [fault] = minorDigitErrors(currency, { value });
  if (fault) throw badRequest(`value: ${fault.message}`);
  return quotes.asked(payment.accountId, { ...payment, currency }, payment.network, value);
}

const list =
  ({ forAccount }: PaymentServiceDeps): Service['list'] =>
  async (caller, { page, pageSize, ...filter }) => {
    const { payments, products } = forAccount(caller.accountId);
    const wanted = { ...filterOf(filter), soldBy: onlySeller(caller) };
    const { items, meta } = await payments.list(wanted, pageOf(caller, { page, pageSize }));
    return { items: await withProducts(items, products), meta };
  };

const get =
  (deps: PaymentServiceDeps): Service['get'] =>
  async (caller, { id }) => {
    const payment = await deps.forAccount(caller.accountId).payments.byId(id);
    const seller = onlySeller(caller);
    if (!payment || (seller !== undefined && payment.soldBy !== seller)) throw notFound('payment');
    return show(deps, payment);
  };

const accept =
  (deps: PaymentServiceDeps): Service['accept'] =>
  async (caller, { id }) => {
    const { forAccount, commit, clock, settle, eventsStored } = deps;
    const { accountId, isRepeated } = caller;
    const stores = forAccount(accountId);
    const accepted = await commit({ caller, subjectId: id }, async (session) => {
      const before = await stores.payments.byId(id, session);
      if (!before) throw notFound('payment');
      if (isRepeated && before.status === 'COMPLETED') return before;
      if (leftOf(before) === 0n) throw conflict(NOTHING_LEFT);
      const found = await payableOf(stores, before, session);
      const payable = found?.checkout ? { ...found, checkout: takenBy(found.checkout, before, clock.now()) } : found;
      const after = await stores.payments.judge(
        id,
        ['UNDERPAID', 'REJECTED'],
        { status: 'COMPLETED', reason: null, needsDecision: false },
        session,
      );
      if (!after)
        throw conflict(`Only an UNDERPAID or REJECTED payment can be accepted; this one is ${before.status}.`);
      if (!payable) throw new Error(`payment ${id} has no link or checkout`);
      await settle([{ payable, statusBefore: found?.checkout?.status, payments: [{ before, after }] }], session);
      return after;
    });
    eventsStored();
    return show(deps, accepted);
  };

const assign =
  (deps: PaymentServiceDeps): Service['assign'] =>
  async (caller, { id, paymentLinkId, checkoutId }) => {
    const { forAccount, commit, loadRates, clock, settle, refundBook, eventsStored } = deps;
    const { accountId, isRepeated } = caller;
    const stores = forAccount(accountId);
    const ids = { paymentLinkId, checkoutId };
    const assigned = await commit({ caller, subjectId: id }, async (session) => {
      const stored = await stores.payments.byId(id, session);
      const found = await findAssigned(stores, ids, stored, session);
      // Report faults of the body before a missing payment.
      if (!found) throw invalid(noSuchIn(ids));
      if (!stored) throw notFound('payment');
      // Refunds that named the payable before the payment did: what they sent back
      // completes nothing.
      const isWaitedFor = stored.status === 'UNMATCHED' && (await refundBook.bookBefore(stored, found, session));
      const before = isWaitedFor ? (await stores.payments.byId(id, session))! : stored;
      const isTheirs = checkoutId ? before.checkoutId === checkoutId : before.paymentLinkId === paymentLinkId;
      if (isRepeated && isTheirs) return before;
      const fault = faultOfAssignment(found, ids, before);
      if (fault) throw invalid(fault);
      const close = closeOf(before);
      const asked = pairsOf(found, close).map((pair) => ({ accountId, pair, close }));
      const rates = await loadRates(asked, session);
      const ratesFor = (pair: Pair) => rates({ accountId, pair, close });
      if (before.status === 'UNMATCHED' && leftOf(before) === 0n) throw conflict(NOTHING_LEFT);
      const { verdict, payable } = judgeAssigned(found, before, ratesFor, clock.now());
      const after = await stores.payments.judge(id, ['UNMATCHED'], toJudgedFields(verdict, before, payable), session);
      if (!after) throw conflict(`Only an UNMATCHED payment can be assigned; this one is ${before.status}.`);
      const change = { payable, statusBefore: found.checkout?.status, payments: [{ before, after }] };
      return (await settle([change], session)) ? (await stores.payments.byId(id, session))! : after;
    });
    eventsStored();
    return show(deps, assigned);
  };

const dismiss =
  (deps: PaymentServiceDeps): Service['dismiss'] =>
  async (caller, { id, note }) => {
    const { forAccount, clock, commit } = deps;
    const stores = forAccount(caller.accountId);
    const dismissal = { at: clock.now(), note: note ?? null };
    const dismissed = await commit({ caller, subjectId: id }, async (session) => {
      const after = await stores.payments.dismiss(id, dismissal, session);
      if (after) return after;
      const before = await stores.payments.byId(id, session);
      if (!before) throw notFound('payment');
      if (!before.dismissal) throw conflict('This payment needs no decision.');
      return before;
    });
    return show(deps, dismissed);
  };

const addRefund =
  (deps: PaymentServiceDeps): Service['addRefund'] =>
  async (caller, { id, transactionHash }) => {
    const { forAccount, bookByHash, commit, eventsStored } = deps;
    const { payments, refunds } = forAccount(caller.accountId);
    const payment = await payments.byId(id);
    if (!payment) throw notFound('payment');
    const booked = await refunds.ofTransaction(transactionHash);
    const own = booked.filter(({ paymentId }) => paymentId === id);
    const isNamed = own.some(({ targetId }) => targetId === null);
    // What the memo booked at other payments may belong to this one.
    if (isNamed || (own.length > 0 && own.length === booked.length)) return show(deps, payment);
    await bookByHash(payment, transactionHash, (work) => commit({ caller, subjectId: id }, work));
    eventsStored();
    return show(deps, (await payments.byId(id))!);
  };

const refund =
  (deps: PaymentServiceDeps): Service['refund'] =>
  async ({ accountId }, { id, amount, value }) => {
    const { payments, paymentLinks, checkouts } = deps.forAccount(accountId);
    const payment = await payments.byId(id);
    if (!payment) throw notFound('payment');
    const paidFor = payment.paymentLinkId
      ? await paymentLinks.byId(payment.paymentLinkId)
      : payment.checkoutId
        ? await checkouts.byId(payment.checkoutId)
        : null;
    const field = value === undefined ? 'amount' : 'value';
    const part = value === undefined ? amount : await worthNow(deps, payment, value);
    return refundRequestOf(payment, paidFor?.memo ?? null, part === undefined ? null : { field, part }, deps.payUri);
  };

interface PartAsked {
  /** The query parameter that asked for it. */
  field: 'amount' | 'value';
  /** In the asset. */
  part: string;
}

/** The payment request that refunds what is left of the payment, or a part of it. @param memo of
 *  its link or checkout
 *  @throws ApiError `conflict` when nothing is left, `bad_request` for a larger part */
function refundRequestOf(
  payment: PaymentDoc,
  memo: string | null,
  asked: PartAsked | null,
  payUri: PayUri,
): OutputOf<Contract['payments']['refund']> {
  const left = leftOf(payment);
  if (left === 0n) throw conflict(NOTHING_LEFT);
  const { network, assetCode, assetIssuer } = payment;
  const stroops = asked ? parseAmount(asked.part)! : left;
  if (asked && stroops > left)
    throw badRequest(`${asked.field}: Only ${formatAmount(left)} ${assetCode} is left of this payment.`);
  const destination = payment.senderMuxedAddress ?? payment.senderAddress;
  // Tells the payer what is refunded. Names no link or checkout, because the payer's account may be
  // a watched wallet.
  const told = memo === null ? null : `refund ${memo}`;
  const uriOf = (amount: string) =>
    isPayable(destination) ? payUri({ destination, amount, asset: assetOf(payment), memo: told, network }) : null;
  const amount = formatAmount(stroops);
  const excess = asked ? 0n : excessLeft(payment);
  const excessAmount = excess > 0n ? formatAmount(excess) : null;
  return {
    uri: uriOf(amount),
    ...{ destination, amount, assetCode, assetIssuer },
    ...{ memo: told, memoType: told === null ? null : 'MEMO_TEXT' },
    excessAmount,
    excessUri: excessAmount && uriOf(excessAmount),
  };
}

/** The excess of a COMPLETED payment less its refunds so far; may be negative. */
const excessLeft = ({ status, excessAmount, refundedAmount = '0' }: PaymentDoc): bigint =>
  status === 'COMPLETED' && excessAmount !== null ? parseAmount(excessAmount)! - parseSum(refundedAmount) : 0n;

/** The checkout with this payment accepted. @throws ApiError when the payment cannot be accepted
 *  by itself */
function takenBy(checkout: CheckoutDoc, payment: PaymentDoc, now: Date): CheckoutDoc {
  // It is a part of the excess already.
  if (isUnneeded(payment, checkout)) return checkout;
  const late = withLate(checkout, payment, now);
  if (!late) throw conflict('This payment belongs to a checkout: accept the checkout.');
  if (payment.status !== 'REJECTED') throw conflict(`This payment of a checkout is ${payment.status} already.`);
  // Counted when the checkout was accepted; it only waits for its turn to become COMPLETED.
  const isCounted = checkout.completedUpTo !== undefined && !payment.afterAcceptance;
  return isCounted ? checkout : late;
}
