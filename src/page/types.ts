/** The hosted page's interfaces to the rest of the service, and the fields of a payment that it
 *  may know. */

import type { Contract } from '../../contracts/index.js';
import type { Network } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { OrderForm } from '../../contracts/payment-links.js';
import type { ProofLevel } from '../../contracts/proofs.js';
import type { Brand } from '../domain/brand.js';
import type { OrderSums } from '../domain/order.js';
import type { PaymentDoc } from '../payments/index.js';
import type { CurrentRate } from '../rates/index.js';
import type { CheckoutDoc } from '../selling/index.js';

/** A link or checkout with everything that its page shows. Amounts are canonical decimal text. */
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
  /** Set if the price is in a currency. Then `product.price` and `minAmount` are in the asset at
   *  the current rate, null without a fresh one. */
  priced?: PagePrice;
  wallet: { address: string; network: Network; active: boolean };
  /** The shop. */
  brand: Brand;
  /** Origins whose pages may frame its pages. */
  embedOrigins: readonly string[];
  /** The seller of a receipt without a brand. */
  accountName: string | null;
  /** Set for a checkout: then `product.price` is what remains. */
  checkout?: PageCheckout;
  /** Set for an order link. */
  order?: PageOrder;
  /** The link ends, or takes so many payments only: its page changes without a payment. */
  endsAt?: Date;
  isLimited?: true;
  /** Why it takes nothing by its own terms. */
  over?: 'linkEnded' | 'linkFull' | 'soldOut';
  inactiveText?: string;
  /** What is said, and where the page leads, once it is paid. */
  afterPayment?: { message: string | null; url: string | null };
  /** Why a payment might fail, shown above the payment details. */
  warnings?: PageWarning[];
}

/** `unknown`: the check failed. */
export type PageWarning = 'no_account' | 'no_trustline' | 'unknown';

/** Amounts in the currency, canonical decimal text. */
export interface PagePrice {
  currency: string;
  /** The price of a FIXED product; what remains of a checkout. Null if the payer chooses. */
  due: string | null;
  minAmount: string | null;
  /** Null without a fresh one; then nothing can be paid. */
  rate: CurrentRate | null;
}

/** A proof of a payment, as payers get it. */
export type PageProof = OutputOf<Contract['payments']['proof']>;

export interface PageOrder {
  form: OrderForm;
  /** Its product has a stock. */
  isStocked: boolean;
}

/** The checkout's own fields, and what only its page says. */
export interface PageCheckout
  extends Pick<
    CheckoutDoc,
    | 'status'
    | 'reference'
    | 'amount'
    | 'price'
    | 'quantity'
    | 'expiresAt'
    | 'paidAt'
    | 'closedAt'
    | 'successUrl'
    | 'cancelUrl'
  > {
  id: string;
  /** What it consists of, in the currency, or in the asset without one. */
  order: OrderSums;
  received: string;
  /** Null without a fresh rate. */
  remaining: string | null;
  excess: string | null;
  /** Refunds in its asset, of all its payments; set once it is PAID. */
  refunded: string;
  /** Past its end, by the clock. */
  ended: boolean;
  /** Made by an order link: its payment is added to `successUrl`, too. */
  isOrdered: boolean;
}

export interface PageSource {
  /** @param visitor client address to charge requests to; null leaves out shop and warnings */
  linkBySlug(slug: string, visitor: string | null): Promise<PageLink | null>;
  checkoutBySlug(slug: string, visitor: string | null): Promise<PageLink | null>;
  /** The most that the page may have asked for within the lock: what is due, at the lowest rate
   *  that it showed. Stroops; of a FIXED price that has one now. */
  mostDue(link: PageLink): Promise<bigint>;
  /** The payments of a checkout: their number, and the `most` largest, newest first, so that tiny
   *  ones hide nothing. */
  paidBy(slug: string, most: number): Promise<PaidBy>;
}

export interface PageProofs {
  /** The proof of a payment of a PAID checkout; null where there is none such. @param paymentId
   *  null: of the one that completed the checkout */
  of(slug: string, paymentId: string | null, level: ProofLevel | undefined): Promise<PageProof | null>;
  /** What the page that checks proofs knows besides what every verifier does. */
  trust(): Promise<PageTrust>;
}

export interface PageTrust {
  /** The local ledger's; null where it is not watched, or away. */
  local: { passphrase: string; validators: readonly { name: string; homeDomain: string; nodes: string[] }[] } | null;
  /** The service's own keys, by id. */
  statementKeys: Readonly<Record<string, string>>;
}

export interface PaidBy {
  count: number;
  largest: PagePayment[];
}

/** The fields of a payment that a payer may know. Amounts are canonical decimal text. */
export interface PagePayment
  extends Pick<
    PaymentDoc,
    | 'reason'
    | 'amount'
    | 'assetCode'
    | 'assetIssuer'
    | 'expectedAmount'
    | 'excessAmount'
    | 'shortfallAmount'
    | 'createdAt'
  > {
  /** Identifies the payment; shown in the address of its proof, and to the shop's page after it. */
  id: string;
  status: Exclude<PaymentDoc['status'], 'UNMATCHED'>;
  /** Its value in the currency of its price or of the books; null for none. */
  value: { currency: string; amount: string } | null;
  /** Refunded part; null for nothing. */
  refundedAmount: string | null;
  /** `GABC…WXYZ`: enough for the payer to recognise. */
  senderShort: string;
  transactionHash?: string;
  explorerUrl: string | null;
  /** Close of its ledger. */
  closedAt: Date;
}

export interface StatusFeed {
  /** Calls the listener with every payment of the link or checkout that is stored or judged again
   *  from now on; duplicates are possible.
   *  @returns a function that unsubscribes */
  subscribe(link: Pick<PageLink, 'accountId' | 'linkId'>, listener: (payment: PagePayment) => void): () => void;
  /** The newest payments of that time or later, newest first, at most `PAYMENTS_SHOWN`. */
  since(link: Pick<PageLink, 'linkId' | 'accountId'>, since: Date): Promise<PagePayment[]>;
  /** False while subscriptions receive nothing from the database; `since` may still work. */
  live(): boolean;
}

/** More payments than this are never shown on one page. */
export const PAYMENTS_SHOWN = 20;
/** How far back a page may ask: one open for longer shows only payments within this time. */
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
