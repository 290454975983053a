/** Inputs and results of the operations. Generated from the contracts by `npm run openapi`: edit them there. */
import type { Mutation, Query, Subscription } from './procedures.js';

export type Account = {
  /** Id of the account. */
  id: string;
  name: string;
  brand: Brand;
  /** Percentage by which the account’s rates are lowered. */
  rateMarkupPercent: string;
  /** Currency of the `value` of payments whose price gives them none; null for none. */
  booksCurrency: string | null;
  /** The tolerance of new products and checkouts. */
  tolerancePercent: string;
  /** Tips that the point of sale offers; empty for none. */
  tipPercents: Array<string>;
  /** Origins whose pages may frame the payment pages. */
  embedOrigins: Array<string>;
  onboarding: Onboarding;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** Stellar account address: G… with a valid checksum. */
export type AccountAddress = string;

export type Activity = {
  /** Id of the activity. */
  id: string;
  /** ISO 8601, UTC. */
  at: string;
  actor: Actor;
  /** The `operationId`, such as `products_update`; for cli and system also names that are no operation here. */
  operation: string;
  /** Id of the changed resource; for a rate its pair. */
  subjectId: string;
  /** For a creation the requested fields. */
  changes: Array<Change>;
  /** Address of the client, as limits count it: IPv6 by its /64. Null for cli and system. */
  address: string | null;
};

/** A user, an API key, the operator's command line (`cli`), or the service itself (`system`); `name` is the name at that time. */
export type Actor = {
  type: ActorType;
  id: string;
  name: string;
};

export type ActorType = 'user' | 'key' | 'cli' | 'system';

export type AfterPayment = {
  message: string | null;
  url: string | null;
};

/** Decimal string in canonical form, at most 7 decimals: `10.5`, never `10.5000000`. */
export type Amount = string;

/** Decimal string, at most 7 decimals, greater than 0, at most 922337203685.4775807. */
export type AmountInput = string;

export type ApiKey = {
  /** Id of the API key. */
  id: string;
  name: string;
  scope: ApiKeyScope;
  /** First 6 and last 4 characters. */
  keyMasked: string;
  /** Accurate to about a minute; null while unused. */
  lastUsedAt: string | null;
  expiresAt: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** READ keys get 403 `forbidden` on anything that writes, and on activity. */
export type ApiKeyScope = 'FULL' | 'READ';

/** The API key with its full `key`, which is shown once: a replay (Idempotency-Key) leaves it out. */
export type ApiKeyWithKey = {
  /** Id of the API key. */
  id: string;
  name: string;
  scope: ApiKeyScope;
  /** First 6 and last 4 characters. */
  keyMasked: string;
  /** Accurate to about a minute; null while unused. */
  lastUsedAt: string | null;
  expiresAt: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** The full key. Returned in this answer only. */
  key: string;
};

export type Audit = {
  /** Id of the audit. */
  id: string;
  /** Id of the wallet. */
  walletId: string;
  /** PROVEN: the movements explain every balance to the stroop. DIFFERENT: they do not, and `difference` says by how much. FAILED: the audit came to no result, and `reason` says why. */
  status: 'RUNNING' | 'PROVEN' | 'DIFFERENT' | 'FAILED';
  /** Why it FAILED. */
  reason: string | null;
  /** Not included. Null until it is known. */
  fromLedger: number | null;
  /** Included. Null until it is known. */
  toLedger: number | null;
  /** Lumens first. Empty until the audit has ended. */
  assets: Array<AuditAsset>;
  /** Payments that were found on the ledger, had not been recorded, and are now. */
  missingPayments: number;
  /** Where the opening comes from. HISTORY: everything since the account was created. PREVIOUS_AUDIT: the balance that the last audit ended with. COMPUTED_BACK: no source goes back that far, so that it was worked out from the closing: such an audit finds missing payments and proves no balance. */
  openingSource: 'HISTORY' | 'PREVIOUS_AUDIT' | 'COMPUTED_BACK' | null;
  /** Server that the balances come from. */
  balanceSource: string | null;
  /** Server that the movements come from. */
  movementSource: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
  finishedAt: string | null;
};

export type AuditAsset = {
  /** `XLM` for the native asset. */
  assetCode: string;
  /** Null for the native asset. */
  assetIssuer: string | null;
  /** The balance after `fromLedger`. */
  opening: SignedAmount;
  /** The balance after `toLedger`, as the ledger shows it. */
  closing: Amount;
  /** opening + received − sent − fees + traded + other */
  computed: SignedAmount;
  /** closing − computed: the part that no movement explains. */
  difference: SignedAmount;
  movements: {
    /** Payments, path payments, merges, creations, transfers of contracts. */
    received: Amount;
    /** The same in the other direction. */
    sent: Amount;
    /** Fees of all transactions that the wallet paid for, failed ones too. */
    fees: Amount;
    /** What offers of the wallet bought, less what they sold. */
    traded: SignedAmount;
    /** Claimable balances, liquidity pools, clawbacks. */
    other: SignedAmount;
  };
};

/** What payers see of the shop; a field is null where it is not set. */
export type Brand = {
  /** Name of the shop, as payers see it. */
  name: string | null;
  logoUrl: string | null;
  /** Color of the main button. */
  color: string | null;
  /** Where payers can ask about a refused payment. */
  supportUrl: string | null;
  supportEmail: string | null;
};

/** Both are null for a secret: only the fact that it changed is kept. */
export type Change = {
  field: string;
  /** As the resource shows it. Long text is cut and marked as cut. */
  from: string | number | boolean | Array<string> | null;
  /** As the resource shows it. Long text is cut and marked as cut. */
  to: string | number | boolean | Array<string> | null;
};

export type Checkout = {
  /** Id of the checkout. */
  id: string;
  status: CheckoutStatus;
  /** Your name for the order. */
  reference: string | null;
  /** Your own data for the checkout; its values can be searched. */
  metadata: Record<string, string>;
  /** The order link that a payer made it by; null for others. */
  paymentLinkId: string | null;
  customer: Customer;
  /** All that the payer told an order link, by the keys of its fields. A ticked box is `on`. */
  answers: Record<string, string>;
  /** Gets a receipt by e-mail once the checkout is PAID, if this service sends e-mail (`GET /account/notifications` says so). */
  customerEmail: string | null;
  /** Language of the receipt; null for English. */
  language: Language | null;
  name: string;
  description: string | null;
  /** `XLM` for the native asset. */
  assetCode: string;
  /** Null for the native asset. */
  assetIssuer: string | null;
  /** What the order costs: `total`. It never changes. Null where it is priced in a currency. */
  amount: Amount | null;
  /** The currency of `price`; null where it is priced in its asset. */
  currency: string | null;
  /** What the order costs, in the currency: `total`. */
  price: Amount | null;
  /** The amount asked now for the rest. Null without a currency, without a fresh rate, once closed, and in events. */
  quote: Quote | null;
  /** How many of the FIXED product of a checkout made for it. Null for other checkouts. */
  quantity: number | null;
  /** What is bought: at least one line. */
  lines: Array<CheckoutLine>;
  /** The prices contain the tax. */
  taxIncluded: boolean;
  /** Sum of the lines, before any discount. */
  subtotal: Amount;
  /** `0` for none. */
  discountAmount: Amount;
  /** Null for a discount without a name, and for none. */
  discountName: string | null;
  /** Contained in the prices, or added to them. `0` for none. */
  taxAmount: Amount;
  /** `0` for none. */
  tipAmount: Amount;
  /** What is asked: the lines less the discount, with the tax where prices do not contain it, and the tip. Equal to `amount`, or to `price` in a currency. */
  total: Amount;
  /** How much less than `total` is enough. Once it is PAID within it, nothing remains. */
  tolerancePercent: string;
  /** Payments in time and in the right asset. They add up. */
  receivedAmount: Amount;
  /** The same in the currency. */
  receivedValue: Amount | null;
  /** Still due; `0` once the checkout is PAID. In a currency by `quote`, and null without one. */
  remainingAmount: Amount | null;
  /** Still due, in the currency. */
  remainingValue: Amount | null;
  /** Paid beyond what was asked for. */
  excessAmount: Amount | null;
  product: ProductSummary | null;
  wallet: WalletSummary;
  /** Last part of the page’s URL. */
  slug: string;
  /** Text memo that a payment must carry. No other checkout or payment link has it. */
  memo: string;
  /** The same memo as a number, for wallets that only send an id memo. */
  memoId: string;
  /** M… address that needs no memo. */
  muxedAddress: string;
  /** The hosted payment page. */
  url: string;
  /** Where the page leads once the checkout is PAID. */
  successUrl: string | null;
  /** Where the page leads a payer who does not want to pay. */
  cancelUrl: string | null;
  /** A payment counts when its ledger closed before this. */
  expiresAt: string;
  /** Close of the ledger that completed it, or the moment it was accepted. */
  paidAt: string | null;
  /** When it stopped being OPEN. */
  closedAt: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** The resources as they were when the event happened. */
export type CheckoutEventData = {
  checkout: Checkout;
  /** Every payment of the checkout, oldest first; of more than 1,000 the largest, of more than 100 each with its newest 10 refunds. */
  payments: Array<Payment>;
};

export type CheckoutLine = {
  /** Null for a line without a product. */
  productId: string | null;
  name: string;
  quantity: number;
  /** The price for one. */
  price: Amount;
  /** Null where no tax was given. */
  taxPercent: string | null;
  /** Price times quantity, before any discount. */
  total: Amount;
};

/** OPEN: waits for money. PAID: paid in full, or accepted. EXPIRED: the ledger has been read beyond `expiresAt`, and the money did not come in time. CANCELLED: ended by the merchant. */
export type CheckoutStatus = 'OPEN' | 'PAID' | 'EXPIRED' | 'CANCELLED';

export type Coupon = {
  /** Id of the coupon. */
  id: string;
  /** In capitals; compared without case. */
  code: string;
  percentOff: string | null;
  /** In the currency or asset that the coupon names. */
  amountOff: Amount | null;
  /** Null where it is in an asset, or of any price. */
  currency: string | null;
  assetCode: string | null;
  assetIssuer: string | null;
  /** It takes from lines of these products only. Null for all lines. */
  productIds: Array<string> | null;
  /** Least sum of the lines, before any discount. */
  minSubtotal: Amount | null;
  startsAt: string | null;
  /** It is taken before this moment. */
  endsAt: string | null;
  /** Null for any number. */
  maxRedemptions: number | null;
  /** Checkouts that have it: counted when they are made, and given back when they are EXPIRED, or CANCELLED and proven unpaid. */
  redemptions: number;
  active: boolean;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** What the payer told an order link: the answer to the field `name`, and to the first of each type. Null where it was not asked or answered. */
export type Customer = {
  name: string | null;
  email: string | null;
  phone: string | null;
  address: string | null;
};

/** What was deleted. */
export type Deleted = {
  id: string;
  deleted: true;
};

export type Delivery = {
  /** Id of the delivery. */
  id: string;
  /** Id of the webhook. */
  webhookId: string;
  /** Id of the event. */
  eventId: string;
  eventType: EventType;
  /** Header `webhook-sequence`: a webhook's deliveries are numbered 1, 2, 3 … without holes. Null for deliveries from before there were numbers. */
  sequence: number | null;
  status: DeliveryStatus;
  attemptCount: number;
  nextAttemptAt: string | null;
  lastResponseStatus: number | null;
  lastError: string | null;
  attempts: Array<DeliveryAttempt>;
  /** ISO 8601, UTC. */
  createdAt: string;
};

export type DeliveryAttempt = {
  /** ISO 8601, UTC. */
  at: string;
  durationMs: number;
  /** Null when no answer came. */
  responseStatus: number | null;
  error: string | null;
};

/** PENDING: not yet delivered, to be tried (again). FAILED: after the last attempt. CANCELLED: the webhook was deleted. */
export type DeliveryStatus = 'PENDING' | 'DELIVERED' | 'FAILED' | 'CANCELLED';

export type ErrorBody = {
  message: string;
  code:
    | 'bad_request'
    | 'unauthorized'
    | 'forbidden'
    | 'not_found'
    | 'conflict'
    | 'validation_error'
    | 'rate_limited'
    | 'unavailable'
    | 'internal';
  /** Only with `validation_error`. */
  details?: Array<FieldError> | undefined;
};

export type Event =
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.received';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.completed';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.unmatched';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.decision';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.refunded';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'checkout.paid';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: CheckoutEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'checkout.expired';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: CheckoutEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'wallet.gap';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: WalletGapEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'wallet.difference';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: WalletDifferenceEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'webhook.paused';
      /** The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test. */
      sequence: number;
      /** ISO 8601, UTC. */
      createdAt: string;
      data: WebhookPausedEventData;
    };

/** `payment.received`: once for every payment that belongs to a link or checkout, whatever its status. `payment.completed`: once when a payment becomes COMPLETED. `payment.unmatched`: once for every payment to a wallet that belongs to no link or checkout when it is recorded. `payment.decision`: each time that a payment comes to need a decision: it is UNDERPAID, REJECTED or UNMATCHED when it is recorded or assigned, or a refund of it was booked at another payment. `payment.refunded`: once for every operation on the ledger that sent money of a payment back, and for both payments when a refund moves to the one that the merchant names. `checkout.paid`: once when a checkout becomes PAID. `checkout.expired`: once when a checkout becomes EXPIRED: the ledger was read beyond its end, and it is proven that the money did not come in time. `wallet.gap`: a wallet misses ledgers that no ledger server has any more. `wallet.difference`: an audit found balances of a wallet that nothing on the ledger explains. `webhook.paused`: the service paused a webhook because its endpoint failed for days or answered 410; sent to the other webhooks. */
export type EventType =
  | 'payment.received'
  | 'payment.completed'
  | 'payment.unmatched'
  | 'payment.decision'
  | 'payment.refunded'
  | 'checkout.paid'
  | 'checkout.expired'
  | 'wallet.gap'
  | 'wallet.difference'
  | 'webhook.paused';

/** Meta of a request with `after`. */
export type EventsAfterMeta = {
  /** `sequence` of the last item, to be passed as `after` for the next ones. */
  after: number;
  /** Whether more events follow already. */
  hasMore: boolean;
};

export type FieldError = {
  /** Path of the field, dotted: `price`, `events.0`. */
  path: string;
  /** What is wrong, for a person. */
  message: string;
  /** What is wrong, for a program: `required`, `invalid_type`, `too_big`, `unrecognized_key`, … */
  code: string;
};

export type Gap = {
  fromLedger: number;
  /** Included, like `fromLedger`. */
  toLedger: number;
  /** When it was found. */
  at: string;
  /** Null until its ledgers have been read. */
  mendedAt: string | null;
};

export type Instructions = {
  /** The wallet's address, to be paid together with the memo. */
  address: string;
  /** M… address that needs no memo, for wallets that cannot send one. Some wallets do not know such addresses yet. */
  muxedAddress: string;
  /** Text memo that a payment to `address` must carry. */
  memo: string;
  /** The same memo as a number, for wallets that only send an id memo. */
  memoId: string;
  /** Amount to pay; null lets the payer choose. */
  amount: Amount | null;
  assetCode: string;
  assetIssuer: string | null;
  network: Network;
  networkPassphrase: string;
  /** SEP-7 `web+stellar:pay` request that a wallet opens or scans. */
  uri: string;
  /** `uri` as a QR code: an SVG document. */
  qrSvg: string;
  /** The hosted payment page. */
  pageUrl: string;
};

/** It is shown once. */
export type Invitation = {
  /** The invitation, for one use. Returned in this answer only. */
  url: string;
  /** When the invitation ends. */
  expiresAt: string;
};

/** The user with their invitation, which is shown once. */
export type InvitedUser = {
  /** Id of the user. */
  id: string;
  name: string;
  role: Role;
  email: string | null;
  /** The language of the dashboard and of e-mails to them; null: as their browser prefers. */
  language: Language | null;
  status: UserStatus;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** The invitation, for one use. Returned in this answer only. */
  url: string;
  /** When the invitation ends. */
  expiresAt: string;
};

/** ISO 639-1. */
export type Language = 'en' | 'de' | 'es' | 'fr' | 'it' | 'nl' | 'pl' | 'pt' | 'tr' | 'id' | 'ja' | 'zh' | 'ar';

export type ListMeta = {
  page: number;
  pageSize: number;
  /** Count of all items that match the filters. */
  total: number;
  /** 0 when there are none. */
  totalPages: number;
};

export type MailFailure = {
  /** ISO 8601, UTC. */
  at: string;
  to: string;
  /** A kind of notification, `receipt`, or `security`. */
  kind: string;
  error: string;
  /** False while it is retried. */
  isFinal: boolean;
};

export type MendedGaps = {
  /** Gaps that are closed now. */
  mended: number;
  /** Gaps that are left. Call again: a long one is read in parts. */
  open: number;
};

export type Movement = {
  /** When its ledger closed. */
  at: string;
  ledger: number;
  /** Null where the source does not say. */
  transactionHash: string | null;
  /** Null for a fee, which is of a whole transaction. */
  operationId: string | null;
  /** received and sent: payments, path payments, merges, creations, transfers of contracts. other: claimable balances, liquidity pools, clawbacks. */
  kind: 'received' | 'sent' | 'fee' | 'traded' | 'other';
  amount: SignedAmount;
  /** The other party, where there is one. */
  counterparty: string | null;
  /** Memo of the transaction. */
  memo: string | null;
  /** The payment that was recorded for it. */
  paymentId: string | null;
  /** What that payment counted for in a currency. */
  value: PaymentValue | null;
};

/** Stellar network. LOCAL is the built-in development ledger. */
export type Network = 'PUBLIC' | 'TESTNET' | 'LOCAL';

/** `payment.completed`, `payment.unmatched`, `payment.decision`, `wallet.gap`, `wallet.difference`: as the events of these names. `webhook.failing`: deliveries to a webhook have failed at least three times in a row; sent once until one succeeds. */
export type NotificationKind =
  | 'payment.completed'
  | 'payment.unmatched'
  | 'payment.decision'
  | 'webhook.failing'
  | 'wallet.gap'
  | 'wallet.difference';

export type Notifications = {
  recipients: Array<string>;
  kinds: Array<NotificationKind>;
  /** False where this service sends no e-mail at all, because its operator has not set `SMTP_URL`: no notification, and no receipt for a `customerEmail`. */
  sending: boolean;
  /** The e-mail of the account that failed last, receipts too, and has not been sent since; null for none. */
  lastFailure: MailFailure | null;
};

/** Whether the dashboard shows what is left until the account can be paid. */
export type Onboarding = 'shown' | 'hidden';

export type OrderField = {
  key: string;
  label: string;
  type: 'text' | 'email' | 'phone' | 'address' | 'select' | 'checkbox';
  required: boolean;
  /** The choices of a `select`; null for other types. */
  options: Array<string> | null;
};

export type OrderForm = {
  fields: Array<OrderField>;
  /** Null: one piece, not asked. */
  quantity: {
    min: number;
    max: number;
  } | null;
  suggestedAmounts: Array<Amount>;
  tipPercents: Array<string>;
  /** Whether the form asks for a coupon. */
  coupons: boolean;
  /** From an order until its checkout ends. */
  minutes: number;
};

export type OrderFormInput = {
  /** At most 10; may be empty. */
  fields: Array<{
    /** Names the answer. The one of `name` is the customer’s name. */
    key: string;
    /** What payers are asked. */
    label: string;
    type: 'text' | 'email' | 'phone' | 'address' | 'select' | 'checkbox';
    /** False when left out. A required checkbox must be ticked. */
    required?: boolean | null | undefined;
    /** Choices of a `select`, 1 to 50, each once; refused for other types. */
    options?: Array<string> | null | undefined;
  }>;
  /** How many pieces of a FIXED product a payer may choose. One, not asked, when left out. */
  quantity?:
    | {
        min: number;
        max: number;
      }
    | null
    | undefined;
  /** To choose from for a CUSTOM product, at most 10; others may be typed. */
  suggestedAmounts?: Array<AmountInput> | null | undefined;
  tipPercents?: Array<string> | null | undefined;
  /** Whether the form asks for a coupon; false when left out. */
  coupons?: boolean | null | undefined;
  /** Until a payer's checkout ends, 5 to 1,440; 60 when left out. What it holds of a stock is free again then. */
  minutes?: number | null | undefined;
};

export type Passkey = {
  /** Credential id, base64url. */
  id: string;
  /** The device on which it was made, where that is known. */
  name: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** Null before its first sign-in. */
  lastUsedAt: string | null;
};

export type PausedWebhook = {
  /** Id of the webhook. */
  id: string;
  name: string;
  url: string;
  status: WebhookStatus;
  /** First 6 and last 4 characters of the signing secret. */
  secretMasked: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  events: Array<string>;
};

export type Payment = {
  /** Id of the payment. */
  id: string;
  status: PaymentStatus;
  /** Why the payment has its status; null for a plain COMPLETED. */
  reason: PaymentReason | null;
  amount: Amount;
  assetCode: string;
  assetIssuer: string | null;
  /** The price, the minimum of a CUSTOM product, or what was due for a checkout before this payment. */
  expectedAmount: Amount | null;
  /** Paid beyond the price, or beyond what was due. */
  excessAmount: Amount | null;
  /** Shortfall to the price or minimum, or the amount still due for the checkout after it. */
  shortfallAmount: Amount | null;
  /** The memo on the ledger: the text, a decimal number for an id, base64 for a hash. Null without one. */
  memo: string | null;
  /** Kind of the memo on the ledger. */
  memoType: 'none' | 'text' | 'id' | 'hash' | 'return';
  /** Id of the muxed address (`M…`) that was paid, a decimal string. Null when a plain `G…` was paid. */
  destinationMuxedId: string | null;
  /** G… account, or C… contract; of a mint the issuer. */
  senderAddress: string;
  /** M… address of the sender, where it has one. */
  senderMuxedAddress: string | null;
  /** The wallet's address. */
  receiverAddress: string;
  network: Network;
  transactionHash: string;
  /** Horizon's id of the operation. */
  operationId: string;
  ledger: number;
  /** ISO 8601, UTC. */
  ledgerClosedAt: string;
  paymentLinkId: string | null;
  checkoutId: string | null;
  product: ProductSummary | null;
  /** Id of the wallet. */
  walletId: string;
  /** True for an UNDERPAID, REJECTED or UNMATCHED payment until it is accepted, assigned, refunded in full, dismissed, or part of a checkout that became PAID. */
  needsDecision: boolean;
  /** The note of its dismissal. */
  decisionNote: string | null;
  /** What it counted for. Null without a currency, without a known rate, and of REJECTED. */
  value: PaymentValue | null;
  /** Refunded amount, as the ledger shows it. */
  refundedAmount: Amount;
  /** Each operation that sent money back, oldest first; of more than 100 the newest. */
  refunds: Array<PaymentRefund>;
  /** The transaction in a block explorer; null on LOCAL. */
  explorerUrl: string | null;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** The resources as they were when the event happened. */
export type PaymentEventData = {
  payment: Payment;
  /** Null for a payment of a checkout. */
  paymentLink: PaymentLink | null;
  /** As the payment left it; null for a payment of a link. */
  checkout: Checkout | null;
  /** Null for a checkout without a product. */
  product: Product | null;
};

export type PaymentLink = {
  /** Id of the payment link. */
  id: string;
  /** Your name for the link; payers do not see it. */
  name: string | null;
  /** Last part of the hosted page’s URL. */
  slug: string;
  /** Text memo that a payment must carry; no two links share one. */
  memo: string;
  /** The hosted payment page. */
  url: string;
  /** An inactive link rejects payments. */
  active: boolean;
  /** Payments that were not rejected. */
  paymentCount: number;
  /** The form of an order link; null for a plain one. */
  order: OrderForm | null;
  endsAt: string | null;
  inactiveText: string | null;
  afterPayment: AfterPayment | null;
  /** Null for any number. */
  maxPayments: number | null;
  product: ProductSummary;
  /** ISO 8601, UTC. */
  createdAt: string;
};

export type PaymentProof = {
  /** READY: `proof` is there. WAITING: ask again after `retryAfterSeconds`. UNAVAILABLE: `reason` says what is missing. */
  state: 'READY' | 'WAITING' | 'UNAVAILABLE';
  level: ProofLevel;
  /** Null when READY. */
  reason: string | null;
  /** Null unless WAITING. */
  retryAfterSeconds: number | null;
  /** Null unless READY. */
  proof: PaymentProofBundle | null;
};

/** The file that `stellar-payment-proof verify` and `/proof` check. */
export type PaymentProofBundle = {
  format: 'stellar-payment-proof/1';
  networkPassphrase: string;
  /** The payment. A verifier computes it again from the bytes. */
  claim: {
    ledger: number;
    closedAt: string;
    transactionHash: string;
    /** From 0. */
    operationIndex: number;
    kind:
      | 'payment'
      | 'create_account'
      | 'path_payment_strict_receive'
      | 'path_payment_strict_send'
      | 'account_merge'
      | 'contract';
    from: string;
    to: string;
    toMuxedId: string | null;
    memoType: 'none' | 'text' | 'id' | 'hash' | 'return';
    memo: string | null;
    assetCode: string;
    assetIssuer: string | null;
    amount: string;
  };
  /** Base64. */
  transaction: string;
  resultIndex: number;
  /** Base64. */
  resultSet: string;
  invocation: string | null;
  headers: Array<string>;
  anchor: {
    ledger: number;
    txSet: string | null;
    scp: Array<string>;
  } | null;
  /** What this service says the payment settled, signed with its key `keyId` of `/.well-known/webhook-keys.json`. The ledger does not prove it. Null for a payment that settled nothing. */
  statement: {
    body: string;
    keyId: string;
    signature: string;
  } | null;
};

/** The first that applies, in the order link or checkout, product, asset, amount. */
export type PaymentReason =
  | 'overpaid'
  | 'within_tolerance'
  | 'below_price'
  | 'below_minimum'
  | 'link_inactive'
  | 'link_ended'
  | 'order_needed'
  | 'product_inactive'
  | 'wrong_asset'
  | 'checkout_cancelled'
  | 'checkout_expired'
  | 'checkout_paid'
  | 'partial'
  | 'no_rate'
  | 'no_memo'
  | 'unknown_memo'
  | 'unsupported_memo';

export type PaymentRefund = {
  transactionHash: string;
  /** What arrived. */
  amount: Amount;
  ledger: number;
  /** When the ledger closed. */
  at: string;
};

/** COMPLETED: enough, or within the tolerance, in the right asset. UNDERPAID: less than the price, the minimum or what a checkout still needs. REJECTED: the link, checkout, product or asset was wrong. UNMATCHED: belongs to no link or checkout. */
export type PaymentStatus = 'COMPLETED' | 'UNDERPAID' | 'REJECTED' | 'UNMATCHED';

/** What a payment counted for in a currency. */
export type PaymentValue = {
  currency: string;
  /** In the currency. */
  amount: Amount;
  /** What one unit of the asset is worth in the currency: decimal string of at most 12 significant digits. */
  rate: string;
  /** ISO 8601, UTC. */
  rateAt: string;
  /** `own`, or the sources of the sample. */
  source: string;
};

/** FIXED: `price`. CUSTOM: the customer chooses, at least `minAmount` if there is one. */
export type PriceType = 'FIXED' | 'CUSTOM';

export type Product = {
  /** Id of the product. */
  id: string;
  name: string;
  description: string | null;
  imageUrl: string | null;
  /** `XLM` for the native asset. */
  assetCode: string;
  /** Null for the native asset. */
  assetIssuer: string | null;
  priceType: PriceType;
  /** Price of a FIXED product; null for CUSTOM. */
  price: Amount | null;
  /** Least amount of a CUSTOM product; null for none, and for FIXED. */
  minAmount: Amount | null;
  /** ISO 4217 code: price and minimum are in it. Null where they are in the asset. */
  currency: string | null;
  /** What is asked now. Null without a currency, without a fresh rate, and in events. */
  quote: Quote | null;
  /** How much less than price or minimum is enough. */
  tolerancePercent: string;
  /** Pieces that are left: checkouts take theirs when they are made. Null for no limit. */
  stock: number | null;
  /** An inactive product rejects payments. */
  active: boolean;
  wallet: WalletSummary;
  paymentLinkCount: number;
  /** ISO 8601, UTC. */
  createdAt: string;
};

export type ProductSummary = {
  /** Id of the product. */
  id: string;
  name: string;
  assetCode: string;
  priceType: PriceType;
  price: Amount | null;
  /** The currency of the price; null where it is in the asset. */
  currency: string | null;
  /** What a payment link asks now in the asset. Null in payments, checkouts and events, and without a fresh rate. */
  quote: Quote | null;
};

/** ledger: true if the network’s ledger has the hash that the verifier names. signed: with the signatures of the network’s validators, so that nothing has to be asked. */
export type ProofLevel = 'ledger' | 'signed';

export type Quote = {
  /** What is asked in the asset. Null where the payer chooses. */
  amount: Amount | null;
  /** What one unit of the asset is worth in the currency: decimal string of at most 12 significant digits. */
  rate: string;
  /** `own`, or the sources of the sample. */
  source: string;
  /** The time of the oldest answer in the rate, or when it was set. */
  at: string;
  /** A payment whose ledger closes until then pays at least by this rate. */
  validUntil: string;
};

export type Rate = {
  currency: string;
  assetCode: string;
  assetIssuer: string | null;
  network: Network;
  /** Null where there was no sample yet. */
  rate: string | null;
  source: string | null;
  at: string | null;
  /** Too old to be shown: there is no price at the moment. */
  stale: boolean;
};

export type RateDeleted = {
  deleted: true;
};

export type Rates = Array<Rate>;

export type ReadinessStep = {
  /** `wallet`: one exists on its network and trusts what its products ask for; `product`: one is active; `link`: there is an active payment link, or a checkout; `payment`: one was completed; `told`: there is an enabled webhook, or a recipient of notifications; `access`: two OWNERs can sign in, or one has two passkeys. */
  step: 'wallet' | 'product' | 'link' | 'payment' | 'told' | 'access';
  done: boolean;
  /** What to do, for people. */
  hint: string;
};

export type Refund = {
  /** SEP-7 `web+stellar:pay` request that any wallet can open. Null when a contract paid: no such request can pay one. */
  uri: string | null;
  /** The sender: M… where it is muxed, else G…, or C… for a contract. */
  destination: string;
  amount: Amount;
  assetCode: string;
  assetIssuer: string | null;
  memo: string | null;
  memoType: 'MEMO_TEXT' | null;
  /** What is left of the excess of an overpaid payment. Null for any other, and when an amount is given. */
  excessAmount: Amount | null;
  /** Request that sends `excessAmount` back. */
  excessUri: string | null;
};

/** OWNER: everything. MANAGER: everything but users, API keys and operations that show a webhook secret. CASHIER: makes, reads and cancels checkouts of their own and reads their payments, the account, wallets and products. VIEWER: reads everything but users, API keys and activity. */
export type Role = 'OWNER' | 'MANAGER' | 'CASHIER' | 'VIEWER';

/** Decimal string in canonical form, at most 7 decimals, with a `-` where it is less than 0. */
export type SignedAmount = string;

export type Statement = {
  /** Id of the wallet. */
  walletId: string;
  /** Included. */
  from: string;
  /** Not included. */
  to: string;
  /** Lumens first. */
  assets: Array<StatementAsset>;
};

export type StatementAsset = {
  /** `XLM` for the native asset. */
  assetCode: string;
  /** Null for the native asset. */
  assetIssuer: string | null;
  /** The balance at `from`. */
  opening: SignedAmount;
  /** The balance at `to`. */
  closing: SignedAmount;
  /** Oldest first. */
  movements: Array<Movement>;
};

export type Summary = Array<SummaryRow>;

export type SummaryRow = {
  /** The day (`2026-11-21`), the month (`2026-11`), the id, `XLM` or `CODE:ISSUER`, or the status. Null for payments without a product or payment link. */
  key: string | null;
  assetCode: string;
  assetIssuer: string | null;
  /** Payments. */
  count: number;
  /** Their exact sum. */
  amount: Amount;
  /** Refunded amount of these payments, regardless of when it was refunded. */
  refundedAmount: Amount;
  /** With `currency`: the exact sum of their values in it. */
  value?: Amount | undefined;
  /** With `currency`: payments that have a value in it. */
  valued?: number | undefined;
  /** With `taxes=true`: those of checkouts that became PAID on that day or in that month and are paid in this asset. */
  taxes?: Array<TaxSum> | undefined;
};

export type TaxSum = {
  /** What the amounts are in; missing where they are in the row’s asset. */
  currency?: string | undefined;
  /** Percentage: a decimal in canonical form. */
  taxPercent: string;
  /** Turnover without the tax, after discounts. */
  net: Amount;
  tax: Amount;
};

export type User = {
  /** Id of the user. */
  id: string;
  name: string;
  role: Role;
  email: string | null;
  /** The language of the dashboard and of e-mails to them; null: as their browser prefers. */
  language: Language | null;
  status: UserStatus;
  /** ISO 8601, UTC. */
  createdAt: string;
};

/** INVITED until they have signed in for the first time. */
export type UserStatus = 'INVITED' | 'ACTIVE';

export type Wallet = {
  /** Id of the wallet. */
  id: string;
  name: string;
  address: AccountAddress;
  network: Network;
  /** An inactive wallet is not watched. */
  active: boolean;
  sync: WalletSync;
  /** ISO 8601, UTC. */
  createdAt: string;
};

export type WalletAsset = {
  assetCode: string;
  assetIssuer: string | null;
  balance: Amount;
  /** False where the issuer does not let the wallet receive it. */
  authorized: boolean;
  /** What a well-known asset is called, and the domain of its issuer; null for all others. */
  known: {
    name: string;
    domain: string;
  } | null;
};

/** All assets of the audit, also those without a difference. */
export type WalletDifferenceEventData = {
  wallet: WalletSummary;
  assets: Array<AuditAsset>;
};

/** The ledgers that were not read, both ends included. */
export type WalletGapEventData = {
  wallet: WalletSummary;
  fromLedger: number;
  toLedger: number;
};

export type WalletSummary = {
  /** Id of the wallet. */
  id: string;
  name: string;
  address: AccountAddress;
  network: Network;
};

/** How far the ledger has been read for this wallet. */
export type WalletSync = {
  /** Every payment up to this ledger has been read; null before the first reading. */
  ledger: number | null;
  /** When that was determined; null before the first reading. */
  at: string | null;
  /** SYNCING: first reading under way. LAGGING: more than 60 s behind the newest ledger. GAP: ledgers were missed that no source has any more; mend it, or make the wallet inactive and active again to acknowledge it. */
  state: 'SYNCING' | 'OK' | 'LAGGING' | 'GAP';
  /** What is missing while no source has shown a ledger of the network; null once one has. */
  reason: string | null;
  /** Ledger records that may have paid this wallet and cannot be recorded yet. While there is one, no checkout that it may have paid becomes EXPIRED. */
  parked: number;
};

export type Webhook = {
  /** Id of the webhook. */
  id: string;
  name: string;
  url: string;
  status: WebhookStatus;
  /** First 6 and last 4 characters of the signing secret. */
  secretMasked: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  events: Array<EventType>;
};

export type WebhookHealth = {
  /** FAILING: since its last success an attempt has failed. IDLE: nothing was delivered in the last 24 h, and nothing failed since. */
  state: 'HEALTHY' | 'FAILING' | 'PAUSED' | 'IDLE';
  /** Deliveries that are to be tried (again), those of replays included. */
  pending: number;
  /** When the oldest of them was made or asked for. */
  oldestPendingAt: string | null;
  /** Deliveries that ended as DELIVERED in the last 24 h. */
  delivered24h: number;
  /** Deliveries that ended as FAILED in the last 24 h. */
  failed24h: number;
  lastDeliveredAt: string | null;
  /** Time of the last attempt that failed. */
  lastFailureAt: string | null;
  /** Why that attempt failed. */
  lastError: string | null;
  /** Measured over the latest 200 attempts that delivered in the last 24 h; null without any. */
  latencyMs: {
    p50: number | null;
    p95: number | null;
  };
};

export type WebhookPausedEventData = {
  webhook: PausedWebhook;
  /** `gone`: the endpoint answered 410. `failing`: at least 10 failed attempts in a row over 5 days. */
  reason: 'gone' | 'failing';
};

/** Body of a delivery, signed after Standard Webhooks 1.0. */
export type WebhookPayload =
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.received';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.completed';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.unmatched';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.decision';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'payment.refunded';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: PaymentEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'checkout.paid';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: CheckoutEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'checkout.expired';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: CheckoutEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'wallet.gap';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: WalletGapEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'wallet.difference';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: WalletDifferenceEventData;
    }
  | {
      /** Id of the event. */
      id: string;
      type: 'webhook.paused';
      sequence: number | null;
      /** ISO 8601, UTC. */
      timestamp: string;
      data: WebhookPausedEventData;
    };

export type WebhookReplay = {
  /** How many deliveries will be sent (again). */
  replayed: number;
};

/** A PAUSED webhook's deliveries wait and go out when it is made ACTIVE again. */
export type WebhookStatus = 'ACTIVE' | 'PAUSED';

export type WebhookTestResult = {
  /** Null when no answer came. */
  responseStatus: number | null;
  durationMs: number;
  error: string | null;
};

/** The webhook with its signing `secret`, which is shown once: a replay (Idempotency-Key) leaves it out. */
export type WebhookWithSecret = {
  /** Id of the webhook. */
  id: string;
  name: string;
  url: string;
  status: WebhookStatus;
  /** First 6 and last 4 characters of the signing secret. */
  secretMasked: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  events: Array<EventType>;
  /** The signing secret, `whsec_` + base64. Returned in this answer only. */
  secret: string;
};

/** The procedures, by resource and name. */
export interface Procedures {
  account: {
    /** The caller's account. Returns the account that the API key belongs to. */
    get: Query<Record<string, never>, Account>;
    /** What is left until the account can be paid. Six steps, in this order, read from the account’s data and from the ledgers of its wallets; nothing is remembered. */
    readiness: Query<Record<string, never>, Array<ReadinessStep>>;
    /** Change the account. `brand` is what payers see on pages, receipts and posters: only the fields given change, and null removes one. A markup lowers the rates of the account from now on, so that prices in a currency ask for more of the asset. Its own rates stay as they are. With `booksCurrency` every later payment gets a `value` in it, by the newest rate when its ledger closed, without the markup. `tolerancePercent` is what new products and checkouts start with. `tipPercents` are the buttons of the point of sale. `embedOrigins` replaces the list; every OWNER is told. `onboarding` puts the dashboard’s list of first steps away. */
    update: Mutation<
      {
        brand?:
          | {
              /** Shown on payment pages, receipts and posters. */
              name?: string | null | undefined;
              /** https image; payers’ browsers load it from there. */
              logoUrl?: string | null | undefined;
              color?: string | null | undefined;
              supportUrl?: string | null | undefined;
              supportEmail?: string | null | undefined;
            }
          | undefined;
        /** `0` to `20`. */
        rateMarkupPercent?: string | undefined;
        booksCurrency?: string | null | undefined;
        /** `0` to `5`. */
        tolerancePercent?: string | undefined;
        /** Tips to choose from, at most 10, of the subtotal less the discount. */
        tipPercents?: Array<string> | undefined;
        /** At most 20 https origins whose pages may frame the payment pages of this account; no others may. */
        embedOrigins?: Array<string> | undefined;
        onboarding?: Onboarding | undefined;
      },
      Account
    >;
  };
  notifications: {
    /** E-mail notifications of the account. Returns the kinds of notifications, their recipients, and whether this service sends e-mail. */
    get: Query<Record<string, never>, Notifications>;
    /** Set the e-mail notifications. From now on every recipient gets an e-mail for each event of these kinds. Both lists are replaced; without recipients or kinds nothing is sent. `sending` in the answer says whether this service sends e-mail. */
    set: Mutation<
      {
        /** Addresses; duplicates count once. */
        recipients: Array<string>;
        kinds: Array<NotificationKind>;
      },
      Notifications
    >;
  };
  apiKeys: {
    /** Create an API key. The answer carries the full `key`, once. */
    create: Mutation<
      {
        /** Label. */
        name: string;
        scope?: ApiKeyScope | undefined;
        /** When the key stops working; in the future. Capped at the end of the key that creates it. */
        expiresAt?: string | null | undefined;
      },
      ApiKeyWithKey
    >;
    /** List API keys. Lists the keys of the account, newest first, expired ones included. The full keys are not returned. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
      },
      {
        items: Array<ApiKey>;
        meta: ListMeta;
      }
    >;
    /** Replace the key. The old key stops working at once; the answer carries the new `key`, once. It ends no later than the key that creates it. */
    rotate: Mutation<
      {
        /** Id of the API key. */
        id: string;
      },
      ApiKeyWithKey
    >;
    /** Revoke an API key. It gets 401 at once, in every process. The last FULL key cannot be revoked (409). */
    delete: Mutation<
      {
        /** Id of the API key. */
        id: string;
      },
      Deleted
    >;
  };
  users: {
    /** Invite a user. The answer carries a link, `url`, with which they sign in for the first time: once, within 72 h. */
    create: Mutation<
      {
        name: string;
        role: Role;
        email?: string | null | undefined;
        /** The language of the dashboard and of e-mails to them. Null or left out: as their browser prefers. */
        language?: Language | null | undefined;
      },
      InvitedUser
    >;
    /** List users. Lists users, newest first, invited ones too. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
      },
      {
        items: Array<User>;
        meta: ListMeta;
      }
    >;
    /** One user. Returns a user. */
    get: Query<
      {
        /** Id of the user. */
        id: string;
      },
      User
    >;
    /** Change a user. Their sessions end at once. The last OWNER keeps that role (409). */
    update: Mutation<
      {
        /** Id of the user. */
        id: string;
        name?: string | undefined;
        role?: Role | undefined;
        email?: string | null | undefined;
        /** The language of the dashboard and of e-mails to them. Null or left out: as their browser prefers. */
        language?: Language | null | undefined;
      },
      User
    >;
    /** Remove a user. Their sessions end at once, and their invitation no longer works. The last OWNER stays (409). */
    delete: Mutation<
      {
        /** Id of the user. */
        id: string;
      },
      Deleted
    >;
    /** Invite a user again. A link for one more passkey, for a user who lost theirs or has another device: once, within 72 h. Name, role and sales stay; an earlier invitation ends. Users may invite themselves, OWNERs anybody. A user has at most ten passkeys: the link adds no further one. */
    invite: Mutation<
      {
        /** Id of the user. */
        id: string;
      },
      Invitation
    >;
    /** A user's passkeys. Lists the passkeys, oldest first, at most ten: one’s own, or anybody’s for an OWNER. */
    passkeys: Query<
      {
        /** Id of the user. */
        id: string;
      },
      Array<Passkey>
    >;
    /** Remove a passkey. It signs in no more; the sessions of its user end at once, and so does an invitation that one of them made. One’s own, or anybody’s for an OWNER. The last passkey of the last OWNER who can sign in stays (409). */
    deletePasskey: Mutation<
      {
        /** Id of the user. */
        id: string;
        passkeyId: string;
      },
      Deleted
    >;
  };
  wallets: {
    /** Register a wallet. The address is watched from the first ledger that closes after this; history before it is never replayed. An address can be registered once per account and network (409). */
    create: Mutation<
      {
        /** Label. */
        name: string;
        address: AccountAddress;
        /** One of the networks that this service watches. */
        network: Network;
      },
      Wallet
    >;
    /** List wallets. Lists wallets, newest first, each with how far the ledger has been read for it. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        /** Substring, compared without case and marks, of the name, or the whole address. */
        search?: string | undefined;
      },
      {
        items: Array<Wallet>;
        meta: ListMeta;
      }
    >;
    /** One wallet. Returns a wallet, with how far the ledger has been read for it. */
    get: Query<
      {
        /** Id of the wallet. */
        id: string;
      },
      Wallet
    >;
    /** What a wallet holds and can receive. Asks the ledger now: lumens first, then its trustlines by code. Empty for an account that is not on the ledger. With only Stellar RPC servers: lumens, known assets and those of the wallet’s products. */
    assets: Query<
      {
        /** Id of the wallet. */
        id: string;
      },
      Array<WalletAsset>
    >;
    /** Rename a wallet, or stop and start watching it. Payments that came while a wallet was inactive are not recorded later. A wallet with an OPEN checkout cannot be made inactive (409). */
    update: Mutation<
      {
        /** Id of the wallet. */
        id: string;
        name?: string | undefined;
        active?: boolean | undefined;
      },
      Wallet
    >;
    /** Ledgers that a wallet missed. Newest first, mended ones too. A gap that goes on where an open one ends makes that one longer, without another event. A gap from before a reset of a test network cannot be mended. */
    gaps: Query<
      {
        /** Id of the wallet. */
        id: string;
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
      },
      {
        items: Array<Gap>;
        meta: ListMeta;
      }
    >;
    /** Read missed ledgers. Asks the configured sources, or the Horizon that you name, for the ledgers of every open gap, and records their payments: each matched and judged as of its ledger, with its events. Refused (409) while no source has them. What a named server shows is recorded for this wallet only. */
    mendGaps: Mutation<
      {
        /** Id of the wallet. */
        id: string;
        /** A Horizon of the wallet’s network: https, on a public address. */
        horizonUrl?: string | null | undefined;
      },
      MendedGaps
    >;
    /** Audits of a wallet. Newest first. The newest 100 are kept. */
    audits: Query<
      {
        /** Id of the wallet. */
        id: string;
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
      },
      {
        items: Array<Audit>;
        meta: ListMeta;
      }
    >;
    /** Audit a wallet. Compares the balances on the ledger with everything that moved them since the last audit, and records payments that were missed. It runs in the background: look at the list for its end. Refused (409) while one runs. */
    startAudit: Mutation<
      {
        /** Id of the wallet. */
        id: string;
      },
      Audit
    >;
    /** Statement of a wallet. The balances at `from`, every movement on the ledger, payments or not, and the balances at `to`. They are computed back from the current balances, so everything since `from` is read: at most 10,000 movements (409 beyond). In CSV the balances are rows of the kinds `opening` and `closing`. */
    statement: Query<
      {
        /** Id of the wallet. */
        id: string;
        /** Included, and not after now; the wallet’s creation without it. */
        from?: string | undefined;
        /** Not included; now without it. */
        to?: string | undefined;
        /** `csv` over REST only. */
        format?: 'json' | 'csv' | undefined;
        /** A name such as `Europe/Berlin`, `UTC`, or an offset such as `+05:30`: the zone of the times in CSV, and of dates in the query, which mean the beginning of their day. */
        timeZone?: string | undefined;
        /** Between the cells of CSV. */
        separator?: ',' | ';' | undefined;
        /** With `true` CSV begins with a byte order mark, by which spreadsheets know UTF-8. */
        bom?: boolean | undefined;
      },
      Statement
    >;
    /** Delete a wallet. Refused (409) while a product uses it, or when it has payments or checkouts, also ended ones: make it inactive instead. */
    delete: Mutation<
      {
        /** Id of the wallet. */
        id: string;
      },
      Deleted
    >;
  };
  products: {
    /** Create a product. Creates a product that is paid to one wallet, in one asset. A FIXED product has a price; a CUSTOM one lets the customer choose, from an optional minimum. */
    create: Mutation<
      {
        /** Display name. */
        name: string;
        /** Id of the wallet that receives the payments. */
        walletId: string;
        /** `XLM` for the native asset. */
        assetCode: string;
        priceType: PriceType;
        /** Required for FIXED, refused for CUSTOM. */
        price?: AmountInput | null | undefined;
        /** Optional for CUSTOM, refused for FIXED. */
        minAmount?: AmountInput | null | undefined;
        /** Price and minimum are in it, with at most its decimals; they are paid in the asset. */
        currency?: string | null | undefined;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        /** What comes within it is enough (`within_tolerance`): `0` to `5`, at most 2 decimals. The account’s when left out of a creation. */
        tolerancePercent?: string | undefined;
        description?: string | null | undefined;
        /** https URL. */
        imageUrl?: string | null | undefined;
        /** Pieces that are left, 0 to 1,000,000; null for no limit. A checkout for more is refused (409), and one that is not paid gives its pieces back. Not for a product with payment links (409). */
        stock?: number | null | undefined;
        active?: boolean | undefined;
      },
      Product
    >;
    /** List products. Lists products, newest first unless sorted otherwise. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        active?: boolean | undefined;
        /** Substring, compared without case and marks, of the name. */
        search?: string | undefined;
        sortBy?: 'createdAt' | 'name' | undefined;
        sortOrder?: 'asc' | 'desc' | undefined;
      },
      {
        items: Array<Product>;
        meta: ListMeta;
      }
    >;
    /** One product. Returns a product by its id. */
    get: Query<
      {
        /** Id of the product. */
        id: string;
      },
      Product
    >;
    /** Change a product. The product with the changes merged in must be valid. Null clears a field. New terms count from the first ledger that closes after the change; payments before it are judged by the old ones. */
    update: Mutation<
      {
        /** Id of the product. */
        id: string;
        /** Display name. */
        name?: string | undefined;
        /** Id of the wallet that receives the payments. */
        walletId?: string | undefined;
        /** `XLM` for the native asset. */
        assetCode?: string | undefined;
        priceType?: PriceType | undefined;
        /** Required for FIXED, refused for CUSTOM. */
        price?: AmountInput | null | undefined;
        /** Optional for CUSTOM, refused for FIXED. */
        minAmount?: AmountInput | null | undefined;
        /** Price and minimum are in it, with at most its decimals; they are paid in the asset. */
        currency?: string | null | undefined;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        /** What comes within it is enough (`within_tolerance`): `0` to `5`, at most 2 decimals. The account’s when left out of a creation. */
        tolerancePercent?: string | undefined;
        description?: string | null | undefined;
        /** https URL. */
        imageUrl?: string | null | undefined;
        /** Pieces that are left, 0 to 1,000,000; null for no limit. A checkout for more is refused (409), and one that is not paid gives its pieces back. Not for a product with payment links (409). */
        stock?: number | null | undefined;
        active?: boolean | undefined;
        /** Adds to the stock, or takes from it. Refused (409) beyond 0 or 1,000,000, and without a stock. */
        stockChange?: string | undefined;
      },
      Product
    >;
    /** Delete a product, its payment links and its checkouts. Refused (409) when it has payments: make it inactive instead. Its checkouts are deleted with it, OPEN ones too, without an event. */
    delete: Mutation<
      {
        /** Id of the product. */
        id: string;
      },
      Deleted
    >;
  };
  paymentLinks: {
    /** Create a payment link. Creates an active link with a memo, a slug and a hosted page of its own. With `order` it is an order link, whose page asks each payer and makes a checkout for him; a product with a stock needs one. */
    create: Mutation<
      {
        /** Id of the product to pay for. */
        productId: string;
        /** Your name for the link; payers do not see it. */
        name?: string | null | undefined;
        /** Makes it an order link: each payer fills in this form and gets a checkout of his own. What is paid to the link’s own memo is REJECTED, `order_needed`. Null: a plain link. */
        order?: OrderFormInput | null | undefined;
        /** What closes at or after it is REJECTED, `link_ended`, and no order is made any more. */
        endsAt?: string | null | undefined;
        /** Shown while the link takes no payments. */
        inactiveText?: string | null | undefined;
        afterPayment?:
          | {
              /** Shown once it is paid. */
              message?: string | null | undefined;
              /** Where the page leads then: https, or http on localhost. `payment=<id>` is added to its query, and `checkout=<id>` for an order. That is no proof of payment. */
              url?: string | null | undefined;
            }
          | null
          | undefined;
        /** The page stops asking once so many payments are COMPLETED. Of an order link, so many checkouts at most are OPEN or PAID. A plain link cannot reserve: what still comes is judged as ever. */
        maxPayments?: number | null | undefined;
      },
      PaymentLink
    >;
    /** List payment links. Lists links, newest first. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        productId?: string | undefined;
        active?: boolean | undefined;
        /** Substring, compared without case and marks, of the link’s name, the product’s name, the memo or the slug; or several words, each of them in the link’s name, memo or slug; or the beginning of the id. 400 when more than 50,000 products have it in their name. */
        search?: string | undefined;
      },
      {
        items: Array<PaymentLink>;
        meta: ListMeta;
      }
    >;
    /** One payment link. Returns a link by its id. */
    get: Query<
      {
        /** Id of the payment link. */
        id: string;
      },
      PaymentLink
    >;
    /** How to pay a payment link. Address, memo, amount, payment request and QR code, for a page or receipt of your own. `amount` is the price of a FIXED product, or the one asked for with `?amount=`. Refused (409) while the link, its product or its wallet is inactive, once the link has ended, and for an order link. */
    instructions: Query<
      {
        /** Id of the payment link. */
        id: string;
        /** Amount that the payer has chosen. Only for a CUSTOM product, and at least its minimum. */
        amount?: string | undefined;
      },
      Instructions
    >;
    /** Change a payment link. Changes the given fields; null removes one. An inactive link rejects payments from the next ledger on; its page says that payments are not accepted. `order` replaces the whole form. Checkouts that were made stay as they are. Setting the current state changes nothing. Refused (409) after 1,000 changes of `active`, `endsAt` and of whether it is an order link. */
    update: Mutation<
      {
        /** Id of the payment link. */
        id: string;
        active?: boolean | undefined;
        /** Your name for the link; payers do not see it. */
        name?: string | null | undefined;
        /** Makes it an order link: each payer fills in this form and gets a checkout of his own. What is paid to the link’s own memo is REJECTED, `order_needed`. Null: a plain link. */
        order?: OrderFormInput | null | undefined;
        /** What closes at or after it is REJECTED, `link_ended`, and no order is made any more. */
        endsAt?: string | null | undefined;
        /** Shown while the link takes no payments. */
        inactiveText?: string | null | undefined;
        afterPayment?:
          | {
              /** Shown once it is paid. */
              message?: string | null | undefined;
              /** Where the page leads then: https, or http on localhost. `payment=<id>` is added to its query, and `checkout=<id>` for an order. That is no proof of payment. */
              url?: string | null | undefined;
            }
          | null
          | undefined;
        /** The page stops asking once so many payments are COMPLETED. Of an order link, so many checkouts at most are OPEN or PAID. A plain link cannot reserve: what still comes is judged as ever. */
        maxPayments?: number | null | undefined;
      },
      PaymentLink
    >;
    /** Delete a payment link. Refused (409) when it has payments or orders: make it inactive instead. */
    delete: Mutation<
      {
        /** Id of the payment link. */
        id: string;
      },
      Deleted
    >;
  };
  coupons: {
    /** Create a coupon. A code that a new checkout takes as `couponCode`: a percentage or an amount off its lines, perhaps of some products only. Refused (409) when the account has a coupon with this code. */
    create: Mutation<
      {
        /** Once in an account, compared without case. */
        code: string;
        /** Share of the lines that it takes from. Either this or `amountOff`. */
        percentOff?: string | null | undefined;
        /** At most the sum of the lines that it takes from. */
        amountOff?: AmountInput | null | undefined;
        /** What `amountOff` is in: this, or an asset. */
        currency?: string | null | undefined;
        assetCode?: string | null | undefined;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        /** Products that it takes from, at most 100; all lines when left out. */
        productIds?: Array<string> | null | undefined;
        minSubtotal?: AmountInput | null | undefined;
        startsAt?: string | null | undefined;
        endsAt?: string | null | undefined;
        /** Never exceeded, whatever comes at once. */
        maxRedemptions?: number | null | undefined;
        active?: boolean | undefined;
      },
      Coupon
    >;
    /** List coupons. Lists coupons, newest first. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        active?: boolean | undefined;
        /** Exactly this code, compared without case. */
        code?: string | undefined;
      },
      {
        items: Array<Coupon>;
        meta: ListMeta;
      }
    >;
    /** One coupon. Returns a coupon by its id. */
    get: Query<
      {
        /** Id of the coupon. */
        id: string;
      },
      Coupon
    >;
    /** Change a coupon. The coupon with the changes merged in must be valid; null clears a field. Checkouts that were made with it keep their discount. Refused (409) for a code that another coupon has, and for fewer redemptions than there are. */
    update: Mutation<
      {
        /** Id of the coupon. */
        id: string;
        /** Once in an account, compared without case. */
        code?: string | undefined;
        /** Share of the lines that it takes from. Either this or `amountOff`. */
        percentOff?: string | null | undefined;
        /** At most the sum of the lines that it takes from. */
        amountOff?: AmountInput | null | undefined;
        /** What `amountOff` is in: this, or an asset. */
        currency?: string | null | undefined;
        assetCode?: string | null | undefined;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        /** Products that it takes from, at most 100; all lines when left out. */
        productIds?: Array<string> | null | undefined;
        minSubtotal?: AmountInput | null | undefined;
        startsAt?: string | null | undefined;
        endsAt?: string | null | undefined;
        /** Never exceeded, whatever comes at once. */
        maxRedemptions?: number | null | undefined;
        active?: boolean | undefined;
      },
      Coupon
    >;
    /** Delete a coupon. Refused (409) when it has redemptions: make it inactive instead. */
    delete: Mutation<
      {
        /** Id of the coupon. */
        id: string;
      },
      Deleted
    >;
  };
  checkouts: {
    /** Create a checkout. For one order: from a product (`productId`, with `quantity` for a FIXED or `amount` for a CUSTOM one), without (`walletId`, `name`, `assetCode`, `assetIssuer`, and `amount` or `currency` and `price`), or of several `lines` (with `walletId`, `assetCode`, `assetIssuer`, `currency`). Discount and tip fit each of them. Its terms are frozen. Send the payer to `url`. Refused (409) while the product or wallet is inactive, and in a currency without a fresh rate. */
    create: Mutation<
      {
        productId?: string | null | undefined;
        /** How many of a FIXED product, 1 to 10,000; 1 when left out. */
        quantity?: number | null | undefined;
        /** Required for a CUSTOM product and without a product; refused for a FIXED product. */
        amount?: AmountInput | undefined;
        /** With `walletId` and `price`: what the price is in. */
        currency?: string | null | undefined;
        /** In a currency, in place of `amount`: with `walletId` in the one that `currency` names, or of a CUSTOM product that is priced in one. */
        price?: AmountInput | null | undefined;
        walletId?: string | null | undefined;
        /** What the payer buys. Required with `walletId`; with `lines` their names when left out. */
        name?: string | undefined;
        description?: string | null | undefined;
        /** `XLM` for the native asset. */
        assetCode?: string | undefined;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        /** With `walletId` and `assetCode`, in place of `name` with `amount` or `price`: 1 to 50 lines, each of a FIXED product (of that wallet, asset and currency) or with a name and a price. */
        lines?:
          | Array<{
              productId?: string | null | undefined;
              /** Required without a product. */
              name?: string | null | undefined;
              /** The price for one. Required without a product. */
              price?: AmountInput | null | undefined;
              /** 1 to 10,000; 1 when left out. */
              quantity?: number | null | undefined;
              /** Tax of this line, `0` to `100` with at most 3 decimals. */
              taxPercent?: string | null | undefined;
            }>
          | null
          | undefined;
        /** Whether the prices contain the tax; true when left out. Otherwise it is added to them. */
        taxIncluded?: boolean | null | undefined;
        /** By `percent` of the sum of lines or an `amount`, at most that sum. It is spread over the lines by their totals, before tax. */
        discount?:
          | {
              name?: string | null | undefined;
              percent?: string | null | undefined;
              amount?: AmountInput | null | undefined;
            }
          | null
          | undefined;
        /** Added to the total, without tax. */
        tip?: string | null | undefined;
        /** Code of a coupon, in place of `discount`. One that gives nothing to this order is refused (422) here, with the reason. */
        couponCode?: string | null | undefined;
        /** `0` to `5`, at most 2 decimals: the checkout is PAID once what counts reaches `total` less this percentage, rounded up. Its product’s when left out, else the account’s. */
        tolerancePercent?: string | null | undefined;
        /** Your name for the order. Need not be unique. */
        reference?: string | null | undefined;
        /** At most 20 entries; keys `[A-Za-z0-9_.-]{1,40}`, values strings of at most 500 characters. */
        metadata?: Record<string, string> | undefined;
        /** The payer’s address. Once the checkout is PAID it gets a receipt, unless this service sends no e-mail (`sending` of `GET /account/notifications`). */
        customerEmail?: string | null | undefined;
        /** Language of the receipt; English when left out. */
        language?: Language | null | undefined;
        /** Where the page leads after payment: https, or http on localhost. `checkout=<id>` is added to its query. That is no proof of payment: ask the API, or wait for the webhook. */
        successUrl?: string | null | undefined;
        /** Where the page leads a payer who does not want to pay. */
        cancelUrl?: string | null | undefined;
        /** 1 minute to 90 days ahead; 24 hours when left out. */
        expiresAt?: string | undefined;
      },
      Checkout
    >;
    /** List checkouts. Lists checkouts, newest first. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        status?: CheckoutStatus | undefined;
        /** Exactly this reference. */
        reference?: string | undefined;
        /** Words, compared without case and marks: each begins a word of the reference, the memo, the name, the customer’s e-mail address, an answer to an order link or a metadata value, or begins the id. */
        search?: string | undefined;
        productId?: string | undefined;
        walletId?: string | undefined;
        /** Made at or after: ISO 8601 with an offset, or a date (midnight UTC). */
        createdFrom?: string | undefined;
        /** Made before. */
        createdTo?: string | undefined;
      },
      {
        items: Array<Checkout>;
        meta: ListMeta;
      }
    >;
    /** One checkout. Returns a checkout with its status and the received amount. */
    get: Query<
      {
        /** Id of the checkout. */
        id: string;
      },
      Checkout
    >;
    /** How to pay a checkout. Address, memo, payment request and QR code for a page or receipt of your own; `amount` is what remains. Refused (409) unless the checkout is OPEN and before its end. */
    instructions: Query<
      {
        /** Id of the checkout. */
        id: string;
      },
      Instructions
    >;
    /** Cancel a checkout. An OPEN checkout becomes CANCELLED; cancelling it again changes nothing. A payment that closed before the cancellation counts even when it is read after it, and may make the checkout PAID. */
    cancel: Mutation<
      {
        /** Id of the checkout. */
        id: string;
      },
      Checkout
    >;
    /** Accept a checkout as paid. When money in the right asset has come, too little or after the end: the checkout becomes PAID with it, and those payments COMPLETED. Refused (409) when it is already PAID, or when no such money has come. */
    accept: Mutation<
      {
        /** Id of the checkout. */
        id: string;
      },
      Checkout
    >;
  };
  payments: {
    /** List payments. Newest first. Unmatched payments are listed only when asked for with `status=UNMATCHED` or `needsDecision=true`. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        /** Repeatable. */
        status?: Array<PaymentStatus> | undefined;
        /** With `true` only payments that need a decision, in any status. */
        needsDecision?: boolean | undefined;
        /** Words, compared without case and marks: each begins a word of the memo, of the name of its link, product or checkout, of the reference, the customer’s e-mail address or a metadata value, or begins the transaction hash or the id. */
        search?: string | undefined;
        productId?: string | undefined;
        paymentLinkId?: string | undefined;
        checkoutId?: string | undefined;
        walletId?: string | undefined;
        assetCode?: string | undefined;
        senderAddress?: string | undefined;
        transactionHash?: string | undefined;
        /** Made at or after: ISO 8601 with an offset, or a date (midnight UTC). */
        createdFrom?: string | undefined;
        /** Made before. */
        createdTo?: string | undefined;
      },
      {
        items: Array<Payment>;
        meta: ListMeta;
      }
    >;
    /** One payment. Returns a payment by its id, matched or not. */
    get: Query<
      {
        /** Id of the payment. */
        id: string;
      },
      Payment
    >;
    /** Accept an UNDERPAID or REJECTED payment. It becomes COMPLETED and `payment.completed` fires. Refused (409) for a payment of a checkout: accept the checkout. One that closed after the end of a PAID checkout is accepted by itself. */
    accept: Mutation<
      {
        /** Id of the payment. */
        id: string;
      },
      Payment
    >;
    /** Assign an UNMATCHED payment to a link or checkout. It is judged by the terms of when its ledger closed, for a checkout with what is due now, and its events fire. Give exactly one of `paymentLinkId` and `checkoutId`. */
    assign: Mutation<
      {
        /** Id of the payment. */
        id: string;
        paymentLinkId?: string | null | undefined;
        checkoutId?: string | null | undefined;
      },
      Payment
    >;
    /** Dismiss a payment. It keeps its status and needs no decision any more, until it is assigned. Dismissing it again changes nothing. Refused (409) when no decision is needed. */
    dismiss: Mutation<
      {
        /** Id of the payment. */
        id: string;
        /** Shown as `decisionNote`. */
        note?: string | null | undefined;
      },
      Payment
    >;
    /** A wallet request that refunds the payment. The service holds no keys: open `uri` in the wallet that received the payment. The amount is what was not sent back yet, or `amount` of it; 409 once all was sent back. An overpaid payment also offers its excess. With `value` the amount is that much of the currency at the current rate, for a payment that has a `value`; 409 without a fresh rate. More than what is left is 400. */
    refund: Query<
      {
        /** Id of the payment. */
        id: string;
        /** A part of what is left. */
        amount?: AmountInput | undefined;
        /** The same in the currency of the payment’s `value`; one of the two at most. */
        value?: AmountInput | undefined;
      },
      Refund
    >;
    /** A proof of the payment that anybody checks offline. Proves to anybody, without asking anyone, that the payment is in the network’s ledger: `stellar-payment-proof verify`, or the page `/proof`, checks it. It is made when it is first asked for, which takes seconds; with the validators’ signatures (`level=signed`) once the ledgers up to the end of the payment’s checkpoint are archived, on a public network within some 6 minutes. Once READY it stays. */
    proof: Query<
      {
        /** Id of the payment. */
        id: string;
        /** Default `signed` where the network has a history archive, else `ledger`. */
        level?: ProofLevel | undefined;
        /** Sends the bundle alone, as a file; 409 unless it is READY. */
        format?: 'file' | undefined;
      },
      PaymentProof
    >;
    /** Book a refund by its transaction. For a refund that was sent without the memo `refund <memo>`; one with it is booked automatically. The transaction must hold a payment from a wallet of the account to the sender, in the same asset and after the payment (409 otherwise, and when it is booked for another payment). Repeating the call changes nothing. */
    addRefund: Mutation<
      {
        /** Id of the payment. */
        id: string;
        transactionHash: string;
      },
      Payment
    >;
  };
  rates: {
    /** List rates. The rates that the account uses: those of its products and open checkouts that are priced in a currency, those for its books, and those that it set itself. */
    list: Query<Record<string, never>, Rates>;
    /** Set a rate of your own. It replaces the rates of the sources from now on, until `expiresAt` or until it is ended. It does not get stale, and the markup does not lower it. */
    set: Mutation<
      {
        /** ISO 4217 code of a currency. */
        currency: string;
        /** `XLM` for the native asset. */
        assetCode: string;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        network: Network;
        /** What one unit of the asset is worth: at most 12 significant digits. */
        rate: string;
        /** Without it, the rate holds until it is ended. */
        expiresAt?: string | null | undefined;
      },
      Rate
    >;
    /** End a rate of your own. From now on the rates of the sources apply. Earlier payments are judged by the rate of their time. */
    delete: Mutation<
      {
        /** ISO 4217 code of a currency. */
        currency: string;
        /** `XLM` for the native asset. */
        assetCode: string;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        network: Network;
      },
      RateDeleted
    >;
    /** Convert a price to an asset. Returns the amount that is asked now for a price. Refused (409) without a fresh rate. */
    quote: Query<
      {
        price: AmountInput;
        /** ISO 4217 code of a currency. */
        currency: string;
        /** `XLM` for the native asset. */
        assetCode: string;
        /** Required for every asset but XLM, refused for XLM. */
        assetIssuer?: AccountAddress | null | undefined;
        network: Network;
      },
      Quote
    >;
  };
  events: {
    /** List events. Newest first. For a consumer that polls instead of using webhooks: `after` answers the events after that `sequence`, oldest first, with `meta` `{after, hasMore}`; with `wait` it answers as soon as there is one. */
    list: Query<
      {
        /** Page, from 1; 1 by default. Not with `after`. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        type?: EventType | undefined;
        paymentId?: string | undefined;
        /** Made at or after: ISO 8601 with an offset, or a date (midnight UTC). Not with `after`. */
        createdFrom?: string | undefined;
        /** Made before. Not with `after`. */
        createdTo?: string | undefined;
        /** `desc` by default. Not with `after`. */
        order?: 'asc' | 'desc' | undefined;
        /** Answers the events after this `sequence`, oldest first; 0 begins with the first event. */
        after?: number | undefined;
        /** With `after`: for how many seconds to wait until there is an event that fits. */
        wait?: number | undefined;
      },
      {
        items: Array<Event>;
        meta: ListMeta & Partial<EventsAfterMeta>;
      }
    >;
    /** Follow events. A stream of server-sent events: `id` is the `sequence`, `event` the type, `data` the body that webhooks get. Without `after` it begins now. After a break, `Last-Event-ID` (which wins over `after`) continues without a hole. Comments come at least every 30 s. The stream ends when its API key does. Over tRPC it is a subscription. */
    stream: Subscription<
      {
        /** Begins after the event with this `sequence`. */
        after?: number | undefined;
        /** The same; wins over `after`. Also as header `Last-Event-ID`, which wins over both. */
        lastEventId?: string | undefined;
      },
      WebhookPayload
    >;
    /** One event. Returns an event with the resources as they were when it happened. */
    get: Query<
      {
        /** Id of the event. */
        id: string;
      },
      Event
    >;
  };
  webhooks: {
    /** Create a webhook. The answer carries the signing `secret`, once. */
    create: Mutation<
      {
        /** Label. */
        name: string;
        /** https endpoint to deliver to. */
        url: string;
        /** Event kinds to deliver. */
        events: Array<EventType>;
      },
      WebhookWithSecret
    >;
    /** List webhooks. Lists webhooks, newest first. Signing secrets are masked. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
      },
      {
        items: Array<Webhook>;
        meta: ListMeta;
      }
    >;
    /** One webhook. Returns a webhook. Its signing secret is masked. */
    get: Query<
      {
        /** Id of the webhook. */
        id: string;
      },
      Webhook
    >;
    /** Change a webhook. A webhook made ACTIVE again gets all deliveries that waited for it. A PAUSED one gets none until then. */
    update: Mutation<
      {
        /** Id of the webhook. */
        id: string;
        /** Label. */
        name?: string | undefined;
        /** https endpoint to deliver to. */
        url?: string | undefined;
        /** Event kinds to deliver. */
        events?: Array<EventType> | undefined;
        status?: WebhookStatus | undefined;
      },
      Webhook
    >;
    /** Delete a webhook. Its pending deliveries are cancelled; all stay readable by id. */
    delete: Mutation<
      {
        /** Id of the webhook. */
        id: string;
      },
      Deleted
    >;
    /** List a webhook's deliveries. Lists deliveries to the webhook, newest first, each with its latest attempts. */
    deliveries: Query<
      {
        /** Id of the webhook. */
        id: string;
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        status?: DeliveryStatus | undefined;
      },
      {
        items: Array<Delivery>;
        meta: ListMeta;
      }
    >;
    /** A webhook's health. Whether deliveries arrive, how many wait, and how fast the endpoint answers. */
    health: Query<
      {
        /** Id of the webhook. */
        id: string;
      },
      WebhookHealth
    >;
    /** Send events again. Sends failed deliveries again, or all events of a period that the webhook subscribes to, also from before it existed. Fresh events go first. Pending deliveries are not touched and not counted. For a PAUSED webhook the replay waits. 409 while a large replay of the webhook that was asked for before is still being prepared. */
    replay: Mutation<
      {
        /** Id of the webhook. */
        id: string;
        /** Events made at or after. */
        from?: string | undefined;
        /** Events made before. */
        to?: string | undefined;
        /** FAILED: deliveries that were given up, again. ALL: a new delivery of every event. */
        status?: 'FAILED' | 'ALL' | undefined;
        /** Only events of these kinds. */
        types?: Array<EventType> | undefined;
      },
      WebhookReplay
    >;
    /** Send a signed sample event now. A sample `payment.completed`; works while PAUSED, makes no delivery. */
    test: Mutation<
      {
        /** Id of the webhook. */
        id: string;
      },
      WebhookTestResult
    >;
    /** Replace the signing secret. The answer carries the new `secret`, once. For 24 h deliveries carry signatures of both; at most 20 secrets are valid at once. */
    rotateSecret: Mutation<
      {
        /** Id of the webhook. */
        id: string;
      },
      WebhookWithSecret
    >;
    /** End older signing secrets. Ends the overlap of rotations at once: only the newest secret signs. For a secret that leaked. It succeeds also when there is no older secret. */
    deletePreviousSecret: Mutation<
      {
        /** Id of the webhook. */
        id: string;
      },
      Deleted
    >;
  };
  deliveries: {
    /** One delivery. Returns a delivery with its latest 50 attempts. */
    get: Query<
      {
        /** Id of the delivery. */
        id: string;
      },
      Delivery
    >;
    /** Send a delivery again. The same delivery, with the same event id; its attempts go on counting. */
    redeliver: Mutation<
      {
        /** Id of the delivery. */
        id: string;
      },
      Delivery
    >;
  };
  reports: {
    /** Sums of payments. Counts and exact sums of the payments whose ledger closed from `from` until before `to`. Each row is of one asset: different assets are never added up. Unmatched payments are counted only when asked for with `status=UNMATCHED`. Rows are in the order of their keys; more than 10,000, or so many payments that they are not added up in 30 s, are refused (400). */
    summary: Query<
      {
        /** ISO 8601 with an offset, or a date: the beginning of that day in `timezone`, which is its first midnight. */
        from?: string | undefined;
        /** ISO 8601 with an offset, or a date: the beginning of that day in `timezone`, which is its first midnight. */
        to?: string | undefined;
        groupBy?: 'day' | 'month' | 'product' | 'paymentLink' | 'asset' | 'status' | undefined;
        /** Where days and months begin: a name such as `Europe/Berlin`, `UTC`, or an offset of at most 14 h such as `+05:30`. */
        timezone?: string | undefined;
        /** Repeatable. */
        status?: Array<PaymentStatus> | undefined;
        /** With `true` the parts of PAID checkouts as well, in any `status`: with `status=COMPLETED` all that was received. */
        parts?: boolean | undefined;
        /** Adds up values in this currency as well. */
        currency?: string | undefined;
        /** With `true` the taxes of PAID checkouts as well, by when they were paid, whatever `status` says. Only by day or month. */
        taxes?: boolean | undefined;
      },
      Summary
    >;
  };
  activity: {
    /** List activity. Changes and their actors, newest first. Each entry is written in the transaction of its change, so there is none without the other. Nothing changes or removes an entry, not even `RETENTION_DAYS`. READ keys get 403. */
    list: Query<
      {
        /** Page, from 1. */
        page?: number | undefined;
        /** Items per page, at most 100. */
        pageSize?: number | undefined;
        /** A user or API key; `cli`; `system`. */
        actorId?: string | undefined;
        /** An `operationId`, such as `products_update`. */
        operation?: string | undefined;
        /** Changed resource, by id. */
        subjectId?: string | undefined;
        /** At or after: ISO 8601 with an offset, or a date (midnight UTC). */
        createdFrom?: string | undefined;
        /** Before. */
        createdTo?: string | undefined;
      },
      {
        items: Array<Activity>;
        meta: ListMeta;
      }
    >;
  };
}
