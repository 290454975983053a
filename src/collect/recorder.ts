/** Stores what was read from the ledger: matched, judged, with its events and deliveries, and the position behind it — all in one transaction,
 *  so that a crash leaves either nothing or everything, and whatever is read twice is stored once. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount } from '../domain/amount.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import { unmatched } from '../domain/judge.js';
import { memosNamedBy, unmatchedReason } from '../domain/memo.js';
import { isWatched } from '../domain/terms.js';
import type { Outbox, OutboxEvent } from '../events/outbox.js';
import type { Credit } from '../ledger/horizon/record.js';
import type { CursorDoc, CursorStore, Progress } from '../stores/cursors.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentLinkDoc, PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc, PaymentStore } from '../stores/payments.js';
import type { ProductDoc, ProductStore } from '../stores/products.js';
import { judgeByHistory, toStored } from '../stores/verdict.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';

/** Another reader moved the position: what it stands for is stored, and this reader begins anew from there. */
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
  const { wallets, paymentLinks, products, payments, cursors, outbox, transaction, newId } = deps;

  /** One payment for every wallet that a credit came to: accounts may share an address, and each has its own view of it. */
  async function toPayments(
    { network, credits, mayBeKnown }: { network: Network; credits: readonly Credit[]; mayBeKnown: boolean },
    session: Session,
  ) {
    const receivers = [...new Set(credits.map((credit) => credit.receiver))];
    const candidates = await wallets.at(network, receivers, session);
    const walletsByAddress = new Map<string, WalletDoc[]>(receivers.map((address) => [address, []]));
    for (const wallet of candidates) walletsByAddress.get(wallet.address)?.push(wallet);
    const due = credits.flatMap((credit) =>
      walletsByAddress
        .get(credit.receiver)!
        .filter((wallet) => isWatched(wallet.windows, credit))
        .map((wallet) => ({ wallet, credit })),
    );
    if (due.length === 0) return [];
    const known = mayBeKnown
      ? await payments.known(
          [...new Set(due.map(({ wallet }) => wallet._id))],
          [...new Set(due.map(({ credit }) => credit.operationId))],
          session,
        )
      : new Set<string>();
    const fresh = due.filter(({ wallet, credit }) => {
      const key = paymentKey(wallet, credit);
      // A page that holds a record twice is no reason to store it twice.
      return known.has(key) ? false : known.add(key);
    });
    const links = await linksNamed(
      network,
      fresh.map(({ credit }) => credit),
      session,
    );
    return fresh.map(({ wallet, credit }) => ({ wallet, ...toPayment(network, wallet, credit, links) }));
  }

  /** The links that the memos name, with all that they are judged and shown by; those of other networks left out. */
  async function linksNamed(
    network: Network,
    credits: readonly Credit[],
    session: Session,
  ): Promise<Map<string, Target>> {
    const memos = [...new Set(credits.flatMap(memosNamedBy))];
    if (memos.length === 0) return new Map();
    const links = await paymentLinks.byMemos(memos, session);
    const productById = byId(await products.ofAllAccounts([...new Set(links.map((link) => link.productId))], session));
    const walletIds = [...new Set([...productById.values()].map((product) => product.walletId))];
    const walletById = byId(await wallets.ofAllAccounts(walletIds, session));
    return new Map(
      links.flatMap((link) => {
        const product = productById.get(link.productId);
        const wallet = product && walletById.get(product.walletId);
        return product && wallet?.network === network ? [[link.memo, { link, product, wallet }] as const] : [];
      }),
    );
  }

  function toPayment(network: Network, wallet: WalletDoc, credit: Credit, links: ReadonlyMap<string, Target>) {
    // A memo of another account's link means nothing here.
    const target =
      memosNamedBy(credit)
        .map((memo) => links.get(memo))
        .find((each) => each?.link.accountId === wallet.accountId) ?? null;
    const verdict = target
      ? judgeByHistory(target.link, target.product, credit, credit)
      : toStored(unmatched(unmatchedReason(credit.memo)));
    const _id = newId('pay');
    const payment: PaymentDoc = {
      _id,
      accountId: wallet.accountId,
      walletId: wallet._id,
      network,
      operationId: credit.operationId,
      changeIndex: credit.changeIndex,
      transactionHash: credit.transactionHash,
      ledger: credit.ledger,
      ledgerClosedAt: credit.closedAt,
      receiverAddress: credit.receiver,
      senderAddress: credit.sender,
      assetCode: credit.asset.code,
      assetIssuer: credit.asset.issuer,
      amount: formatAmount(credit.amount),
      memo: credit.memo.text,
      memoType: credit.memo.type,
      destinationMuxedId: credit.destinationMuxedId,
      senderMuxedAddress: credit.senderMuxedAddress,
      ...verdict,
      paymentLinkId: target?.link._id ?? null,
      productId: target?.product._id ?? null,
      createdAt: createdAtOf(_id),
    };
    return { payment, target };
  }

  /** Counts the payments for their links, in the documents at hand too: an event shows its link as it is with its payment. */
  async function countForLinks(batch: readonly Matched[], session: Session): Promise<void> {
    const changes = new Map<string, { id: string; payments: number; received: number }>();
    for (const { payment, target } of batch) {
      const change = changes.get(target.link._id) ?? { id: target.link._id, payments: 0, received: 0 };
      change.received += 1;
      if (payment.status !== 'REJECTED') change.payments += 1;
      changes.set(change.id, change);
    }
    await paymentLinks.count([...changes.values()], session);
  }

  function toOutboxEvents(batch: readonly Matched[]): OutboxEvent[] {
    const counts = new Map<string, number>();
    return batch.flatMap(({ payment, target }) => {
      const count = (counts.get(target.link._id) ?? target.link.paymentCount) + (payment.status === 'REJECTED' ? 0 : 1);
      counts.set(target.link._id, count);
      const outboxEvent = { payment, ...target, link: { ...target.link, paymentCount: count } };
      const received: OutboxEvent = { type: 'payment.received', ...outboxEvent };
      return payment.status === 'COMPLETED'
        ? [received, { type: 'payment.completed' as const, ...outboxEvent }]
        : [received];
    });
  }

  function store(network: Network, credits: readonly Credit[], move: CursorMove | null, mayBeKnown: boolean) {
    return transaction(async (session) => {
      const batch = await toPayments({ network, credits, mayBeKnown }, session);
      if (batch.length > 0) {
        await payments.insert(
          batch.map(({ payment }) => payment),
          session,
        );
        const matched = batch.filter((each): each is Matched & { wallet: WalletDoc } => each.target !== null);
        await countForLinks(matched, session);
        await outbox.publish(toOutboxEvents(matched), session);
        // Once true it stays so: what this transaction sees needs no second writing.
        const first = batch.filter(({ wallet }) => !wallet.hasPayments).map(({ wallet }) => wallet._id);
        if (first.length > 0) await wallets.noteHasPayments([...new Set(first)], session);
      }
      if (move && !(await cursors.advance(move.from, move.to, session))) throw new CursorConflict();
      return batch.map(({ payment }) => payment);
    });
  }

  return {
    /** Stores the credits that concern wallets of ours and moves the position, or does neither.
     *  @returns the payments that were not stored before.
     *  @throws CursorConflict when the position is no longer where it was. */
    async record(network: Network, credits: readonly Credit[], move: CursorMove | null): Promise<PaymentDoc[]> {
      try {
        return await store(network, credits, move, false);
      } catch (error) {
        // Rarely is anything read twice: the unique key tells, and then what is known is left out.
        if (!payments.wereKnown(error)) throw error;
        return store(network, credits, move, true);
      }
    },
  };
}

interface Target {
  link: PaymentLinkDoc;
  product: ProductDoc;
  /** The product's wallet, which need not be the one that the payment came to. */
  wallet: WalletDoc;
}

interface Matched {
  payment: PaymentDoc;
  target: Target;
}

const byId = <Doc extends { _id: string }>(docs: readonly Doc[]): Map<string, Doc> =>
  new Map(docs.map((doc) => [doc._id, doc]));

const paymentKey = (wallet: WalletDoc, credit: Credit) =>
  `${wallet._id}:${credit.operationId}:${credit.changeIndex}:${credit.transactionHash}`;
