/** What the hosted page needs of the rest of the service, and all that it may know of a payment. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason } from '../../contracts/payments.js';

/** What a page asks the payer to pay, a link or a checkout, with everything that the page shows. Amounts are canonical decimal text. */
export interface PageLink {
  /** Of the link or checkout. */
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
  wallet: { address: string; network: Network; active: boolean };
  /** Where the page is of a checkout: then `product.price` is what remains. */
  checkout?: PageCheckout;
  /** Sentences for the payer, shown above the payment details. */
  warnings?: string[];
}

export interface PageCheckout {
  id: string;
  status: CheckoutStatus;
  amount: string;
  /** Of the product; null without one. */
  quantity: number | null;
  received: string;
  remaining: string;
  excess: string | null;
  expiresAt: Date;
  /** The end has come, by the clock. */
  ended: boolean;
  successUrl: string | null;
  cancelUrl: string | null;
}

export interface PageSource {
  linkBySlug(slug: string): Promise<PageLink | null>;
  checkoutBySlug(slug: string): Promise<PageLink | null>;
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
  /** `GABC…WXYZ`: enough for the payer to recognise, no more. */
  senderShort: string;
  transactionHash?: string;
  explorerUrl: string | null;
  createdAt: Date;
}

export interface StatusFeed {
  /** Calls the listener with every payment of the link or checkout that is stored or judged anew from now on; one may come twice.
   *  @returns what ends the subscription. */
  subscribe(linkId: string, listener: (payment: PagePayment) => void): () => void;
  /** The link's newest payments of that time or later, newest first, at most `PAYMENTS_SHOWN`. */
  since(linkId: string, since: Date): Promise<PagePayment[]>;
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

/** `message`: why the ledger did not take it, a sentence for the person who pressed the button. */
export type TestPayment = { paid: true; transactionHash: string } | { paid: false; message: string };
