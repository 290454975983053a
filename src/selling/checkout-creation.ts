/** Makes checkouts. The transaction also reads their products, and adds them to the counts of their
 *  wallets. The end of a wallet and the deletion of a product write the wallet, too: of two that
 *  meet, the later one begins again and sees the other. */

import { DEFAULT_LIFETIME_MS } from '../../contracts/checkouts.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { Act, Commit, StoreNew } from '../accounts/index.js';
import { createMemo } from '../domain/memo.js';
import { ApiError, conflict, notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { insertTogether, type Session, Taken } from '../kit/database.js';
import { byAccount } from '../kit/group-commit.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import { accountsOf, ownedBy } from '../kit/owners.js';
import { loadPayable } from '../payments/index.js';
import type { RateNeeds } from '../rates/index.js';
import type { AccountStores, ForAccount } from '../stores.js';
import type { WalletStore } from '../watching/index.js';
import type { CheckoutDoc } from './checkout-document.js';
import { type CheckoutFacts, toCheckout } from './checkout-resource.js';
import { type CheckoutTerms, inactiveWallet, termsOf, unknownProduct, unknownWallet } from './checkout-terms.js';
import { usedUp } from './coupons.js';
import { createSlug } from './payable-documents.js';
import type { ProductStore } from './product-store.js';
import { type Quotes, withQuote } from './quotes.js';

type Input = ParsedInputOf<Contract['checkouts']['create']>;

export interface CheckoutCreationDeps {
  forAccount: ForAccount<'account' | 'checkouts' | 'coupons' | 'products' | 'wallets'>;
  products: Pick<ProductStore, 'ofAccounts'>;
  wallets: Pick<WalletStore, 'countCheckouts'>;
  commit: Commit;
  clock: Clock;
  newId: NewId;
  publicUrl: string;
  quotes: Quotes;
  rateNeeds: Pick<RateNeeds, 'ofPriced'>;
}

interface Creation extends Act {
  checkout: CheckoutDoc;
}

export function createCheckoutCreation(deps: CheckoutCreationDeps): ServiceOf<Contract['checkouts']>['create'] {
  const { forAccount, commit, clock, newId, publicUrl } = deps;

  const insert = commit.inGroups<Creation, CheckoutFacts | ApiError>((creations, session, storeNew) => {
    const batch = creations.map(({ checkout }) => checkout);
    return storeAll(deps, batch, clock.now(), session, storeNew);
  });

  return async (caller, input) => {
    const { accountId, reservedId, isRepeated, user } = caller;
    const stores = forAccount(accountId);
    const _id = reservedId?.('chk') ?? newId('chk');
    const made = reservedId && (await stores.checkouts.byId(_id));
    if (made) {
      const facts = await loadPayable(stores, made);
      if (!facts) throw notFound('checkout');
      return show(deps, facts);
    }
    const terms = await termsOf(stores, input, clock.now());
    // On a retry the id carries the time of the first attempt.
    const begins = isRepeated ? clock.now() : createdAtOf(_id);
    const expiresAt = new Date(input.expiresAt ?? begins.getTime() + DEFAULT_LIFETIME_MS);
    const quote = await needRates(deps, accountId, terms, expiresAt);
    for (;;) {
      const named = { _id, accountId, slug: createSlug(clock), memo: createMemo(clock, 'checkout') };
      const checkout = { ...newCheckout(named, terms, input, expiresAt), ...(user ? { soldBy: user.id } : {}) };
      const result = await insert({ caller, subjectId: _id, checkout }).catch((error: unknown) => {
        if (error instanceof Taken) return null;
        throw error;
      });
      if (result === null) continue;
      if (result instanceof ApiError) throw result;
      const shown = toCheckout(result, publicUrl);
      return quote ? withQuote(shown, quote) : shown;
    }
  };
}

/** Stores checkouts with what they take.
 *  @param storeNew by default without activity
 *  @returns each as stored, or why it is not
 *  @throws Taken when a memo or slug is, ApiError when a product or wallet is gone */
export async function storeAll(
  { forAccount, products, wallets }: Pick<CheckoutCreationDeps, 'forAccount' | 'products' | 'wallets'>,
  batch: readonly CheckoutDoc[],
  now: Date,
  session: Session,
  storeNew: StoreNew = (inserts) => insertTogether(inserts, session),
): Promise<(CheckoutFacts | ApiError)[]> {
  const results: (CheckoutDoc | ApiError)[] = [];
  for (const checkout of batch) {
    results.push(await holding(forAccount(checkout.accountId).checkouts, checkout, now, session));
  }
  const made = results.flatMap((result) => (result instanceof ApiError ? [] : result));
  await storeNew(
    byAccount(made).flatMap(([accountId, own]) => forAccount(accountId).checkouts.insertsOf(own)),
    results,
  );
  const productIds = new Set(made.flatMap(({ productId }) => productId ?? []));
  const sold = await products.ofAccounts(accountsOf(made), [...productIds], session);
  const productById = new Map(sold.map((product) => [product._id, product]));
  // Last, because all processes write these documents, and the later of two must retry.
  const counted = await wallets.countCheckouts(made, session);
  const facts = new Map<CheckoutDoc, CheckoutFacts>();
  for (const [index, checkout] of made.entries()) {
    const { accountId, productId, walletId } = checkout;
    const product = productId === null ? null : ownedBy(accountId, productById.get(productId));
    if (productId !== null && !product) throw unknownProduct();
    const wallet = counted[index];
    if (!wallet) {
      throw (await forAccount(accountId).wallets.byId(walletId, session)) ? inactiveWallet() : unknownWallet();
    }
    facts.set(checkout, { checkout, product, wallet });
  }
  return results.map((result) => (result instanceof ApiError ? result : facts.get(result)!));
}

/** The checkout with what it takes, or why there is too little of it. */
async function holding(
  checkouts: Pick<AccountStores['checkouts'], 'take'>,
  checkout: CheckoutDoc,
  now: Date,
  session: Session,
): Promise<CheckoutDoc | ApiError> {
  if (!checkout.takes) return checkout;
  const taken = await checkouts.take(checkout.takes, now, session);
  if (taken === 'link') return linkClosed();
  if (taken === 'coupon') return usedUp();
  if ('holds' in taken) return { ...checkout, ...taken };
  const { name } = checkout.lines.find((line) => line.productId === taken.productId)!;
  return conflict(`Not enough pieces of “${name}” are left.`);
}

export const linkClosed = () => conflict('This link takes no more orders.');

/** As the API shows it. */
export const show = async (
  { quotes, publicUrl }: Pick<CheckoutCreationDeps, 'quotes' | 'publicUrl'>,
  facts: CheckoutFacts,
) => (await quotes.checkouts(facts.checkout.accountId, [toCheckout(facts, publicUrl)]))[0]!;

/** Has the rates sampled that the checkout needs until its end. @returns the current quote; null
 *  for a price in the asset. @throws ApiError `conflict` when a price in a currency has no rate at
 *  the moment */
export async function needRates(
  { forAccount, rateNeeds, quotes }: Pick<CheckoutCreationDeps, 'forAccount' | 'rateNeeds' | 'quotes'>,
  accountId: string,
  terms: CheckoutTerms,
  until: Date,
) {
  const { currency, productId, walletId, assetIssuer, price } = terms;
  // A product's rates for the books are already sampled.
  if (!currency && (productId !== null || assetIssuer === null)) return null;
  const wallet = await forAccount(accountId).wallets.byId(walletId);
  if (!wallet) return null;
  const isSampled = await rateNeeds.ofPriced(accountId, terms, wallet.network, until);
  return currency ? quotes.one(accountId, { ...terms, currency }, wallet.network, price!, isSampled) : null;
}

/** A new checkout. */
export function newCheckout(
  named: Pick<CheckoutDoc, '_id' | 'accountId' | 'slug' | 'memo'>,
  terms: CheckoutTerms,
  { reference, metadata, customerEmail, language, successUrl, cancelUrl }: Input,
  expiresAt: Date,
): CheckoutDoc {
  return {
    ...named,
    ...terms,
    reference: reference ?? null,
    metadata: JSON.stringify(metadata ?? {}),
    ...(customerEmail ? { customerEmail } : {}),
    ...(language ? { language } : {}),
    successUrl: successUrl ?? null,
    cancelUrl: cancelUrl ?? null,
    status: 'OPEN',
    received: '0',
    paymentCount: 0,
    expiresAt,
    expiryCheckAt: expiresAt,
    cancelledFrom: null,
    acceptedFrom: null,
    paidAt: null,
    closedAt: null,
    createdAt: createdAtOf(named._id),
  };
}
