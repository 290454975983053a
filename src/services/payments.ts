/** What the API does with payments: reading them, and what a merchant decides about those that were not taken. */
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import { PAYMENT_STATUSES } from '../../contracts/payments.js';
import type { Clock } from '../clock.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { ApiError, conflict, invalid, notFound, rateLimited } from '../domain/api-error.js';
import { effectsOf } from '../domain/payment-effects.js';
import { isPayable, payUri } from '../domain/sep7.js';
import type { LedgerClose } from '../domain/terms.js';
import type { Outbox, PaymentTarget } from '../events/outbox.js';
import { type Payment, toPayment } from '../resources/index.js';
import type { Database, Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentDoc, PaymentFilter } from '../stores/payments.js';
import type { AccountProducts } from '../stores/products.js';
import {
  afterAcceptance,
  judgeByCheckout,
  judgeByHistory,
  networkInForce,
  type StoredVerdict,
} from '../stores/verdict.js';
import type { ServiceOf } from './caller.js';

/** Looks a transaction up on the ledger and books what it gives back of a payment. @param targetOf what the payment belongs to */
export type BookRefund = (
  payment: PaymentDoc,
  transactionHash: string,
  targetOf: (session: Session) => Promise<PaymentTarget | null>,
) => Promise<'booked' | 'ledger_away' | keyof typeof REFUND_REFUSALS>;

const REFUND_REFUSALS = {
  no_refund:
    'This transaction is not on the ledger, or pays nothing of this payment back: from a wallet of the account to the sender, in the same asset, after the payment.',
  booked_for_another: 'This transaction is booked as the refund of another payment.',
} as const;

type ListFilter = Omit<ParsedInputOf<Contract['payments']['list']>, 'page' | 'pageSize'>;

/** What a list of payments shows unless statuses are asked for. */
export const MATCHED = PAYMENT_STATUSES.filter((status) => status !== 'UNMATCHED');

/** The list's filters as the store knows them. */
export function filterOf(query: ListFilter): PaymentFilter {
  const { status, createdFrom, createdTo, ...equal } = query;
  return {
    ...equal,
    status: status && status.length > 0 ? status : MATCHED,
    createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
    createdTo: createdTo === undefined ? undefined : new Date(createdTo),
  };
}

/** Payments with the products that they belong to, in the same order. */
export async function withProducts(
  payments: readonly PaymentDoc[],
  products: Pick<AccountProducts, 'byIds'>,
  session?: Session,
): Promise<Payment[]> {
  const ids = [...new Set(payments.flatMap((payment) => payment.productId ?? []))];
  const byId = new Map((await products.byIds(ids, session)).map((product) => [product._id, product]));
  return payments.map((payment) => toPayment(payment, byId.get(payment.productId ?? '') ?? null));
}

/** Books refunds that were read before a payment became one of its link or checkout. @returns whether there were any */
export type BookWaitingRefunds = (
  received: readonly { payment: PaymentDoc; target: PaymentTarget }[],
  session: Session,
) => Promise<boolean>;

export function createPaymentService(deps: {
  forAccount: ForAccount<'payments' | 'refunds' | 'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  /** Called when events may have been stored. */
  eventsStored: () => void;
  clock: Clock;
  bookRefund: BookRefund;
  bookWaitingRefunds: BookWaitingRefunds;
  /** Counts a look at the ledger for an account. @returns the seconds to wait, 0 when it may look */
  ledgerLimit: (accountId: string) => number;
}): ServiceOf<Contract['payments']> {
  const { forAccount, outbox, transaction, eventsStored, clock, bookRefund, bookWaitingRefunds, ledgerLimit } = deps;

  const show = async (payment: PaymentDoc) =>
    toPayment(
      payment,
      (payment.productId && (await forAccount(payment.accountId).products.byId(payment.productId))) || null,
    );

  /** Publishes what follows from a merchant's decision about a payment, and stores what it does to its link or checkout.
   *  @param target a checkout as the payment left it */
  async function applyEffects(
    { before, after, target }: { before: PaymentDoc; after: PaymentDoc; target: PaymentTarget },
    session: Session,
  ): Promise<void> {
    const { paymentLinks, checkouts, products } = forAccount(after.accountId);
    const { events, counted } = effectsOf(before, after);
    if (target.product && !target.product.hasPayments) await products.notePayments(target.product._id, session);
    if (target.link) {
      await paymentLinks.count({ id: target.link._id, ...counted }, session);
      const paymentCount = target.link.paymentCount + counted.payments;
      const link = { ...target.link, paymentCount };
      return outbox.publish(outbox.ofPayment(events, { payment: after, ...target, link }), session);
    }
    const { checkout } = target;
    await checkouts.update(checkout, session);
    const outboxEvents = outbox.ofPayment(events, { payment: after, ...target });
    if (after.status === 'COMPLETED') {
      const all = await forAccount(after.accountId).payments.ofCheckout(checkout, session);
      outboxEvents.push(outbox.ofCheckout('checkout.paid', target, all));
    }
    await outbox.publish(outboxEvents, session);
  }

  /** What a payment belongs to or is to belong to; null when it is not there. */
  async function targetOf(
    accountId: string,
    { paymentLinkId, checkoutId }: { paymentLinkId?: string | null; checkoutId?: string | null },
    session: Session,
  ): Promise<PaymentTarget | null> {
    const { paymentLinks, checkouts, products, wallets } = forAccount(accountId);
    const link = paymentLinkId ? await paymentLinks.byId(paymentLinkId, session) : null;
    const checkout = checkoutId ? await checkouts.byId(checkoutId, session) : null;
    const productId = link?.productId ?? checkout?.productId ?? null;
    const product = productId === null ? null : await products.byId(productId, session);
    const productWallet = product && (await wallets.byId(product.walletId, session));
    if (link) return product && productWallet ? { link, checkout: null, product, wallet: productWallet } : null;
    const wallet = checkout && (await wallets.byId(checkout.walletId, session));
    if (!checkout || !wallet || (productId !== null && !product)) return null;
    return { link: null, checkout, product, wallet, productWallet };
  }

  /** The target with the terms that its product had at this close, however often they were changed since. */
  async function withTermsAt(target: PaymentTarget, close: LedgerClose, session: Session): Promise<PaymentTarget> {
    const { product } = target;
    if (!product) return target;
    const { products } = forAccount(product.accountId);
    return { ...target, product: await products.withVersionsAt(product, [close], session) } as PaymentTarget;
  }

  function judge(target: PaymentTarget, payment: PaymentDoc): { verdict: StoredVerdict; target: PaymentTarget } {
    const paid = {
      ledger: payment.ledger,
      closedAt: payment.ledgerClosedAt,
      asset: { code: payment.assetCode, issuer: payment.assetIssuer },
      amount: parseAmount(payment.amount)!,
    };
    if (target.link) return { verdict: judgeByHistory(target.link, target.product, paid, paid), target };
    // What is due is due at this moment: nothing, once it was accepted.
    const { acceptedFrom = null } = target.checkout;
    const assignedTo = { ...target.checkout, acceptedFrom: null };
    const { verdict, checkout } = judgeByCheckout(assignedTo, target.product, paid, clock.now());
    return { verdict, target: { ...target, checkout: { ...checkout, acceptedFrom } } };
  }

  return {
    async list({ accountId }, { page, pageSize, ...filter }) {
      const { payments, products } = forAccount(accountId);
      const { items, meta } = await payments.list(filterOf(filter), { page, pageSize });
      return { items: await withProducts(items, products), meta };
    },

    async get({ accountId }, { id }) {
      const { payments } = forAccount(accountId);
      const payment = await payments.byId(id);
      if (!payment) throw notFound('payment');
      return show(payment);
    },

    async accept({ accountId, isRepeated }, { id }) {
      const { payments } = forAccount(accountId);
      const accepted = await transaction(async (session) => {
        const before = await payments.byId(id, session);
        if (!before) throw notFound('payment');
        if (before.checkoutId) throw conflict('This payment belongs to a checkout: accept the checkout.');
        if (isRepeated && before.status === 'COMPLETED') return before;
        const after = await payments.judge(
          id,
          ['UNDERPAID', 'REJECTED'],
          { status: 'COMPLETED', reason: null },
          session,
        );
        if (!after)
          throw conflict(`Only an UNDERPAID or REJECTED payment can be accepted; this one is ${before.status}.`);
        const target = await targetOf(accountId, after, session);
        if (!target) throw new Error(`payment ${id} has no link`);
        await applyEffects({ before, after, target }, session);
        return after;
      });
      eventsStored();
      return show(accepted);
    },

    async assign({ accountId, isRepeated }, { id, paymentLinkId, checkoutId }) {
      const { payments } = forAccount(accountId);
      const [path, what] = checkoutId ? ['checkoutId', 'checkout'] : ['paymentLinkId', 'payment link'];
      const assigned = await transaction(async (session) => {
        // The body's faults come before what the path points at.
        const found = await targetOf(accountId, { paymentLinkId, checkoutId }, session);
        if (!found) throw invalid({ path, message: `There is no such ${what}.`, code: 'not_found' });
        const before = await payments.byId(id, session);
        if (!before) throw notFound('payment');
        const isTheirs = checkoutId ? before.checkoutId === checkoutId : before.paymentLinkId === paymentLinkId;
        if (isRepeated && isTheirs) return before;
        const close = { ledger: before.ledger, closedAt: before.ledgerClosedAt };
        const asOf = await withTermsAt(found, close, session);
        const network = asOf.link ? networkInForce(asOf.product, close, asOf.wallet) : asOf.wallet.network;
        if (network !== before.network) {
          const message = `The ${what} takes payments on ${network}; this payment is on ${before.network}.`;
          throw invalid({ path, message, code: 'not_allowed' });
        }
        const { verdict, target } = judge(asOf, before);
        const after = await payments.judge(
          id,
          ['UNMATCHED'],
          {
            ...verdict,
            paymentLinkId: target.link?._id ?? null,
            checkoutId: target.checkout?._id ?? null,
            productId: target.product?._id ?? null,
            ...afterAcceptance(target),
          },
          session,
        );
        if (!after) throw conflict(`Only an UNMATCHED payment can be assigned; this one is ${before.status}.`);
        await applyEffects({ before, after, target }, session);
        const isBack = await bookWaitingRefunds([{ payment: after, target }], session);
        return isBack ? (await payments.byId(id, session))! : after;
      });
      eventsStored();
      return show(assigned);
    },

    async addRefund({ accountId }, { id, transactionHash }) {
      const { payments, refunds } = forAccount(accountId);
      const payment = await payments.byId(id);
      if (!payment) throw notFound('payment');
      const booked = await refunds.ofTransaction(transactionHash);
      if (booked.some(({ paymentId }) => paymentId === id)) return show(payment);
      const waitSeconds = ledgerLimit(accountId);
      if (waitSeconds > 0) throw rateLimited(waitSeconds);
      const outcome = await bookRefund(payment, transactionHash, (session) => targetOf(accountId, payment, session));
      if (outcome === 'ledger_away')
        throw new ApiError('unavailable', 'The ledger cannot be asked now: try again later.');
      if (outcome !== 'booked') throw conflict(REFUND_REFUSALS[outcome]);
      eventsStored();
      return show((await payments.byId(id))!);
    },

    async refund({ accountId }, { id }) {
      const { payments, paymentLinks, checkouts } = forAccount(accountId);
      const payment = await payments.byId(id);
      if (!payment) throw notFound('payment');
      const paidFor = payment.paymentLinkId
        ? await paymentLinks.byId(payment.paymentLinkId)
        : payment.checkoutId
          ? await checkouts.byId(payment.checkoutId)
          : null;
      // Tells the payer what comes back. It names no link or checkout, should the payer's account be a watched wallet itself.
      const memo = paidFor ? `refund ${paidFor.memo}` : null;
      const destination = payment.senderMuxedAddress ?? payment.senderAddress;
      const asset = { code: payment.assetCode, issuer: payment.assetIssuer };
      const { network } = payment;
      const left = parseSum(payment.amount) - parseSum(payment.refundedAmount ?? '0');
      if (left <= 0n) throw conflict('All of this payment was sent back already.');
      const amount = formatAmount(left);
      return {
        uri: isPayable(destination) ? payUri({ destination, amount, asset, memo, network }) : null,
        destination,
        amount,
        assetCode: payment.assetCode,
        assetIssuer: payment.assetIssuer,
        memo,
        memoType: memo === null ? null : 'MEMO_TEXT',
      };
    },
  };
}
