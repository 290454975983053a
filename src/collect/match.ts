/** Match: which wallets a credit came to, and which link or checkout its memo names. */
import type { Network } from '../../contracts/networks.js';
import { memosNamedBy } from '../domain/memo.js';
import { isWatched, type LedgerClose } from '../domain/terms.js';
import type { PaymentTarget } from '../events/outbox.js';
import type { Credit } from '../ledger/records.js';
import type { CheckoutStore } from '../stores/checkouts.js';
import type { Session } from '../stores/database.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentStore } from '../stores/payments.js';
import type { ProductStore } from '../stores/products.js';
import { networkInForce } from '../stores/verdict.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';

/** A credit to a wallet. Accounts may share an address: each of their wallets has a match of its own. */
export interface Match {
  credit: Credit;
  wallet: WalletDoc;
  /** Null when the memo names no link or checkout of the wallet's account. */
  target: PaymentTarget | null;
}

export interface MatchDeps {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts'>;
  paymentLinks: Pick<PaymentLinkStore, 'byMemos'>;
  checkouts: Pick<CheckoutStore, 'byMemos'>;
  products: Pick<ProductStore, 'ofAllAccounts' | 'withVersionsAt'>;
  payments: Pick<PaymentStore, 'known'>;
}

/** Credits to match: of one page or of several. */
export interface CreditBatch {
  network: Network;
  credits: readonly Credit[];
  /** Leave out what is stored already, at the cost of a query. */
  mayBeKnown: boolean;
  /** The only wallet that may get payments: its tenant named the source, whose records must not reach other tenants at the same address. */
  only?: WalletDoc | undefined;
}

/** In the order of the credits. */
export async function matchCredits(deps: MatchDeps, batch: CreditBatch, session: Session): Promise<Match[]> {
  const due = await receiversOf(deps, batch, session);
  if (due.length === 0) return [];
  const known = batch.mayBeKnown ? await knownKeys(deps, due, session) : new Set<string>();
  const fresh = due.filter(({ wallet, credit }) => {
    const key = keyOf(wallet, credit);
    // A batch may hold a record twice.
    return known.has(key) ? false : known.add(key);
  });
  const named = fresh.flatMap(({ credit }) => memosNamedBy(credit).map((memo) => ({ memo, close: credit })));
  const targets = await targetsOf(deps, named, session);
  return fresh.map(({ wallet, credit }) => {
    const meant = memosNamedBy(credit).map((memo) => targets.get(memo));
    // A memo of another account's link means nothing here, nor one of a link that took payments on another network at the time.
    const isMeant = (target: PaymentTarget) =>
      (target.link ?? target.checkout).accountId === wallet.accountId && networkOf(target, credit) === batch.network;
    return { wallet, credit, target: meant.find((each) => each && isMeant(each)) ?? null };
  });
}

/** A checkout stays with its wallet; the product of a link may have had another one. */
export const networkOf = (target: PaymentTarget, close: LedgerClose): Network =>
  target.link ? networkInForce(target.product, close, target.wallet) : target.wallet.network;

type Receipt = Pick<Match, 'wallet' | 'credit'>;

/** The wallets that watched the credit's address when its ledger closed. */
async function receiversOf(
  { wallets }: MatchDeps,
  { network, credits, only }: CreditBatch,
  session: Session,
): Promise<Receipt[]> {
  const addresses = [...new Set(credits.map((credit) => credit.receiver))];
  const walletsByAddress = new Map<string, WalletDoc[]>(addresses.map((address) => [address, []]));
  for (const wallet of await wallets.at(network, addresses, session))
    walletsByAddress.get(wallet.address)?.push(wallet);
  return credits.flatMap((credit) =>
    walletsByAddress
      .get(credit.receiver)!
      .filter((wallet) => isWatched(wallet.windows, credit) && (!only || wallet._id === only._id))
      .map((wallet) => ({ wallet, credit })),
  );
}

const knownKeys = ({ payments }: MatchDeps, due: readonly Receipt[], session: Session): Promise<Set<string>> =>
  payments.known(
    [...new Set(due.map(({ wallet }) => wallet._id))],
    [...new Set(due.map(({ credit }) => credit.operationId))],
    session,
  );

/** The links and checkouts that the memos name, by memo, with all that they are judged and shown by. Those whose product or wallet is gone are left
 *  out.
 *  @param named each with the close of the ledger in which it was named */
export async function targetsOf(
  { paymentLinks, checkouts, products, wallets }: MatchDeps,
  named: readonly { memo: string; close: LedgerClose }[],
  session: Session,
): Promise<Map<string, PaymentTarget>> {
  const memos = [...new Set(named.map(({ memo }) => memo))];
  if (memos.length === 0) return new Map();
  const links = await paymentLinks.byMemos(memos, session);
  const orders = await checkouts.byMemos(memos, session);
  const paidFor = [...links, ...orders];
  const productIds = new Set(paidFor.flatMap(({ productId }) => productId ?? []));
  const productById = byId(await products.ofAllAccounts([...productIds], session));
  for (const [id, product] of productById) {
    if (!product.archived) continue;
    const own = new Set(paidFor.flatMap(({ productId, memo }) => (productId === id ? memo : [])));
    const closes = named.flatMap(({ memo, close }) => (own.has(memo) ? close : []));
    productById.set(id, await products.withVersionsAt(product, closes, session));
  }
  const walletIds = new Set([...productById.values(), ...orders].map(({ walletId }) => walletId));
  const walletById = byId(await wallets.ofAllAccounts([...walletIds], session));
  const targets = new Map<string, PaymentTarget>();
  for (const link of links) {
    const product = productById.get(link.productId);
    const wallet = product && walletById.get(product.walletId);
    if (product && wallet) targets.set(link.memo, { link, checkout: null, product, wallet });
  }
  for (const checkout of orders) {
    const product = productById.get(checkout.productId ?? '') ?? null;
    const wallet = walletById.get(checkout.walletId);
    if (!wallet || (checkout.productId !== null && !product)) continue;
    const productWallet = (product && walletById.get(product.walletId)) ?? null;
    targets.set(checkout.memo, { link: null, checkout, product, wallet, productWallet });
  }
  return targets;
}

const byId = <Doc extends { _id: string }>(docs: readonly Doc[]): Map<string, Doc> =>
  new Map(docs.map((doc) => [doc._id, doc]));

const keyOf = (wallet: WalletDoc, credit: Credit) =>
  `${wallet._id}:${credit.operationId}:${credit.changeIndex}:${credit.transactionHash}`;
