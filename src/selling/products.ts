/** Products in the API. */

import type { Contract } from '../../contracts/index.js';
import { productFieldErrors } from '../../contracts/products.js';
import type { Act, Commit } from '../accounts/index.js';
import type { LedgerStamper } from '../asking/index.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { canonicalPercent } from '../domain/order.js';
import { conflict, invalid, NO_SUCH, notFound, withChanges } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { byAccount } from '../kit/group-commit.js';
import type { NewId } from '../kit/ids.js';
import { pageOf } from '../kit/paging.js';
import { foldText } from '../kit/text-search.js';
import type { RateNeeds } from '../rates/index.js';
import type { ForAccount } from '../stores.js';
import type { WalletDoc, WalletStore } from '../watching/index.js';
import { toProduct } from './checkout-resource.js';
import {
  type ProductDoc,
  type ProductVersion,
  type StoredTerms,
  type WithWallet,
  withWallet,
  withWallets,
} from './product-document.js';
import type { Quotes } from './quotes.js';

const TERMS = [
  'active',
  'assetCode',
  'assetIssuer',
  'priceType',
  'price',
  'minAmount',
  'currency',
  'tolerancePercent',
] as const satisfies (keyof StoredTerms)[];

const termsOf = ({
  active,
  assetCode,
  assetIssuer,
  priceType,
  price,
  minAmount,
  currency = null,
  tolerancePercent,
}: StoredTerms): StoredTerms => ({
  active,
  assetCode,
  assetIssuer,
  priceType,
  price,
  minAmount,
  currency,
  tolerancePercent,
});

/** `"10.50"` → `"10.5"`; already validated. */
const canonical = (amount: string | null | undefined): string | null =>
  amount === null || amount === undefined ? null : formatAmount(parseAmount(amount)!);

function merge(before: ProductDoc, given: Partial<ProductDoc>): ProductDoc {
  const merged = withChanges(before, given, productFieldErrors);
  const { name, price, minAmount, tolerancePercent } = merged;
  return {
    ...merged,
    nameKey: foldText(name),
    ...{ price: canonical(price), minAmount: canonical(minAmount) },
    tolerancePercent: canonicalPercent(tolerancePercent),
  };
}

const pick = <T extends object>(from: T, names: readonly string[]): Partial<T> =>
  Object.fromEntries(names.map((name) => [name, from[name as keyof T]])) as Partial<T>;

interface Creation extends Act {
  product: ProductDoc;
}

const unknownWallet = () => invalid(NO_SUCH.wallet);

type Service = ServiceOf<Contract['products']>;

interface ProductServiceDeps {
  forAccount: ForAccount<'account' | 'products' | 'wallets'>;
  wallets: Pick<WalletStore, 'countProducts'>;
  /** Removes a batch of links and checkouts of a deleted product. */
  removeLeftovers: (accountId: string, productId: string) => Promise<unknown>;
  commit: Commit;
  stamper: LedgerStamper;
  clock: Clock;
  newId: NewId;
  quotes: Quotes;
  rateNeeds: Pick<RateNeeds, 'ofPriced'>;
}

export function createProductService(deps: ProductServiceDeps): Service {
  const { forAccount, commit, clock, newId, rateNeeds } = deps;

  const insert = commit.inGroups<Creation, null>(async (creations, session, storeNew) => {
    const products = creations.map(({ product }) => product);
    await storeNew(
      byAccount(products).flatMap(([accountId, batch]) => forAccount(accountId).products.insertsOf(batch)),
    );
    // Last, because all processes write these documents, and the later of two must retry.
    const counts = products.map(({ accountId, walletId }) => ({ accountId, walletId, added: 1 }));
    if ((await deps.wallets.countProducts(counts, session)).includes(null)) throw unknownWallet();
    return creations.map(() => null);
  });

  return {
    async create(caller, input) {
      const { accountId, reservedId } = caller;
      const { account, wallets } = forAccount(accountId);
      const _id = reservedId?.('prod') ?? newId('prod');
      const made = reservedId && (await find(deps, accountId, _id));
      if (made) return show(deps, made.product, made.wallet);
      const [wallet, own] = await Promise.all([
        wallets.byId(input.walletId),
        input.tolerancePercent === undefined ? account.get() : null,
      ]);
      if (!wallet) throw unknownWallet();
      const terms: StoredTerms = {
        active: input.active,
        assetCode: input.assetCode,
        assetIssuer: input.assetIssuer ?? null,
        priceType: input.priceType,
        price: canonical(input.price),
        minAmount: canonical(input.minAmount),
        currency: input.currency ?? null,
        tolerancePercent: canonicalPercent(input.tolerancePercent ?? own?.tolerancePercent ?? '0'),
      };
      const product: ProductDoc = {
        _id,
        accountId,
        name: input.name,
        nameKey: foldText(input.name),
        description: input.description ?? null,
        imageUrl: input.imageUrl ?? null,
        walletId: wallet._id,
        stock: input.stock ?? null,
        ...terms,
        history: [{ from: null, terms, network: wallet.network }],
        paymentLinkCount: 0,
        plainLinkCount: 0,
        revision: 0,
        createdAt: clock.now(),
      };
      await rateNeeds.ofPriced(accountId, product, wallet.network);
      await insert({ caller, subjectId: _id, product });
      return show(deps, product, wallet);
    },
    list: list(deps),
    get: read(deps),
    update: update(deps),
    delete: remove(deps),
  };
}

const show = async ({ quotes }: ProductServiceDeps, product: Omit<ProductDoc, 'history'>, wallet: WalletDoc) =>
  (await quotes.products(product.accountId, [toProduct(product, wallet)]))[0]!;

/** The product as it is now, with its wallet. Null when it is gone. */
async function find({ forAccount }: ProductServiceDeps, accountId: string, id: string): Promise<WithWallet | null> {
  const stores = forAccount(accountId);
  const product = await stores.products.byId(id);
  return product && withWallet(product, stores);
}

/** The new version of the terms; null when they do not change. */
async function versionOf(
  { stamper }: ProductServiceDeps,
  before: ProductDoc,
  after: ProductDoc,
  oldWallet: WalletDoc,
  wallet: WalletDoc,
) {
  const moves = wallet.network !== oldWallet.network;
  if (!moves && TERMS.every((name) => (after[name] ?? null) === (before[name] ?? null))) return null;
  const stamp = await stamper.stamp(oldWallet.network);
  // Ledger numbers do not carry over to another network: only the time counts.
  return { from: moves ? { ...stamp, ledger: null } : stamp, terms: termsOf(after), network: wallet.network };
}

/** Null when another request changed the product since `before` was read; nothing is
 *  stored then. */
const change = (
  { commit, forAccount, wallets }: ProductServiceDeps,
  caller: Caller,
  before: ProductDoc,
  fields: Partial<ProductDoc>,
  { version, movesTo, stockChange }: { version: ProductVersion | null; movesTo: string | null; stockChange: number },
): Promise<ProductDoc | null> =>
  commit({ caller, subjectId: before._id }, async (session) => {
    const { accountId } = before;
    const { products } = forAccount(accountId);
    const after = await products.change(before, fields, version, session);
    // A plain link cannot hold pieces for its payers.
    if (after && fields.stock != null && after.plainLinkCount > 0)
      throw conflict(
        'This product has plain payment links, which cannot keep to a stock: make them order links, or delete them first.',
      );
    const request = caller.reservedId?.('prod') ?? null;
    // Also by another process that took the request over while this one was slow, not dead.
    const isChanged = request !== null && after?.stockChanges?.includes(request);
    if (after && stockChange !== 0 && !isChanged) {
      const changed = await products.changeStock(before._id, stockChange, request, session);
      if (!changed) throw conflict(stockRefusal(after.stock, stockChange));
      after.stock = changed.stock;
    }
    if (after && movesTo !== null) {
      const moves = [
        { accountId, walletId: movesTo, added: 1 },
        { accountId, walletId: before.walletId, added: -1 },
      ];
      const [target] = await wallets.countProducts(moves, session);
      if (!target) throw unknownWallet();
    }
    return after;
  });

const stockRefusal = (stock: number | null, by: number): string =>
  stock === null
    ? 'This product has no stock: set one first.'
    : `The stock is ${stock}: it cannot be changed by ${by}.`;

const list =
  ({ forAccount, quotes }: ProductServiceDeps): Service['list'] =>
  async (caller, input) => {
    const { accountId } = caller;
    const stores = forAccount(accountId);
    const { items, meta } = await stores.products.list(input, pageOf(caller, input));
    const found = await withWallets(items, stores);
    const shown = found.map(({ product, wallet }) => toProduct(product, wallet));
    return { items: await quotes.products(accountId, shown), meta };
  };

const read =
  (deps: ProductServiceDeps): Service['get'] =>
  async ({ accountId }, { id }) => {
    const found = await find(deps, accountId, id);
    if (!found) throw notFound('product');
    return show(deps, found.product, found.wallet);
  };

const update =
  (deps: ProductServiceDeps): Service['update'] =>
  async (caller, { id, stockChange, ...changes }) => {
    const { accountId } = caller;
    const { wallets } = deps.forAccount(accountId);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    // Start over if another request changes the product between validation and storing.
    for (;;) {
      const found = await find(deps, accountId, id);
      if (!found) {
        // Report faults of the body before a missing product.
        const { walletId } = changes;
        if (walletId !== undefined && !(await wallets.byId(walletId))) throw unknownWallet();
        throw notFound('product');
      }
      const { product: before, wallet: oldWallet } = found;
      const merged = merge(before, given);
      const wallet = merged.walletId === oldWallet._id ? oldWallet : await wallets.byId(merged.walletId);
      if (!wallet) throw unknownWallet();
      await deps.rateNeeds.ofPriced(accountId, merged, wallet.network);
      const after = await change(deps, caller, before, pick(merged, [...Object.keys(given), 'nameKey']), {
        version: await versionOf(deps, before, merged, oldWallet, wallet),
        movesTo: wallet._id === oldWallet._id ? null : wallet._id,
        stockChange: Number(stockChange ?? 0),
      });
      if (after) return show(deps, after, wallet);
    }
  };

const remove =
  ({ forAccount, wallets, commit, removeLeftovers }: ProductServiceDeps): Service['delete'] =>
  async (caller, { id }) => {
    const { accountId } = caller;
    const { products } = forAccount(accountId);
    await commit({ caller, subjectId: id }, async (session) => {
      const product = await products.byId(id, session);
      if (!product) throw notFound('product');
      if (!(await products.removeUnpaid(id, session))) {
        throw conflict('This product has payments: make it inactive instead.');
      }
      await wallets.countProducts([{ accountId, walletId: product.walletId, added: -1 }], session);
    });
    // The product is already gone, and a job removes the rest.
    await removeLeftovers(accountId, id).catch(() => undefined);
    return { id, deleted: true };
  };
