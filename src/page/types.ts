/** What the hosted page needs of the rest of the service, and all that it may know of a payment. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason } from '../../contracts/payments.js';
import type { Brand } from '../domain/brand.js';
import type { CurrentRate } from '../rates/book.js';

/** What a page asks the payer to pay, a link or a checkout, with everything that the page shows. Amounts are canonical decimal text. */
export interface PageLink {
  accountId: string;
  /** The link's or checkout's. */
  linkId: string;
  slug: string;
  memo: string;
  /** The same memo as a number. */
  memoId: string;
  /** M…: wallet and memo in one address. */
  muxedAddress: string;
  active: boolean;
  product: {
    name: string;
    description: string | null;
    imageUrl: string | null;
    assetCode: string;
    /** Null for XLM. */
    assetIssuer: string | null;
    priceType: 'FIXED' | 'CUSTOM';
    price: string | null;
    minAmount: string | null;
    active: boolean;
  };
  /** Where the price is in a currency. Then `product.price` and `minAmount` are what is asked in the asset at the moment, null without a fresh rate. */
  priced?: PagePrice;
  wallet: { address: string; network: Network; active: boolean };
  /** The shop. */
  brand: Brand;
  /** Where the page is of a checkout: then `product.price` is what remains. */
  checkout?: PageCheckout;
  /** Why a payment might fail, shown above the payment details. */
  warnings?: PageWarning[];
}

/** `unknown`: it could not be checked just now. */
export type PageWarning = 'no_account' | 'no_trustline' | 'unknown';

/** Amounts in the currency, canonical decimal text. */
export interface PagePrice {
  currency: string;
  /** The price of a FIXED product; what remains of a checkout. Null where the payer chooses. */
  due: string | null;
  minAmount: string | null;
  /** Null while there is no fresh one: then nothing is asked for. */
  rate: CurrentRate | null;
}

export interface PageCheckout {
  id: string;
  status: CheckoutStatus;
  /** The shop's name for the order. */
  reference: string | null;
  /** Null where it is priced in a currency. */
  amount: string | null;
  /** In the currency; missing without one. */
  price?: string;
  /** The product's; null without one. */
  quantity: number | null;
  received: string;
  /** Null without a fresh rate. */
  remaining: string | null;
  excess: string | null;
  /** What was sent back in its asset, of all its payments; told once it is PAID. */
  refunded: string;
  expiresAt: Date;
  /** Null before. */
  paidAt: Date | null;
  /** The end has come, by the clock. */
  ended: boolean;
  successUrl: string | null;
  cancelUrl: string | null;
}

export interface PageSource {
  /** @param visitor client address on whose behalf the ledger may be asked; null for what shows neither the shop nor warnings, which are left out then */
  linkBySlug(slug: string, visitor: string | null): Promise<PageLink | null>;
  checkoutBySlug(slug: string, visitor: string | null): Promise<PageLink | null>;
  /** What paid a checkout: how many payments, and the `most` largest, newest first, so that small change hides nothing. */
  paidBy(slug: string, most: number): Promise<PaidBy>;
}

export interface PaidBy {
  count: number;
  largest: PagePayment[];
}

/** A payment as far as a payer may know it. Amounts are canonical decimal text. */
export interface PagePayment {
  /** Tells two payments apart; never shown. */
  id: string;
  status: 'COMPLETED' | 'UNDERPAID' | 'REJECTED';
  reason: PaymentReason | null;
  amount: string;
  assetCode: string;
  assetIssuer: string | null;
  expectedAmount: string | null;
  excessAmount: string | null;
  shortfallAmount: string | null;
  /** What it counted for, in the currency of its price or of the books; null where there is none. */
  value: { currency: string; amount: string } | null;
  /** What was sent back of it; null for nothing. */
  refundedAmount: string | null;
  /** `GABC…WXYZ`: enough for the payer to recognise, no more. */
  senderShort: string;
  transactionHash?: string;
  explorerUrl: string | null;
  /** Close of its ledger. */
  closedAt: Date;
  createdAt: Date;
}

export interface StatusFeed {
  /** Calls the listener with every payment of the link or checkout that is stored or judged anew from now on; one may come twice.
   *  @returns what ends the subscription. */
  subscribe(link: Pick<PageLink, 'accountId' | 'linkId'>, listener: (payment: PagePayment) => void): () => void;
  /** The link's newest payments of that time or later, newest first, at most `PAYMENTS_SHOWN`. */
  since(link: Pick<PageLink, 'linkId' | 'accountId'>, since: Date): Promise<PagePayment[]>;
  /** False while subscriptions tell nothing, because the database does not: `since` may still answer. */
  live(): boolean;
}

/** More payments than this are never shown on one page. */
export const PAYMENTS_SHOWN = 20;
/** How far back a page may ask: one that has been open for longer shows what came in this time. */
export const PAGE_MEMORY_MS = 24 * 60 * 60 * 1000;

/** Pays from a funded account of the local ledger. */
export interface TestPayer {
  pay(payment: {
    destination: string;
    /** Canonical decimal text. */
    amount: string;
    assetCode: string;
    assetIssuer: string | null;
    memo: string;
  }): Promise<TestPayment>;
}

/** `code`: the network's own, such as `op_underfunded`, if it refused. `message`: for the log. */
export type TestPayment =
  | { paid: true; transactionHash: string }
  | { paid: false; code: string | null; message: string };
