/** What the API does with payments: reading them, and what a merchant decides about those that were not taken. */
import type { Contract } from '../../contracts/index.js';
import { PAYMENT_STATUSES } from '../../contracts/payments.js';
import { parseAmount } from '../domain/amount.js';
import { conflict, invalid, notFound } from '../domain/api-error.js';
import { effectsOf } from '../domain/payment-effects.js';
import { isPayable, payUri } from '../domain/sep7.js';
import type { Outbox } from '../events/outbox.js';
import { toPayment } from '../resources/index.js';
import type { Database, Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentLinkDoc } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { ProductDoc } from '../stores/products.js';
import { judgeByHistory, networkInForce } from '../stores/verdict.js';
import type { ServiceOf } from './caller.js';

const MATCHED = PAYMENT_STATUSES.filter((status) => status !== 'UNMATCHED');

export function createPaymentService(deps: {
  forAccount: ForAccount<'payments' | 'paymentLinks' | 'products' | 'wallets'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  /** Called when events may have been stored. */
  eventsStored: () => void;
}): ServiceOf<Contract['payments']> {
  const { forAccount, outbox, transaction, eventsStored } = deps;

  const show = async (payment: PaymentDoc) =>
    toPayment(
      payment,
      (payment.productId && (await forAccount(payment.accountId).products.byId(payment.productId))) || null,
    );

  /** Publishes what follows from a merchant's decision about a payment, and counts the payment for its link. */
  async function applyEffects(before: PaymentDoc, after: PaymentDoc, session: Session): Promise<void> {
    const { paymentLinks, products, wallets } = forAccount(after.accountId);
    const { events, counted } = effectsOf(before, after);
    await paymentLinks.count({ id: after.paymentLinkId!, ...counted }, session);
    const link = (await paymentLinks.byId(after.paymentLinkId!, session)) as PaymentLinkDoc;
    const product = (await products.byId(link.productId, session)) as ProductDoc;
    const [wallet] = await wallets.byIds([product.walletId]);
    await outbox.publish(outbox.ofPayment(events, { payment: after, link, product, wallet: wallet! }), session);
  }

  return {
    async list({ accountId }, { page, pageSize, status, createdFrom, createdTo, ...filter }) {
      const { payments, products } = forAccount(accountId);
      const { items, meta } = await payments.list(
        {
          ...filter,
          status: status && status.length > 0 ? status : MATCHED,
          createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
          createdTo: createdTo === undefined ? undefined : new Date(createdTo),
        },
        { page, pageSize },
      );
      const ids = [...new Set(items.flatMap((payment) => payment.productId ?? []))];
      const productById = new Map((await products.byIds(ids)).map((product) => [product._id, product]));
      return {
        items: items.map((payment) => toPayment(payment, productById.get(payment.productId ?? '') ?? null)),
        meta,
      };
    },

    async get({ accountId }, { id }) {
      const { payments } = forAccount(accountId);
      const payment = await payments.byId(id);
      if (!payment) throw notFound('payment');
      return show(payment);
    },

    async accept({ accountId }, { id }) {
      const { payments } = forAccount(accountId);
      const accepted = await transaction(async (session) => {
        const before = await payments.byId(id, session);
        if (!before) throw notFound('payment');
        const after = await payments.judge(
          id,
          ['UNDERPAID', 'REJECTED'],
          { status: 'COMPLETED', reason: null },
          session,
        );
        if (!after)
          throw conflict(`Only an UNDERPAID or REJECTED payment can be accepted; this one is ${before.status}.`);
        await applyEffects(before, after, session);
        return after;
      });
      eventsStored();
      return show(accepted);
    },

    async assign({ accountId }, { id, paymentLinkId }) {
      const { payments, paymentLinks, products, wallets } = forAccount(accountId);
      const assigned = await transaction(async (session) => {
        // The body's faults come before what the path points at.
        const link = await paymentLinks.byId(paymentLinkId, session);
        const product = link && (await products.byId(link.productId, session));
        if (!link || !product) {
          throw invalid({ path: 'paymentLinkId', message: 'There is no such payment link.', code: 'not_found' });
        }
        const payment = await payments.byId(id, session);
        if (!payment) throw notFound('payment');
        const wallet = await wallets.byId(product.walletId);
        const close = { ledger: payment.ledger, closedAt: payment.ledgerClosedAt };
        const network = wallet && networkInForce(product, close, wallet);
        if (network !== payment.network) {
          throw invalid({
            path: 'paymentLinkId',
            message: `The link takes payments on ${network}; this payment is on ${payment.network}.`,
            code: 'not_allowed',
          });
        }
        const verdict = judgeByHistory(link, product, close, {
          asset: { code: payment.assetCode, issuer: payment.assetIssuer },
          amount: parseAmount(payment.amount)!,
        });
        const after = await payments.judge(
          id,
          ['UNMATCHED'],
          { ...verdict, paymentLinkId: link._id, productId: product._id },
          session,
        );
        if (!after) throw conflict(`Only an UNMATCHED payment can be assigned; this one is ${payment.status}.`);
        await applyEffects(payment, after, session);
        return after;
      });
      eventsStored();
      return show(assigned);
    },

    async refund({ accountId }, { id }) {
      const { payments, paymentLinks } = forAccount(accountId);
      const payment = await payments.byId(id);
      if (!payment) throw notFound('payment');
      const link = payment.paymentLinkId && (await paymentLinks.byId(payment.paymentLinkId));
      // Tells the payer what comes back. It names no link, should the payer's account be a watched wallet itself.
      const memo = link ? `refund ${link.memo}` : null;
      const destination = payment.senderMuxedAddress ?? payment.senderAddress;
      const asset = { code: payment.assetCode, issuer: payment.assetIssuer };
      const { amount, network } = payment;
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
