/** Record: stores what was read from the ledger, matched and judged, with its events and the cursor behind it, all in one transaction. A crash
 *  leaves either nothing or everything, and whatever is read twice is stored once. */
import type { Network } from '../../contracts/networks.js';
import type { NewId } from '../domain/ids.js';
import { effectsOf } from '../domain/payment-effects.js';
import type { Outbox, OutboxEvent } from '../events/outbox.js';
import type { Credit } from '../ledger/records.js';
import type { CheckoutDoc, CheckoutStore } from '../stores/checkouts.js';
import type { CursorDoc, CursorStore, Progress } from '../stores/cursors.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc, PaymentStore } from '../stores/payments.js';
import type { ProductStore } from '../stores/products.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';
import { type Judged, judgeMatches } from './judge.js';
import { type CreditBatch, matchCredits } from './match.js';
import type { RefundBook } from './refunds.js';

/** Another reader moved the cursor. Nothing was stored; the next round reads from where the cursor is now. */
export class CursorConflict extends Error {
  override readonly name = 'CursorConflict';
}

export interface CursorMove {
  from: CursorDoc;
  to: Progress;
}

/** What was read of the ledger. */
export interface Read {
  credits: readonly Credit[];
  /** What our wallets sent with the memo of a refund. */
  refunds?: readonly Credit[];
  /** The only wallet that gets payments, and whose account gets refunds booked. */
  only?: WalletDoc;
}

export type Recorder = ReturnType<typeof createRecorder>;

export function createRecorder(deps: {
  wallets: WalletStore;
  paymentLinks: PaymentLinkStore;
  checkouts: CheckoutStore;
  products: ProductStore;
  payments: PaymentStore;
  cursors: CursorStore;
  refundBook: RefundBook;
  outbox: Outbox;
  transaction: Database['transaction'];
  newId: NewId;
}) {
  const { wallets, paymentLinks, checkouts, products, payments, cursors, refundBook, outbox, transaction, newId } =
    deps;

  /** Adds the payments to the counts of their links, and stores what became of their checkouts. @returns the events, which show each link and
   *  checkout as its payment left it */
  async function applyEffects(judged: readonly Judged[], session: Session): Promise<OutboxEvent[]> {
    const counts = new Map<string, { id: string; payments: number; received: number }>();
    const orders = new Map<string, CheckoutDoc>();
    /** The new payments of each checkout, up to the one that the loop has reached. */
    const came = new Map<string, PaymentDoc[]>();
    const outboxEvents: OutboxEvent[] = [];
    for (const { payment, target, completesCheckout } of judged) {
      if (!target) continue;
      const { events, counted } = effectsOf(null, payment);
      if (target.checkout) {
        const { checkout } = target;
        orders.set(checkout._id, checkout);
        const fresh = [...(came.get(checkout._id) ?? []), payment];
        came.set(checkout._id, fresh);
        outboxEvents.push(...outbox.ofPayment(events, { payment, ...target }));
        if (completesCheckout) {
          const earlier = checkout.paymentCount > fresh.length ? await payments.ofCheckout(checkout, session) : [];
          outboxEvents.push(outbox.ofCheckout('checkout.paid', target, [...earlier, ...fresh]));
        }
        continue;
      }
      const { _id: id, paymentCount } = target.link;
      const count = counts.get(id) ?? { id, payments: 0, received: 0 };
      count.payments += counted.payments;
      count.received += counted.received;
      counts.set(id, count);
      const link = { ...target.link, paymentCount: paymentCount + count.payments };
      outboxEvents.push(...outbox.ofPayment(events, { payment, ...target, link }));
    }
    await paymentLinks.count([...counts.values()], session);
    await checkouts.update([...orders.values()], session);
    return outboxEvents;
  }

  function store(batch: CreditBatch & { refunds: readonly Credit[] }, move: CursorMove | null): Promise<PaymentDoc[]> {
    return transaction(async (session) => {
      const judged = judgeMatches(batch.network, await matchCredits(deps, batch, session), newId);
      const stored = judged.map(({ payment }) => payment);
      if (stored.length > 0) {
        const outboxEvents = await applyEffects(judged, session);
        await payments.insert(stored, session);
        await outbox.publish(outboxEvents, session);
        await noteFirstPayments(judged, session);
        const received = judged.flatMap(({ payment, target }) => (target ? [{ payment, target }] : []));
        await refundBook.bookWaiting(received, session);
      }
      await refundBook.bookSent(batch, session);
      if (move && !(await cursors.advance(move.from, move.to, session))) throw new CursorConflict();
      return stored;
    });
  }

  /** Marks wallets and products that get their first payment. The marks are never taken back, so one that is set needs no write. */
  async function noteFirstPayments(judged: readonly Judged[], session: Session): Promise<void> {
    const newWallets = judged.flatMap(({ wallet }) => (wallet.hasPayments ? [] : wallet._id));
    if (newWallets.length > 0) await wallets.noteHasPayments([...new Set(newWallets)], session);
    const newProducts = judged.flatMap(({ target }) =>
      target?.product && !target.product.hasPayments ? target.product._id : [],
    );
    if (newProducts.length > 0) await products.notePayments([...new Set(newProducts)], session);
  }

  return {
    /** Stores the credits that concern watched wallets with their events, books the refunds and moves the cursor: all of it, or nothing.
     *  @returns the payments that were not stored before
     *  @throws CursorConflict when the cursor is no longer where it was */
    async record(
      network: Network,
      { credits, refunds = [], only }: Read,
      move: CursorMove | null,
    ): Promise<PaymentDoc[]> {
      try {
        return await store({ network, credits, refunds, only, mayBeKnown: false }, move);
      } catch (error) {
        // A record is seldom read twice, so only the unique key looks for that; then once more, without what is stored.
        if (!payments.wereKnown(error)) throw error;
        return store({ network, credits, refunds, only, mayBeKnown: true }, move);
      }
    },
  };
}
