/** A payable: a link or checkout that money can come for, with its product and wallet. Its memo and
 *  slug are unique over all accounts. */

import type { Network } from '../../contracts/networks.js';
import { type Pair, pairKey } from '../domain/rate.js';
import { type LedgerClose, mayBeInForce } from '../domain/terms.js';
import type { Session } from '../kit/database.js';
import { isCheckoutId } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import type {
  CheckoutDoc,
  CheckoutStore,
  PayableNameStore,
  PaymentLinkDoc,
  PaymentLinkStore,
  ProductDoc,
  ProductStore,
} from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import type { WalletDoc, WalletStore } from '../watching/index.js';

export type Payable = LinkPayable | CheckoutPayable;

export interface LinkPayable {
  link: PaymentLinkDoc;
  checkout: null;
  product: ProductDoc;
  /** The product's current wallet: a payment may have gone to an earlier one. */
  wallet: WalletDoc;
  productWallet: WalletDoc;
}

export interface CheckoutPayable {
  link: null;
  checkout: CheckoutDoc;
  /** Null for a checkout without a product. */
  product: ProductDoc | null;
  /** The checkout's wallet, which never changes. */
  wallet: WalletDoc;
  /** The product's wallet now. Null without a product. */
  productWallet: WalletDoc | null;
}

type PayableOf<Doc> = Doc extends CheckoutDoc ? CheckoutPayable : LinkPayable;

/** Stores of products and wallets: `stores.forAccount(id)`, or
 *  `ofAllAccounts(stores.system, docs)`. */
interface PayableStores {
  products: { byIds(ids: readonly string[], session?: Session): Promise<ProductDoc[]> };
  wallets: { byIds(ids: readonly string[], session?: Session): Promise<WalletDoc[]> };
}

export interface SystemPayables {
  products: Pick<ProductStore, 'ofAccounts' | 'withVersionsAt'>;
  wallets: Pick<WalletStore, 'ofAllAccounts'>;
  payableNames: PayableNameStore;
  paymentLinks: Pick<PaymentLinkStore, 'ofAccounts'>;
  checkouts: Pick<CheckoutStore, 'ofAccounts'>;
}

/** @param owned documents of the accounts to search */
export const ofAllAccounts = (
  { products, wallets }: Pick<SystemPayables, 'products' | 'wallets'>,
  owned: readonly { accountId: string }[],
): PayableStores => ({
  products: { byIds: (ids, session) => products.ofAccounts(accountsOf(owned), ids, session) },
  wallets: { byIds: wallets.ofAllAccounts },
});

/** In the order given. Leaves out payables whose product or wallet is gone: they count as
 *  gone, too. */
export async function loadPayables<Doc extends PaymentLinkDoc | CheckoutDoc>(
  { products, wallets }: PayableStores,
  docs: readonly Doc[],
  session?: Session,
): Promise<PayableOf<Doc>[]> {
  const sold = mapOf(products, docs.map(productIdOf), session);
  // Sequential, because a transaction allows one operation at a time.
  if (session) await sold;
  const used = mapOf(wallets, docs.map(walletIdOf), session);
  const [productById, walletById] = await Promise.all([sold, used]);
  const others = [...productById.values()].map(({ walletId }) => walletId).filter((id) => !walletById.has(id));
  for (const [id, wallet] of await mapOf(wallets, others, session)) walletById.set(id, wallet);
  return docs.flatMap((doc) => {
    const product = productById.get(doc.productId ?? '') ?? null;
    const productWallet = (product && walletById.get(product.walletId)) ?? null;
    const wallet = isCheckout(doc) ? walletById.get(doc.walletId) : productWallet;
    if (!wallet || (doc.productId !== null && !product)) return [];
    const [link, checkout] = isCheckout(doc) ? [null, doc] : [doc, null];
    return [{ link, checkout, product, wallet, productWallet } as PayableOf<Doc>];
  });
}

/** Null when it is gone. */
export async function loadPayable<Doc extends PaymentLinkDoc | CheckoutDoc>(
  stores: PayableStores,
  doc: Doc | null,
  session?: Session,
): Promise<PayableOf<Doc> | null> {
  const [payable = null] = doc ? await loadPayables(stores, [doc], session) : [];
  return payable;
}

/** The payable of a payment, current or intended; null for none, or one that is gone. */
export async function payableOf(
  stores: ReturnType<ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>>,
  { paymentLinkId, checkoutId }: { paymentLinkId?: string | null; checkoutId?: string | null },
  session: Session,
): Promise<Payable | null> {
  if (paymentLinkId) return loadPayable(stores, await stores.paymentLinks.byId(paymentLinkId, session), session);
  return checkoutId ? loadPayable(stores, await stores.checkouts.byId(checkoutId, session), session) : null;
}

/** A memo that a transaction names. */
interface NamedMemo {
  memo: string;
  /** Close of the ledger with the memo. */
  close: LedgerClose;
  /** The account whose wallet the transaction concerns. */
  accountId: string;
}

/** Payables by memo, each with the terms that its product had when it was named. */
export async function payablesByMemo(
  stores: SystemPayables,
  named: readonly NamedMemo[],
  session: Session,
): Promise<Map<string, Payable>> {
  const closes = new Map<string, LedgerClose[]>();
  for (const { memo, close } of named) closes.set(memo, [...(closes.get(memo) ?? []), close]);
  if (closes.size === 0) return new Map();
  const names = await stores.payableNames.byMemos([...closes.keys()], session);
  const ids = names.map(({ payableId }) => payableId);
  const linkIds = ids.filter((id) => !isCheckoutId(id));
  const links = await stores.paymentLinks.ofAccounts(accountsOf(names), linkIds, session);
  const checkouts = await stores.checkouts.ofAccounts(accountsOf(names), ids.filter(isCheckoutId), session);
  const docs = [...links, ...checkouts];
  const found = new Map<string, Payable>();
  for (const payable of await loadPayables<PaymentLinkDoc | CheckoutDoc>(ofAllAccounts(stores, docs), docs, session)) {
    const { memo } = paidFor(payable);
    found.set(memo, await withTermsAt(stores.products, payable, closes.get(memo)!, session));
  }
  return found;
}

/** With the terms that its product had at these closes, including archived ones. */
export async function withTermsAt(
  products: Pick<ProductStore, 'withVersionsAt'>,
  payable: Payable,
  closes: readonly LedgerClose[],
  session: Session,
): Promise<Payable> {
  if (!payable.product?.archived) return payable;
  return { ...payable, product: await products.withVersionsAt(payable.product, closes, session) };
}

export const paidFor = ({ link, checkout }: Payable): PaymentLinkDoc | CheckoutDoc => link ?? checkout;

/** Its network when the ledger closed. A checkout stays with its wallet; a link's product may have
 *  had another one. */
export const networksOf = ({ link, product, wallet }: Payable, close: LedgerClose): Network[] =>
  link
    ? mayBeInForce(
        product.history.map(({ from, network }) => ({ from, terms: network })),
        close,
      )
    : [wallet.network];

/** The pairs that its price may have been in when the ledger closed; empty if priced in
 *  its asset. */
export function pairsOf({ link, checkout, product, wallet }: Payable, close: LedgerClose): Pair[] {
  const priced = link
    ? mayBeInForce(
        product.history.map(({ from, terms, network }) => ({ from, terms: { ...terms, network } })),
        close,
      )
    : [{ ...checkout, network: wallet.network }];
  const pairs = priced.flatMap(({ currency, assetCode: code, assetIssuer: issuer, network }) =>
    currency ? [{ currency, asset: { code, issuer }, network }] : [],
  );
  return link ? [...new Map(pairs.map((pair) => [pairKey(pair), pair])).values()] : pairs;
}

const isCheckout = (doc: PaymentLinkDoc | CheckoutDoc): doc is CheckoutDoc => 'expiresAt' in doc;
const productIdOf = ({ productId }: PaymentLinkDoc | CheckoutDoc) => productId ?? [];
const walletIdOf = (doc: PaymentLinkDoc | CheckoutDoc) => (isCheckout(doc) ? doc.walletId : []);

async function mapOf<Doc extends { _id: string }>(
  store: { byIds(ids: readonly string[], session?: Session): Promise<Doc[]> },
  ids: readonly (string | readonly string[])[],
  session: Session | undefined,
): Promise<Map<string, Doc>> {
  const asked = [...new Set(ids.flat())];
  if (asked.length === 0) return new Map();
  return new Map((await store.byIds(asked, session)).map((doc) => [doc._id, doc]));
}
