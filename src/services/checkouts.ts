/** What the API does with checkouts.
 *
 *  Creations do not meet in a document of their product or wallet. A creation inserts the checkout and then reads product and wallet again: if one is
 *  gone by then, it takes the checkout back, and nobody has been told of it. Whoever deletes a product removes its checkouts after the product. Whoever
 *  deletes a wallet, or makes it inactive, first clears `takesCheckouts` and then looks for checkouts; a creation that finds it cleared sets it again,
 *  which fails once the wallet is gone or inactive, and counts up `checkoutEpoch`, without which two deletions at once would hide it from each other.
 *  In any order, one of the two sees the other. */
import { checkoutEndErrors, DEFAULT_LIFETIME_MS } from '../../contracts/checkouts.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { Clock } from '../clock.js';
import { parseAmount } from '../domain/amount.js';
import { conflict, invalid, notFound } from '../domain/api-error.js';
import { accept, cancel } from '../domain/checkout.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import { createMemo } from '../domain/memo.js';
import { createSlug } from '../domain/slug.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Outbox } from '../events/outbox.js';
import { balanceOf, type CheckoutFacts, checkoutUrl, toCheckout } from '../resources/checkout.js';
import { toInstructions } from '../resources/instructions.js';
import type { CheckoutDoc, CheckoutFilter } from '../stores/checkouts.js';
import type { Database, Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { AccountProducts } from '../stores/products.js';
import { toCheckoutState, withState } from '../stores/verdict.js';
import type { AccountWallets } from '../stores/wallets.js';
import type { ServiceOf } from './caller.js';
import { inactiveWallet, termsOf, unknownProduct, unknownWallet } from './checkout-terms.js';
import { createGroupCommit } from './group-commit.js';
import type { LedgerStamper } from './ledger-stamper.js';
import { Taken } from './taken.js';

type ListFilter = Omit<ParsedInputOf<Contract['checkouts']['list']>, 'page' | 'pageSize'>;

/** The list's filters as the store knows them. */
export const filterOf = ({ createdFrom, createdTo, ...filter }: ListFilter): CheckoutFilter => ({
  ...filter,
  ...(createdFrom === undefined ? {} : { createdFrom: new Date(createdFrom) }),
  ...(createdTo === undefined ? {} : { createdTo: new Date(createdTo) }),
});

/** Checkouts with their products and wallets, in the same order. One whose product was deleted since is gone as well. */
export async function withFacts(
  checkouts: readonly CheckoutDoc[],
  { products, wallets }: { products: Pick<AccountProducts, 'byIds'>; wallets: Pick<AccountWallets, 'byIds'> },
  session?: Session,
): Promise<CheckoutFacts[]> {
  const sold = await products.byIds([...new Set(checkouts.flatMap(({ productId }) => productId ?? []))], session);
  const used = await wallets.byIds([...new Set(checkouts.map(({ walletId }) => walletId))], session);
  const productById = new Map(sold.map((product) => [product._id, product]));
  const walletById = new Map(used.map((wallet) => [wallet._id, wallet]));
  return checkouts.flatMap((checkout) => {
    const product = productById.get(checkout.productId ?? '') ?? null;
    const wallet = walletById.get(checkout.walletId);
    return wallet && (checkout.productId === null || product) ? [{ checkout, product, wallet }] : [];
  });
}

const ACCEPT_REFUSALS = {
  paid: 'This checkout is PAID already.',
  nothing: 'No money in the right asset has come for this checkout.',
} as const;

export function createCheckoutService(deps: {
  forAccount: ForAccount<'checkouts' | 'products' | 'wallets' | 'payments'>;
  paymentLinks: Pick<PaymentLinkStore, 'hasMemo'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  stamper: LedgerStamper;
  clock: Clock;
  newId: NewId;
  publicUrl: string;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}): ServiceOf<Contract['checkouts']> {
  const { forAccount, paymentLinks, outbox, transaction, stamper, clock, newId, publicUrl, eventsStored } = deps;

  /** Null when the product or wallet is gone: then the checkout is gone, too. */
  async function factsOf(checkout: CheckoutDoc): Promise<CheckoutFacts | null> {
    const { products, wallets } = forAccount(checkout.accountId);
    const [product, wallet] = await Promise.all([
      checkout.productId === null ? null : products.byId(checkout.productId),
      wallets.byId(checkout.walletId),
    ]);
    return wallet && (product || checkout.productId === null) ? { checkout, product, wallet } : null;
  }

  async function find(accountId: string, id: string): Promise<CheckoutFacts> {
    const checkout = await forAccount(accountId).checkouts.byId(id);
    const facts = checkout && (await factsOf(checkout));
    if (!facts) throw notFound('checkout');
    return facts;
  }

  /** Makes sure that product and wallet are still there, now that the checkout is stored. @throws ApiError after the checkout was taken back */
  async function confirm(checkout: CheckoutDoc): Promise<CheckoutFacts> {
    const { checkouts, products, wallets } = forAccount(checkout.accountId);
    const [product, wallet] = await Promise.all([
      checkout.productId === null ? null : products.byId(checkout.productId),
      wallets.byId(checkout.walletId),
    ]);
    const confirmed = wallet?.active && !wallet.takesCheckouts ? await wallets.takeCheckouts(wallet._id) : wallet;
    if (confirmed?.active && (product || checkout.productId === null)) return { checkout, product, wallet: confirmed };
    await transaction((session) => checkouts.removeUnpaid([checkout._id], session));
    if (!product && checkout.productId !== null) throw unknownProduct();
    throw wallet ? inactiveWallet() : unknownWallet();
  }

  /** Checkouts of an account that are made side by side are made together: they meet in the count of their list. */
  const insert = createGroupCommit<CheckoutDoc, null>((batch) =>
    transaction(async (session) => {
      if (!(await forAccount(batch[0]!.accountId).checkouts.insert(batch, session))) throw new Taken();
      return batch.map(() => null);
    }),
  );

  async function drawMemo(): Promise<string> {
    for (;;) {
      const memo = createMemo(clock, 'checkout');
      if (!(await paymentLinks.hasMemo(memo))) return memo;
    }
  }

  /** What the acceptance of a checkout makes of it and of its payments.
   *  @returns `isPart`: there are more payments than were looked at */
  async function acceptanceOf(before: CheckoutDoc, from: LedgerStamp, session: Session) {
    const { payments } = forAccount(before.accountId);
    const came = (await payments.ofCheckout(before, session)).map((payment) => ({
      payment,
      asset: { code: payment.assetCode, issuer: payment.assetIssuer },
      amount: parseAmount(payment.amount)!,
    }));
    // What is looked at may be a part of very many payments; the sum never is.
    const isPart = before.paymentCount > came.length;
    const total = isPart ? await payments.sumOfCheckout(before, session) : null;
    const now = clock.now();
    const result = accept(toCheckoutState(before), came, from, now, total);
    if (result.outcome === 'refused') throw conflict(ACCEPT_REFUSALS[result.because]);
    const taken = new Set(result.payments.map(({ payment }) => payment._id));
    const all = came.map(({ payment }) =>
      taken.has(payment._id) ? { ...payment, status: 'COMPLETED' as const, reason: null } : payment,
    );
    const completed = all.filter(({ _id }) => taken.has(_id));
    return { checkout: withState(before, result.after, now), completed, all, isPart };
  }

  return {
    async create({ accountId, reservedId, isRepeated }, input) {
      const { checkouts } = forAccount(accountId);
      const _id = reservedId?.('chk') ?? newId('chk');
      const made = reservedId && (await checkouts.byId(_id));
      if (made) {
        // Only one that nobody has paid or ended can still be taken back.
        const isFresh = made.status === 'OPEN' && made.paymentCount === 0;
        const facts = isFresh ? await confirm(made) : await factsOf(made);
        if (!facts) throw notFound('checkout');
        return toCheckout(facts, publicUrl);
      }
      const [fault] = checkoutEndErrors(input, { now: clock.now() });
      if (fault) throw invalid(fault);
      const terms = await termsOf(forAccount(accountId), input);
      const createdAt = createdAtOf(_id);
      // Its id is as old as the first run of the request.
      const begins = isRepeated ? clock.now() : createdAt;
      const expiresAt = new Date(input.expiresAt ?? begins.getTime() + DEFAULT_LIFETIME_MS);
      for (;;) {
        const checkout: CheckoutDoc = {
          _id,
          accountId,
          ...terms,
          slug: createSlug(clock),
          memo: await drawMemo(),
          reference: input.reference ?? null,
          metadata: JSON.stringify(input.metadata ?? {}),
          successUrl: input.successUrl ?? null,
          cancelUrl: input.cancelUrl ?? null,
          status: 'OPEN',
          received: '0',
          paymentCount: 0,
          expiresAt,
          expiryCheckAt: expiresAt,
          cancelledFrom: null,
          acceptedFrom: null,
          paidAt: null,
          closedAt: null,
          createdAt,
        };
        try {
          await insert(accountId, checkout);
        } catch (error) {
          if (error instanceof Taken) continue;
          throw error;
        }
        return toCheckout(await confirm(checkout), publicUrl);
      }
    },

    async list({ accountId }, { page, pageSize, ...filter }) {
      const { items, meta } = await forAccount(accountId).checkouts.list(filterOf(filter), { page, pageSize });
      const all = await withFacts(items, forAccount(accountId));
      return { items: all.map((facts) => toCheckout(facts, publicUrl)), meta };
    },

    async get({ accountId }, { id }) {
      return toCheckout(await find(accountId, id), publicUrl);
    },

    async instructions({ accountId }, { id }) {
      const { checkout, product, wallet } = await find(accountId, id);
      if (checkout.status !== 'OPEN') throw conflict(`This checkout is ${checkout.status}.`);
      if (checkout.expiresAt <= clock.now()) throw conflict('This checkout has ended.');
      if (product && !product.active) throw conflict('The product of this checkout is inactive.');
      return toInstructions({
        address: wallet.address,
        network: wallet.network,
        memo: checkout.memo,
        asset: { code: checkout.assetCode, issuer: checkout.assetIssuer },
        amount: balanceOf(checkout).remainingAmount,
        pageUrl: checkoutUrl(publicUrl, checkout.slug),
      });
    },

    async cancel({ accountId }, { id }) {
      const { checkouts } = forAccount(accountId);
      const facts = await find(accountId, id);
      const from = facts.checkout.status === 'OPEN' ? await stamper.stamp(facts.wallet.network) : null;
      const checkout = await transaction(async (session) => {
        const before = await checkouts.byId(id, session);
        if (!before) throw notFound('checkout');
        const result = cancel(toCheckoutState(before), from ?? { at: clock.now(), ledger: null });
        if (result.outcome === 'refused')
          throw conflict(`Only an OPEN checkout can be cancelled; this one is ${before.status}.`);
        if (result.outcome === 'unchanged') return before;
        const after = withState(before, result.after, clock.now());
        await checkouts.update(after, session);
        return after;
      });
      return toCheckout({ ...facts, checkout }, publicUrl);
    },

    async accept({ accountId, isRepeated }, { id }) {
      const { checkouts, payments, wallets } = forAccount(accountId);
      const found = await find(accountId, id);
      const isPaid = found.checkout.status === 'PAID';
      if (isRepeated && isPaid) return toCheckout(found, publicUrl);
      // Before the transaction, which may run more than once.
      const from = isPaid ? { at: clock.now(), ledger: null } : await stamper.stamp(found.wallet.network);
      const accepted = await transaction(async (session) => {
        const before = await checkouts.byId(id, session);
        const [facts] = before ? await withFacts([before], forAccount(accountId), session) : [];
        if (!facts) throw notFound('checkout');
        const { checkout, completed, all, isPart } = await acceptanceOf(facts.checkout, from, session);
        await checkouts.update(checkout, session);
        if (isPart) await checkouts.leaveToComplete(id, session);
        await payments.complete(
          completed.map(({ _id }) => _id),
          session,
        );
        const { product, wallet } = facts;
        const productWallet = product && (await wallets.byId(product.walletId, session));
        const target = { link: null, checkout, product, wallet, productWallet };
        await outbox.publish(
          [
            ...completed.flatMap((payment) => outbox.ofPayment(['payment.completed'], { payment, ...target })),
            outbox.ofCheckout('checkout.paid', target, all),
          ],
          session,
        );
        return target;
      });
      eventsStored();
      return toCheckout(accepted, publicUrl);
    },
  };
}
