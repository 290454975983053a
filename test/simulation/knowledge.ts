/** An observer's knowledge of a run, independent of the service: the merchants' changes with their
 *  times, and the closed ledgers. An act takes some time; a payment whose ledger closes during it
 *  may be judged either way. */
import { createSecretBox } from '../../src/kit/secrets.js';

export type Doc = Record<string, any>;

export interface Change<T> {
  value: T;
  /** Begin and end of the act, ms; -Infinity for the first value. */
  fromMs: number;
  untilMs: number;
}

export interface Terms {
  active: boolean;
  assetCode: string;
  assetIssuer: string | null;
  priceType: 'FIXED' | 'CUSTOM';
  price: string | null;
  minAmount: string | null;
  /** Null for a price in the asset. */
  currency: string | null;
  tolerancePercent: string;
}

export interface LinkState {
  active: boolean;
  /** Null for no end. */
  endsMs: number | null;
  takesOrders: boolean;
}

export interface KnownWebhook {
  accountId: string;
  url: string;
  events: string[];
  madeMs: number;
  deletedMs: number | null;
  /** All secrets that it ever had, with the time of their removal. */
  secrets: Map<string, { goneMs: number | null }>;
}

export interface Knowledge {
  wallets: Map<string, { accountId: string; address: string; active: Change<boolean>[] }>;
  products: Map<string, { accountId: string; terms: Change<Terms>[] }>;
  links: Map<string, { accountId: string; productId: string; memo: string; terms: Change<LinkState>[] }>;
  webhooks: Map<string, KnownWebhook>;
  /** Checkouts in their first known state. */
  checkouts: Map<string, Doc>;
  /** All gaps that a wallet was ever flagged with, and the times. */
  gaps: Map<string, (Doc & { flaggedMs: number })[]>;
  redelivered: { deliveryId: string; atMs: number }[];
  /** Begin of the current act; null when there is none. */
  actingSinceMs: number | null;
  /** The merchant's last finished act. */
  lastAct: { sinceMs: number; endedMs: number } | null;
  /** Payments that a merchant tried to accept. */
  accepted: Set<string>;
  /** Payments that a merchant tried to dismiss, each with its status at the time. */
  dismissed: Set<string>;
  /** Links that payments were assigned to, by payment. */
  assigned: Map<string, string>;
  /** Transactions that were accepted as refunds of a payment. */
  named: { payment: Doc; transactionHash: string }[];
  /** How often an API changed what is booked of refunds. */
  refundsChanged: number;
  /** How often each act of the merchants succeeded. */
  reached: Map<string, number>;
  /** What a merchant saw to be wrong. */
  faults: string[];
  /** Payments that were UNMATCHED before they were assigned to a checkout. */
  assignedToCheckout: Set<string>;
  ledgers: { chain: number; sequence: number; closedMs: number }[];
  resetsMs: number[];
  /** Database replies came so late that leases expired while their holders lived. */
  stalls: boolean;
  /** Servers behind one URL differ. Horizon's answers do not distinguish them, so a wallet may
   *  claim a ledger too many for a while; still no payment may be lost. */
  isUneven: boolean;
  /** The lead of the hosts' clocks over the ledger's. */
  skewMs: number;
  /** One of the configured servers keeps every ledger. */
  isKept: boolean;
  /** Every wallet has been audited up to its end. */
  isAudited: boolean;
  /** When each was made and ended, by the ledger's clock: those of hosts leap. */
  audits: Map<string, { madeMs: number; endedMs: number }>;
  /** Operations whose records were ever parked: an audit may be the first to record them. */
  wasParked: Set<string>;
  /** No server of another kind shows records that Horizons leave out. */
  isHorizonOnly: boolean;
  /** Whether no server has a transaction for a while: an audit may be the first to have it. */
  isLacking: (transactionHash: string) => boolean;
  /** The operator has begun to dismiss parked records, after everything else came to rest. */
  isDismissed: boolean;
}

export const newKnowledge = (
  conditions: Pick<Knowledge, 'stalls' | 'isUneven' | 'skewMs' | 'isKept' | 'isHorizonOnly' | 'isLacking'>,
): Knowledge => ({
  wallets: new Map(),
  products: new Map(),
  links: new Map(),
  webhooks: new Map(),
  checkouts: new Map(),
  gaps: new Map(),
  redelivered: [],
  actingSinceMs: null,
  lastAct: null,
  reached: new Map(),
  accepted: new Set(),
  dismissed: new Set(),
  assigned: new Map(),
  assignedToCheckout: new Set(),
  named: [],
  refundsChanged: 0,
  faults: [],
  ledgers: [],
  resetsMs: [],
  isAudited: false,
  audits: new Map(),
  wasParked: new Set(),
  isDismissed: false,
  ...conditions,
});

/** The values that may have been in force when a ledger closed. Close times have whole seconds. */
export function possible<T>(changes: readonly Change<T>[], closedMs: number): T[] {
  let values: T[] = [];
  /** Values in force before a change that may have been dated later than its successors. */
  let before: T[] = [];
  for (const { value, fromMs, untilMs } of changes) {
    if (closedMs < Math.floor(fromMs / 1000) * 1000) continue;
    if (closedMs <= untilMs) before = values;
    values = closedMs > untilMs ? [...before, value] : [...values, value];
  }
  return values;
}

/** Close time of the first ledger with this or a higher number; Infinity when there is none. */
export const closeOf = (known: Knowledge, sequence: number): number =>
  known.ledgers.find((ledger) => ledger.sequence >= sequence)?.closedMs ?? Number.POSITIVE_INFINITY;

export const wasActiveBetween = (changes: readonly Change<boolean>[], fromMs: number, untilMs: number): boolean =>
  changes.some(
    ({ value, fromMs: begunMs }, index) =>
      value &&
      Math.floor(begunMs / 1000) * 1000 <= untilMs &&
      (changes[index + 1]?.untilMs ?? Number.POSITIVE_INFINITY) >= fromMs,
  );

/** Longer than from one ledger to the next. */
const LEDGER_MS = 4000;

/** How much too early a moment may be stamped: a wrong clock that was compared with only one ledger
 *  is known except for the age of that ledger at the time. */
const uncertaintyMs = ({ skewMs }: Pick<Knowledge, 'skewMs'>): number => (skewMs === 0 ? 0 : LEDGER_MS);

type Stamp = { ledger: number | null } | null | undefined;

/** The possible stamps of an act. When no source has answered yet, only the host's clock tells
 *  the time. */
export function stampedWithin(
  known: Pick<Knowledge, 'skewMs'>,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
  stamp: Stamp,
): { fromMs: number; untilMs: number } {
  const { skewMs } = known;
  const [early, late] = stamp?.ledger === null ? [Math.min(0, skewMs), Math.max(0, skewMs)] : [0, 0];
  return { fromMs: fromMs + early - uncertaintyMs(known), untilMs: untilMs + late };
}

const always = <T>(value: T): Change<T> => ({
  value,
  fromMs: Number.NEGATIVE_INFINITY,
  untilMs: Number.NEGATIVE_INFINITY,
});

/** Compares the stored state with the known one, and dates each difference to the act that ran from
 *  `fromMs` to `untilMs`. */
export async function learn(
  known: Knowledge,
  docs: (collection: string) => Promise<Doc[]>,
  fromMs: number,
  untilMs: number,
): Promise<void> {
  const [wallets, products, links, webhooks, payments, checkouts] = await Promise.all(
    ['wallets', 'products', 'paymentLinks', 'webhooks', 'payments', 'checkouts'].map(docs),
  );
  const note = <T>(changes: Change<T>[], value: T, stamp: Stamp) => {
    if (JSON.stringify(changes.at(-1)!.value) === JSON.stringify(value)) return;
    changes.push({ value, ...stampedWithin(known, { fromMs, untilMs }, stamp) });
  };
  for (const { _id, accountId, address, active, windows } of wallets!) {
    const wallet = known.wallets.get(_id) ?? { accountId, address, active: [always(false)] };
    note(wallet.active, active, active ? windows.at(-1)?.from : windows.at(-1)?.until);
    known.wallets.set(_id, wallet);
  }
  for (const { _id, accountId, history, ...product } of products!) {
    const { active, assetCode, assetIssuer, priceType, price, minAmount, currency = null, tolerancePercent } = product;
    const terms = { active, assetCode, assetIssuer, priceType, price, minAmount, currency, tolerancePercent };
    const seen = known.products.get(_id) ?? { accountId, terms: [always(terms)] };
    note(seen.terms, terms, history.at(-1)?.from);
    known.products.set(_id, seen);
  }
  for (const { _id, accountId, productId, memo, active, endsAt, order, history } of links!) {
    const state = { active, endsMs: endsAt?.getTime() ?? null, takesOrders: order !== null };
    const link = known.links.get(_id) ?? { accountId, productId, memo, terms: [always(state)] };
    note(link.terms, state, history.at(-1)?.from);
    known.links.set(_id, link);
  }
  for (const checkout of checkouts!)
    if (!known.checkouts.has(checkout._id)) known.checkouts.set(checkout._id, checkout);
  learnWebhooks(known, webhooks!, fromMs, untilMs);
  for (const { _id, paymentLinkId, memo } of payments!) {
    if (paymentLinkId && known.links.get(paymentLinkId)?.memo !== memo?.trim().toUpperCase())
      known.assigned.set(_id, paymentLinkId);
  }
}

function learnWebhooks(known: Knowledge, webhooks: readonly Doc[], fromMs: number, untilMs: number): void {
  for (const webhook of webhooks) {
    const { _id, accountId, url, events } = webhook;
    const secrets = secretsOf(webhook);
    const before = known.webhooks.get(_id);
    const seen = before?.secrets ?? new Map<string, { goneMs: number | null }>();
    for (const secret of secrets) if (!seen.has(secret)) seen.set(secret, { goneMs: null });
    for (const [secret, state] of seen) if (!secrets.includes(secret)) state.goneMs ??= untilMs;
    if (!before) known.webhooks.set(_id, { accountId, url, events, madeMs: untilMs, deletedMs: null, secrets: seen });
  }
  const ids = new Set(webhooks.map(({ _id }) => _id));
  for (const [id, webhook] of known.webhooks) if (!ids.has(id)) webhook.deletedMs ??= fromMs;
}

function secretsOf(webhook: Doc): string[] {
  const box = createSecretBox(Buffer.alloc(32, 7), { randomBytes: (size) => Buffer.alloc(size) });
  return webhook.secrets.map(({ sealed }: { sealed: string }) => box.open(sealed, webhook._id));
}
