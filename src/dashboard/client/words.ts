/** States and reasons in a merchant's words. The types require a word for every value of the contract. */
import type { EventType } from '../../../contracts/event-kinds.js';
import type { Language } from '../../../contracts/languages.js';
import type { Network } from '../../../contracts/networks.js';
import type { NoticeKind } from '../../../contracts/notifications.js';
import type { PaymentReason, PaymentStatus } from '../../../contracts/payments.js';
import type { MovementKind } from '../../../contracts/statements.js';
import type { Item, Output, WriteName } from './api.js';

type Tone = 'good' | 'caution' | 'bad' | 'quiet';
export interface Word {
  label: string;
  tone: Tone;
}

export const PAYMENT_STATUS: Record<PaymentStatus, Word> = {
  COMPLETED: { label: 'Completed', tone: 'good' },
  UNDERPAID: { label: 'Underpaid', tone: 'caution' },
  REJECTED: { label: 'Rejected', tone: 'bad' },
  UNMATCHED: { label: 'Unmatched', tone: 'quiet' },
};

export const PAYMENT_REASON: Record<PaymentReason, { label: string; sentence: string }> = {
  overpaid: { label: 'overpaid', sentence: 'More was paid than the price.' },
  within_tolerance: {
    label: 'within tolerance',
    sentence: 'A little less was paid than the price, within the tolerance.',
  },
  below_price: { label: 'below the price', sentence: 'Less was paid than the price.' },
  below_minimum: { label: 'below the minimum', sentence: 'Less was paid than the product’s minimum.' },
  no_rate: {
    label: 'no rate',
    sentence: 'No exchange rate is known for the time of the payment. Accept it to count it as paid in full.',
  },
  partial: {
    label: 'a part',
    sentence: 'A partial payment of a checkout. Parts add up until the checkout is paid.',
  },
  link_inactive: { label: 'link was off', sentence: 'The payment link was switched off.' },
  product_inactive: { label: 'product was off', sentence: 'The product was switched off.' },
  wrong_asset: { label: 'wrong asset', sentence: 'It was paid in a different asset than the one asked for.' },
  checkout_cancelled: { label: 'checkout was cancelled', sentence: 'The checkout had been cancelled.' },
  checkout_expired: { label: 'checkout had ended', sentence: 'It came after the checkout had ended.' },
  checkout_paid: { label: 'checkout was paid', sentence: 'The checkout was already paid.' },
  no_memo: { label: 'no memo', sentence: 'It carries no memo, so it names no link or checkout.' },
  unknown_memo: { label: 'unknown memo', sentence: 'Its memo names no link or checkout of yours.' },
  unsupported_memo: { label: 'unusable memo', sentence: 'Its kind of memo cannot name a link or checkout.' },
};

export const CHECKOUT_STATUS: Record<Item<'checkouts.list'>['status'], Word> = {
  OPEN: { label: 'Open', tone: 'quiet' },
  PAID: { label: 'Paid', tone: 'good' },
  EXPIRED: { label: 'Expired', tone: 'quiet' },
  CANCELLED: { label: 'Cancelled', tone: 'quiet' },
};

const NETWORK: Record<Network, string> = {
  PUBLIC: 'Stellar, real money',
  TESTNET: 'Test network, no real money',
  LOCAL: 'This machine, no real money',
};

/** Options for forms. */
export const networkOptions = (networks: readonly Network[]) =>
  networks.map((network) => [network, NETWORK[network]] as const);

type Sync = Item<'wallets.list'>['sync'];

const SYNC_STATE: Record<Sync['state'], Word & { sentence: string }> = {
  OK: { label: 'Up to date', tone: 'good', sentence: 'Every payment up to now has been read.' },
  SYNCING: { label: 'Starting', tone: 'quiet', sentence: 'The ledger is being read for the first time.' },
  LAGGING: {
    label: 'Behind',
    tone: 'caution',
    sentence:
      'The ledger cannot be read at the moment. Nothing is lost: reading continues as soon as it can be read again.',
  },
  GAP: {
    label: 'Gap',
    tone: 'bad',
    sentence:
      'Some ledgers were missed, and no ledger server has them any more: look for payments of that time yourself.',
  },
};

const PARKED = {
  label: 'Records wait',
  tone: 'caution',
  sentence:
    'Ledger records that may be payments cannot be read yet. They are retried automatically; orders that they may have paid stay open until then, or until the operator dismisses them.',
} as const;

export function syncShown({ state, reason, parked }: Sync): Word & { sentence: string } {
  if (state === 'OK' && parked > 0) return PARKED;
  return reason === null
    ? SYNC_STATE[state]
    : { label: 'Not read', tone: 'caution', sentence: `Payments cannot be seen: ${reason}.` };
}

export const AUDIT_STATUS: Record<Item<'wallets.audits'>['status'], Word> = {
  RUNNING: { label: 'Running', tone: 'quiet' },
  PROVEN: { label: 'Proven', tone: 'good' },
  DIFFERENT: { label: 'Different', tone: 'bad' },
  FAILED: { label: 'Failed', tone: 'caution' },
};

export const DELIVERY_STATUS: Record<Item<'webhooks.deliveries'>['status'], Word> = {
  PENDING: { label: 'Waiting', tone: 'quiet' },
  DELIVERED: { label: 'Delivered', tone: 'good' },
  FAILED: { label: 'Failed', tone: 'bad' },
  CANCELLED: { label: 'Cancelled', tone: 'quiet' },
};

export const WEBHOOK_STATUS: Record<Item<'webhooks.list'>['status'], Word> = {
  ACTIVE: { label: 'Active', tone: 'good' },
  PAUSED: { label: 'Paused', tone: 'caution' },
};

export const WEBHOOK_HEALTH: Record<Output<'webhooks.health'>['state'], Word & { sentence: string }> = {
  HEALTHY: { label: 'Healthy', tone: 'good', sentence: 'Deliveries arrive.' },
  FAILING: {
    label: 'Failing',
    tone: 'bad',
    sentence: 'No delivery has arrived since the last failure. Deliveries are retried.',
  },
  PAUSED: { label: 'Paused', tone: 'caution', sentence: 'Deliveries wait until it is switched on.' },
  IDLE: { label: 'Idle', tone: 'quiet', sentence: 'Nothing was delivered in the last 24 hours.' },
};

export const MOVEMENT_KIND: Record<MovementKind, string> = {
  received: 'Received',
  sent: 'Sent',
  fee: 'Fee',
  traded: 'Traded',
  other: 'Other',
};

export const EVENT_TYPE: Record<EventType, string> = {
  'payment.received': 'A payment arrived for a link or checkout, in any status',
  'payment.completed': 'A payment was completed',
  'payment.unmatched': 'A payment arrived that belongs to no link or checkout',
  'payment.decision': 'A payment needs a decision',
  'payment.refunded': 'A payment was sent back, in full or in part',
  'checkout.paid': 'A checkout was paid',
  'checkout.expired': 'A checkout ended without being paid',
  'wallet.gap': 'Ledgers of a wallet were missed',
  'wallet.difference': 'A balance does not match the movements on the ledger',
  'webhook.paused': 'Another webhook was paused automatically',
};
export const EVENT_TYPES = Object.keys(EVENT_TYPE) as EventType[];

export const NOTICE: Record<NoticeKind, { label: string; hint: string }> = {
  'payment.completed': { label: 'A payment is complete', hint: 'One for each order or link that is paid.' },
  'payment.unmatched': {
    label: 'A payment belongs to no order',
    hint: 'The memo is missing or mistyped. You can assign the payment.',
  },
  'payment.decision': {
    label: 'A payment needs a decision',
    hint: 'It paid too little, came too late or twice, or belongs to no order.',
  },
  'webhook.failing': {
    label: 'Your shop system does not answer',
    hint: 'A webhook keeps failing. Sent once until it works again.',
  },
  'wallet.gap': { label: 'Payments to a wallet may be missing', hint: 'A part of the ledger could not be read.' },
  'wallet.difference': {
    label: 'The balance of a wallet is not explained',
    hint: 'An audit found a balance that its movements do not explain.',
  },
};

/** The subject of an e-mail, by its kind. */
export const mailWord = (kind: string): string =>
  kind === 'receipt'
    ? 'Receipt for a customer'
    : kind === 'security'
      ? 'Notice of a change, to an owner'
      : (NOTICE[kind as NoticeKind]?.label ?? kind);

/** Languages of receipts. */
export const LANGUAGE: Record<Language, string> = {
  en: 'English',
  de: 'German',
  es: 'Spanish',
  fr: 'French',
  it: 'Italian',
  nl: 'Dutch',
  pl: 'Polish',
  pt: 'Portuguese',
  tr: 'Turkish',
  id: 'Indonesian',
  ja: 'Japanese',
  zh: 'Chinese',
  ar: 'Arabic',
};

export const ROLE: Record<Item<'users.list'>['role'], { label: string; sentence: string }> = {
  OWNER: { label: 'Owner', sentence: 'Can see and change everything.' },
  MANAGER: { label: 'Manager', sentence: 'Everything except people, API keys and webhook secrets.' },
  CASHIER: { label: 'Cashier', sentence: 'Takes payments at the counter, and sees only their own.' },
  VIEWER: { label: 'Viewer', sentence: 'Can see everything except people and API keys, but change nothing.' },
};

const OPERATION: Record<WriteName, string> = {
  'account.update': 'Account changed',
  'notifications.set': 'E-mail notifications changed',
  'apiKeys.create': 'API key created',
  'apiKeys.rotate': 'API key replaced',
  'apiKeys.delete': 'API key revoked',
  'users.create': 'Person invited',
  'users.update': 'Person changed',
  'users.delete': 'Person removed',
  'users.invite': 'Person invited again',
  'users.deletePasskey': 'Passkey removed',
  'wallets.create': 'Wallet added',
  'wallets.update': 'Wallet changed',
  'wallets.delete': 'Wallet removed',
  'wallets.mendGaps': 'Wallet gaps read again',
  'wallets.startAudit': 'Wallet audit started',
  'products.create': 'Product created',
  'products.update': 'Product changed',
  'products.delete': 'Product deleted',
  'coupons.create': 'Coupon created',
  'coupons.update': 'Coupon changed',
  'coupons.delete': 'Coupon deleted',
  'paymentLinks.create': 'Payment link created',
  'paymentLinks.update': 'Payment link changed',
  'paymentLinks.delete': 'Payment link deleted',
  'checkouts.create': 'Checkout created',
  'checkouts.cancel': 'Checkout cancelled',
  'checkouts.accept': 'Checkout accepted',
  'payments.accept': 'Payment accepted',
  'payments.assign': 'Payment assigned',
  'payments.dismiss': 'Payment left as it is',
  'payments.addRefund': 'Refund booked',
  'rates.set': 'Own rate set',
  'rates.delete': 'Own rate ended',
  'webhooks.create': 'Webhook created',
  'webhooks.update': 'Webhook changed',
  'webhooks.delete': 'Webhook deleted',
  'webhooks.replay': 'Events sent again',
  'webhooks.test': 'Webhook tested',
  'webhooks.rotateSecret': 'Webhook secret replaced',
  'webhooks.deletePreviousSecret': 'Older webhook secrets ended',
  'deliveries.redeliver': 'Delivery sent again',
};

/** Activities that are no operations of the API. */
const BEYOND: Readonly<Record<string, string>> = {
  account_create: 'Account opened',
  users_accept: 'Invitation used',
  users_repeatedCounter: 'Passkey used twice or copied',
  webhooks_pause: 'Webhook paused because it fails',
  webhooks_reseal: 'Webhook secrets re-encrypted',
  webhookKeys_rotate: 'Signing key of the service replaced',
  parked_dismiss: 'Parked ledger record dismissed',
};

/** Options of a filter, sorted by label. */
export const ACTIVITY_OPTIONS: readonly (readonly [operation: string, label: string])[] = [
  ...Object.entries(OPERATION).map(([name, label]) => [name.replace('.', '_'), label] as const),
  ...Object.entries(BEYOND),
].sort(([, a], [, b]) => a.localeCompare(b));

/** Words for API fields whose names are unclear. */
const FIELD: Readonly<Record<string, string>> = {
  accountId: 'account',
  assetCode: 'asset',
  assetIssuer: 'asset issuer',
  booksCurrency: 'currency of the books',
  brand: 'what customers see of the shop',
  cancelUrl: 'page for customers who cancel',
  checkoutId: 'checkout',
  customerEmail: 'customer’s e-mail',
  decisionNote: 'note',
  expiresAt: 'end',
  horizonUrl: 'server that was read',
  imageUrl: 'picture',
  minAmount: 'least amount',
  needsDecision: 'needs a decision',
  paymentLinkId: 'payment link',
  previousSecret: 'older secrets',
  priceType: 'kind of price',
  productId: 'product',
  rateMarkupPercent: 'markup on rates',
  tolerancePercent: 'tolerance',
  refundedAmount: 'sent back',
  successUrl: 'page after payment',
  transactionHash: 'transaction',
  url: 'address',
  walletId: 'wallet',
};
export const fieldWord = (field: string): string => FIELD[field] ?? field;

/** @param operation `products_update` */
export const activityWords = (operation: string): string =>
  BEYOND[operation] ?? OPERATION[operation.replace('_', '.') as WriteName] ?? operation;
