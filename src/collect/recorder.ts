/** Record: stores what was read from the ledger, matched and judged, with its events and the cursor behind it, all in one transaction. A crash
 *  leaves either nothing or everything, and whatever is read twice is stored once. */
import type { Network } from '../../contracts/networks.js';
import type { NewId } from '../domain/ids.js';
import { effectsOf } from '../domain/payment-effects.js';
import type { Outbox, OutboxEvent } from '../events/outbox.js';
import type { Credit } from '../ledger/records.js';
import type { CursorDoc, CursorStore, Progress } from '../stores/cursors.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc, PaymentStore } from '../stores/payments.js';
import type { ProductStore } from '../stores/products.js';
import type { WalletStore } from '../stores/wallets.js';
import { toPaymentDoc } from './judge.js';
import { type Match, matchCredits, type Page } from './match.js';

/** Another reader moved the cursor: what lies before it is stored, and this reader begins anew from there. */
export class CursorConflict extends Error {
  override readonly name = 'CursorConflict';
}

export interface CursorMove {
  from: CursorDoc;
  to: Progress;
}

export type Recorder = ReturnType<typeof createRecorder>;

export function createRecorder(deps: {
  wallets: WalletStore;
  paymentLinks: PaymentLinkStore;
  products: ProductStore;
  payments: PaymentStore;
  cursors: CursorStore;
  outbox: Outbox;
  transaction: Database['transaction'];
  newId: NewId;
}) {
  const { wallets, paymentLinks, payments, cursors, outbox, transaction, newId } = deps;

  /** Adds the payments to the counts of their links. @returns their events, which show each link as its payment left it */
  async function applyEffects(recorded: readonly Recorded[], session: Session): Promise<OutboxEvent[]> {
    const counts = new Map<string, { id: string; payments: number; received: number }>();
    const outboxEvents = recorded.flatMap(({ payment, target }) => {
      if (!target) return [];
      const { events, counted } = effectsOf(null, payment);
      const { _id: id, paymentCount } = target.link;
      const count = counts.get(id) ?? { id, payments: 0, received: 0 };
      count.payments += counted.payments;
      count.received += counted.received;
      counts.set(id, count);
      const link = { ...target.link, paymentCount: paymentCount + count.payments };
      return outbox.ofPayment(events, { payment, ...target, link });
    });
    await paymentLinks.count([...counts.values()], session);
    return outboxEvents;
  }

  function store(page: Page, move: CursorMove | null): Promise<PaymentDoc[]> {
    return transaction(async (session) => {
      const matches = await matchCredits(deps, page, session);
      const recorded = matches.map((match) => ({ ...match, payment: toPaymentDoc(page.network, match, newId) }));
      const stored = recorded.map(({ payment }) => payment);
      if (stored.length > 0) {
        await payments.insert(stored, session);
        await outbox.publish(await applyEffects(recorded, session), session);
        // Once true it stays true: wallets that have payments in this transaction's snapshot need no write.
        const first = matches.filter(({ wallet }) => !wallet.hasPayments).map(({ wallet }) => wallet._id);
        if (first.length > 0) await wallets.noteHasPayments([...new Set(first)], session);
      }
      if (move && !(await cursors.advance(move.from, move.to, session))) throw new CursorConflict();
      return stored;
    });
  }

  return {
    /** Stores the credits that concern watched wallets and moves the cursor, or does neither.
     *  @returns the payments that were not stored before
     *  @throws CursorConflict when the cursor is no longer where it was */
    async record(network: Network, credits: readonly Credit[], move: CursorMove | null): Promise<PaymentDoc[]> {
      try {
        return await store({ network, credits, mayBeKnown: false }, move);
      } catch (error) {
        // A record is seldom read twice: the unique key notices, and then what is known is left out.
        if (!payments.wereKnown(error)) throw error;
        return store({ network, credits, mayBeKnown: true }, move);
      }
    },
  };
}

interface Recorded extends Match {
  payment: PaymentDoc;
}
