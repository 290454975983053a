/** What must be true, worked out from what the payers sent and when the merchants acted, by rules written a second time and in another way.
 *  A merchant's act takes some time; a payment that closes meanwhile may count either way, and no other may. */
import { verifySignature } from '../../src/domain/signature.js';
import { syncOf } from '../../src/services/wallet-sync.js';
import type { Network, Paid } from './ledger.js';
import type { SimulatedProcess } from './processes.js';
import type { Arrival, Receiver } from './receiver.js';

type Doc = Record<string, any>;

interface Change<T> {
  value: T;
  /** When the act began and when it was over, ms; of the first value -Infinity. */
  fromMs: number;
  untilMs: number;
}

interface Terms {
  active: boolean;
  assetCode: string;
  assetIssuer: string | null;
  priceType: 'FIXED' | 'CUSTOM';
  price: string | null;
  minAmount: string | null;
}

export interface Knowledge {
  wallets: Map<string, { accountId: string; address: string; active: Change<boolean>[] }>;
  products: Map<string, { accountId: string; terms: Change<Terms>[] }>;
  links: Map<string, { accountId: string; productId: string; memo: string; active: Change<boolean>[] }>;
  webhooks: Map<
    string,
    {
      accountId: string;
      url: string;
      events: string[];
      madeMs: number;
      deletedMs: number | null;
      /** Every secret that it ever had, and when one was gone. */
      secrets: Map<string, { goneMs: number | null }>;
    }
  >;
  gaps: Map<string, Doc[]>;
  redelivered: { deliveryId: string; atMs: number }[];
  /** Since when the merchant has been at something of which it is not known yet what comes of it. */
  actingSinceMs: number | null;
  /** Payments that the merchant tried to accept. */
  accepted: Set<string>;
  /** Payment → link. */
  assigned: Map<string, string>;
  ledgers: { chain: number; sequence: number; closedMs: number }[];
  resetsMs: number[];
  /** Replies of the database came so late that leases ran out while their holders lived. */
  stalls: boolean;
  /** One base is several servers, of which one may answer with a page and another, ahead of it, with the newest ledger. Nothing in Horizon's
   *  answers tells them apart, so that a wallet may then claim a ledger too many for a while; nothing may be lost all the same. */
  isUneven: boolean;
}

export const newKnowledge = (): Knowledge => ({
  wallets: new Map(),
  products: new Map(),
  links: new Map(),
  webhooks: new Map(),
  gaps: new Map(),
  redelivered: [],
  actingSinceMs: null,
  accepted: new Set(),
  assigned: new Map(),
  ledgers: [],
  resetsMs: [],
  stalls: false,
  isUneven: false,
});

/** The values that may have been in force when a ledger closed: close times have whole seconds. */
function possible<T>(changes: readonly Change<T>[], closedMs: number): T[] {
  let values: T[] = [];
  for (const { value, fromMs, untilMs } of changes) {
    if (closedMs < Math.floor(fromMs / 1000) * 1000) continue;
    values = closedMs > untilMs ? [value] : [...values, value];
  }
  return values;
}

/** What was marked before a reset was noticed and stored after it keeps a ledger number that means nothing: known, and left to the operator. */
const straddles = (changes: readonly Change<unknown>[], known: Knowledge): boolean =>
  changes.some(({ fromMs, untilMs }) => known.resetsMs.some((ms) => untilMs >= ms && fromMs <= ms + NOTICED_WITHIN_MS));
const NOTICED_WITHIN_MS = 20_000;

const stroops = (text: string | null): bigint | null => {
  if (text === null) return null;
  const [whole, fraction = ''] = text.split('.');
  return BigInt(whole! + fraction.padEnd(7, '0'));
};
const text = (amount: bigint): string => {
  const digits = amount.toString().padStart(8, '0');
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`.replace(/\.?0+$/, '');
};

function verdict(linkActive: boolean, terms: Terms, paid: Pick<Paid, 'asset' | 'stroops'>): string {
  const expected = stroops(terms.priceType === 'FIXED' ? terms.price : terms.minAmount);
  const shown = expected === null ? null : text(expected);
  const say = (status: string, reason: string | null, excess: string | null = null, shortfall: string | null = null) =>
    JSON.stringify([status, reason, shown, excess, shortfall]);
  if (!linkActive) return say('REJECTED', 'link_inactive');
  if (!terms.active) return say('REJECTED', 'product_inactive');
  if (paid.asset.code !== terms.assetCode || paid.asset.issuer !== terms.assetIssuer)
    return say('REJECTED', 'wrong_asset');
  if (expected !== null && paid.stroops < expected) {
    return say(
      'UNDERPAID',
      terms.priceType === 'FIXED' ? 'below_price' : 'below_minimum',
      null,
      text(expected - paid.stroops),
    );
  }
  if (terms.priceType === 'FIXED' && paid.stroops > expected!)
    return say('COMPLETED', 'overpaid', text(paid.stroops - expected!));
  return say('COMPLETED', null);
}

function straddlesTerms(linkId: string, known: Knowledge): boolean {
  const link = known.links.get(linkId)!;
  return straddles(link.active, known) || straddles(known.products.get(link.productId)!.terms, known);
}

const verdictOf = (doc: Doc) =>
  JSON.stringify([doc.status, doc.reason, doc.expectedAmount, doc.excessAmount, doc.shortfallAmount]);

function linkOf(paid: Paid, accountId: string, known: Knowledge): string | null {
  if (paid.memo.type !== 'text') return null;
  const memo = paid.memo.text!.trim().toUpperCase();
  for (const [id, link] of known.links) if (link.memo === memo && link.accountId === accountId) return id;
  return null;
}

function allowedVerdicts(paid: Paid, linkId: string | null, known: Knowledge): string[] {
  if (linkId === null) {
    const reason =
      paid.memo.type === 'none' || paid.memo.text === ''
        ? 'no_memo'
        : paid.memo.type === 'id'
          ? 'unsupported_memo'
          : 'unknown_memo';
    return [JSON.stringify(['UNMATCHED', reason, null, null, null])];
  }
  const link = known.links.get(linkId)!;
  const product = known.products.get(link.productId)!;
  return possible(link.active, paid.closedMs).flatMap((active) =>
    possible(product.terms, paid.closedMs).map((terms) => verdict(active, terms, paid)),
  );
}

const keyOf = (walletId: string, paid: { operationId: string; changeIndex: number; transactionHash: string }) =>
  `${walletId}:${paid.operationId}:${paid.changeIndex}:${paid.transactionHash}`;

export interface Stored {
  wallets: Doc[];
  cursors: Doc[];
  networkStates: Doc[];
  payments: Doc[];
}

/** Payments that must be stored by now and are not. @param upTo per wallet: the ledger up to which it claims to be read; Infinity for all. */
export function missing(known: Knowledge, network: Network, stored: Stored, upTo: (wallet: Doc) => number): string[] {
  const keys = new Set(stored.payments.map((doc) => keyOf(doc.walletId, doc as never)));
  const faults: string[] = [];
  for (const wallet of stored.wallets) {
    const { address, active } = known.wallets.get(wallet._id) ?? { address: '', active: [] };
    if (straddles(active, known)) continue;
    const limit = upTo(wallet);
    for (const paid of network.payments) {
      if (paid.receiver !== address || paid.ledger > limit) continue;
      if (known.actingSinceMs !== null && paid.closedMs + 1000 > known.actingSinceMs) continue;
      const counts = possible(active, paid.closedMs);
      if (!counts.length || counts.includes(false)) continue;
      if (keys.has(keyOf(wallet._id, paid))) continue;
      const dropped = network.state.dropped.some(
        ({ chain, upTo: last }) => paid.chain === chain && paid.ledger <= last,
      );
      const flagged = (known.gaps.get(wallet._id) ?? []).length > 0;
      if ((dropped || paid.chain > 0) && flagged) continue;
      faults.push(
        `${wallet._id.slice(-6)} lacks the payment ${paid.operationId}[${paid.changeIndex}] of ledger ${paid.ledger}` +
          `${dropped ? ', which Horizon dropped, without a GAP' : ''}${Number.isFinite(limit) ? `, though it claims ledger ${limit}` : ''}`,
      );
    }
  }
  return faults;
}

/** Records that nobody could understand, that name a wallet of ours, and that were not kept. */
export function forgotten(known: Knowledge, network: Network, { wallets, parkedRecords }: StoredAll): string[] {
  const parked = new Set(parkedRecords.map(({ _id }) => _id));
  return network.riddles
    .filter(({ operationId, receiver, chain, ledger, closedMs }) => {
      if (parked.has(`LOCAL:${operationId}`)) return false;
      const isDropped = network.state.dropped.some((each) => each.chain === chain && ledger <= each.upTo);
      return wallets.some(({ _id, address }) => {
        const active = known.wallets.get(_id)?.active ?? [];
        const counts = possible(active, closedMs);
        if (address !== receiver || straddles(active, known) || counts.length === 0 || counts.includes(false))
          return false;
        return !((isDropped || chain > 0) && known.gaps.has(_id));
      });
    })
    .map(({ operationId, ledger }) => `the record ${operationId} of ledger ${ledger} was neither understood nor kept`);
}

/** When the first ledger of this number or a higher one closed; Infinity when none has. */
const closeOf = (known: Knowledge, sequence: number): number =>
  known.ledgers.find((ledger) => ledger.sequence >= sequence)?.closedMs ?? Number.POSITIVE_INFINITY;

const wasActiveBetween = (changes: readonly Change<boolean>[], fromMs: number, untilMs: number): boolean =>
  changes.some(
    ({ value, fromMs: begunMs }, index) =>
      value &&
      Math.floor(begunMs / 1000) * 1000 <= untilMs &&
      (changes[index + 1]?.untilMs ?? Number.POSITIVE_INFINITY) >= fromMs,
  );

/** Notes the gaps that are flagged, and whether the ledgers that wallets claim to be read up to are honest. */
export function checkSync(known: Knowledge, network: Network, stored: Stored, nowMs: number): string[] {
  const faults: string[] = [];
  const cursors = new Map(stored.cursors.map((position) => [position._id, position]));
  for (const wallet of stored.wallets) {
    const { gap } = wallet;
    const seen = known.gaps.get(wallet._id) ?? [];
    if (gap && !seen.some((each) => each.at.getTime() === gap.at.getTime())) {
      known.gaps.set(wallet._id, [...seen, gap]);
      // Accounts that share an address share its reading, and what it missed.
      const sharing = [...known.wallets.values()].filter(({ address }) => address === wallet.address);
      const concerned =
        gap.toLedger < known.ledgers[0]!.sequence ||
        // A feed that begins some ledgers back speaks for all.
        cursors.has('LOCAL:feed') ||
        sharing.length === 0 ||
        // A wallet is let go some ledgers after its end, and of ledgers that nobody has seen, nobody can tell when they closed.
        sharing.some(({ active }) =>
          wasActiveBetween(active, closeOf(known, gap.fromLedger - 11), closeOf(known, gap.toLedger + 1)),
        );
      if (!concerned && known.resetsMs.length === 0)
        faults.push(`${wallet._id.slice(-6)} has a GAP ${gap.fromLedger}–${gap.toLedger}, in which it was not active`);
    }
  }
  const state = stored.networkStates[0];
  if (known.isUneven) return faults;
  // Until a reset is noticed, the numbers are those of the old network, whose last ledger may have closed in the second of the reset.
  if (known.resetsMs.some((resetMs) => !state || state.latestClosedAt.getTime() <= resetMs)) return faults;
  return [
    ...faults,
    ...missing(known, network, stored, (wallet) => {
      if (wallet.gap) return -1;
      const own = cursors.get(`LOCAL:${wallet.address}`);
      const sync = syncOf(wallet as never, own as never, cursors.get('LOCAL:feed') as never, state as never, nowMs);
      return sync.ledger ?? -1;
    }),
  ];
}

/** A delivery that is settled is opened again by the merchant alone. @param settled what was settled so far, by id */
export function checkSettled(known: Knowledge, deliveries: readonly Doc[], settled: Map<string, string>): string[] {
  const faults: string[] = [];
  for (const { _id, status } of deliveries) {
    const before = settled.get(_id);
    const isReopened = known.redelivered.some(({ deliveryId }) => deliveryId === _id);
    if (before && before !== status && !isReopened)
      faults.push(`delivery ${_id.slice(-6)} was ${before} and is ${status} again`);
    if (status !== 'PENDING') settled.set(_id, status);
  }
  return faults;
}

export interface StoredAll extends Stored {
  links: Doc[];
  events: Doc[];
  deliveries: Doc[];
  webhooks: Doc[];
  parkedRecords: Doc[];
}

/** Deliveries that should be on their way still. */
export const undelivered = ({ deliveries, webhooks }: Pick<StoredAll, 'deliveries' | 'webhooks'>): Doc[] => {
  const active = new Set(webhooks.filter(({ status }) => status === 'ACTIVE').map(({ _id }) => _id));
  return deliveries.filter(({ status, webhookId }) => status === 'PENDING' && active.has(webhookId));
};

/** Everything, once faults have stopped and time has run on. */
export function checkAll(
  known: Knowledge,
  network: Network,
  receiver: Receiver,
  stored: StoredAll,
  settings: { maxAttempts: number },
): string[] {
  const faults = missing(known, network, stored, () => Number.POSITIVE_INFINITY);
  faults.push(...forgotten(known, network, stored));
  const fault = (line: string) => void faults.push(line);
  const paidByKey = new Map(
    network.payments.map((paid) => [`${paid.operationId}:${paid.changeIndex}:${paid.transactionHash}`, paid]),
  );
  const seen = new Set<string>();
  const eventsOf = (paymentId: string, type: string) =>
    stored.events.filter((event) => event.paymentId === paymentId && event.type === type);

  for (const doc of stored.payments) {
    const name = `payment ${doc.operationId}[${doc.changeIndex}]`;
    const key = keyOf(doc.walletId, doc as never);
    if (seen.has(key)) fault(`${name} is stored twice`);
    seen.add(key);
    const paid = paidByKey.get(`${doc.operationId}:${doc.changeIndex}:${doc.transactionHash}`);
    const wallet = known.wallets.get(doc.walletId);
    if (!paid || wallet?.address !== paid.receiver) {
      fault(`${name} is invented`);
      continue;
    }
    if (straddles(wallet.active, known)) continue;
    if (!possible(wallet.active, paid.closedMs).includes(true)) fault(`${name} came while its wallet was not active`);
    if (
      stroops(doc.amount) !== paid.stroops ||
      doc.assetCode !== paid.asset.code ||
      doc.assetIssuer !== paid.asset.issuer
    )
      fault(`${name} has another amount`);
    const memoLink = linkOf(paid, wallet.accountId, known);
    const linkId = known.assigned.get(doc._id) ?? memoLink;
    if (doc.paymentLinkId !== linkId) fault(`${name} belongs to ${doc.paymentLinkId}, not to ${linkId}`);
    else if (linkId !== null && straddlesTerms(linkId, known)) continue;
    // Accepting may have come to nothing.
    else if (!known.accepted.has(doc._id) || doc.status !== 'COMPLETED') {
      const allowed = allowedVerdicts(paid, linkId, known);
      if (!allowed.includes(verdictOf(doc)))
        fault(`${name} is judged ${verdictOf(doc)}, not ${[...new Set(allowed)].join(' or ')}`);
    }
    const received = eventsOf(doc._id, 'payment.received').length;
    const completed = eventsOf(doc._id, 'payment.completed').length;
    if (received !== (doc.paymentLinkId ? 1 : 0)) fault(`${name} has ${received} payment.received`);
    if (completed !== (doc.status === 'COMPLETED' ? 1 : 0))
      fault(`${name} (${doc.status}) has ${completed} payment.completed`);
  }
  const paymentIds = new Set(stored.payments.map(({ _id }) => _id));
  for (const event of stored.events) if (!paymentIds.has(event.paymentId)) fault(`event ${event._id} has no payment`);

  for (const link of stored.links) {
    const own = stored.payments.filter((doc) => doc.paymentLinkId === link._id);
    const counted = own.filter(({ status }) => status !== 'REJECTED').length;
    if (link.paymentCount !== counted)
      fault(`link ${link._id} counts ${link.paymentCount} payments and has ${counted}`);
    if (link.receivedCount !== own.length)
      fault(`link ${link._id} counts ${link.receivedCount} received and has ${own.length}`);
  }
  checkDeliveries(known, receiver, stored, settings, fault);
  return faults;
}

function checkDeliveries(
  known: Knowledge,
  receiver: Receiver,
  stored: StoredAll,
  settings: { maxAttempts: number },
  fault: (line: string) => void,
): void {
  const arrivals = new Map<string, Arrival[]>();
  for (const arrival of receiver.arrivals) {
    const key = `${arrival.url} ${arrival.eventId}`;
    arrivals.set(key, [...(arrivals.get(key) ?? []), arrival]);
  }
  const payments = new Map(stored.payments.map((doc) => [doc._id, doc]));
  const deliveryOf = new Map(stored.deliveries.map((doc) => [`${doc.webhookId} ${doc.eventId}`, doc]));
  for (const [id, webhook] of known.webhooks) {
    for (const event of stored.events) {
      const happenedMs = Math.min(
        event.createdAt.getTime(),
        payments.get(event.paymentId)?.ledgerClosedAt.getTime() ?? 0,
      );
      if (event.accountId !== webhook.accountId || !webhook.events.includes(event.type)) continue;
      if (webhook.madeMs < happenedMs && webhook.deletedMs === null && !deliveryOf.has(`${id} ${event._id}`))
        fault(`event ${event._id} was never to be delivered to ${webhook.url}`);
    }
  }
  for (const delivery of stored.deliveries) {
    const webhook = known.webhooks.get(delivery.webhookId);
    const doc = stored.webhooks.find(({ _id }) => _id === delivery.webhookId);
    const name = `delivery ${delivery._id.slice(-6)} of ${delivery.eventType} to ${webhook?.url}`;
    if (!webhook) {
      fault(`${name} is of no webhook`);
      continue;
    }
    const own = arrivals.get(`${webhook.url} ${delivery.eventId}`) ?? [];
    if ((delivery.status === 'PENDING') !== (delivery.nextAttemptAt !== null))
      fault(`${name} is ${delivery.status} with the time ${delivery.nextAttemptAt}`);
    if (delivery.status === 'PENDING' && doc?.status !== 'PAUSED') fault(`${name} is pending still`);
    if (delivery.status === 'DELIVERED' && !own.some(({ answered }) => answered === 204))
      fault(`${name} never arrived`);
    if (delivery.status === 'FAILED' && delivery.attemptCount < settings.maxAttempts)
      fault(`${name} was given up after ${delivery.attemptCount}`);
    if (delivery.status === 'CANCELLED' && doc) fault(`${name} is cancelled`);
    const redeliveredMs = known.redelivered
      .filter(({ deliveryId }) => deliveryId === delivery._id)
      .map(({ atMs }) => atMs);
    for (const [index, next] of own.entries()) {
      const before = own[index - 1];
      if (!isSigned(next, webhook.secrets)) fault(`${name} is not signed with the webhook's secret`);
      if (!before) continue;
      const died = (before.sender as SimulatedProcess).diedMs;
      const excused =
        (died !== null && died >= before.startedMs && died <= next.startedMs) ||
        redeliveredMs.some((at) => at >= before.startedMs);
      const overlaps = before.endedMs === null || before.endedMs > next.startedMs;
      // What arrived is sent again when its record came too late for the lease; never at the same time.
      const isOver = before.answered === 204 && !known.stalls;
      if ((isOver || overlaps) && !excused) fault(`${name} was sent twice, though no process died in between`);
    }
    if (delivery.eventType !== 'payment.completed' || own.length === 0) continue;
    const received = stored.events.find(
      (event) => event.paymentId === delivery.paymentId && event.type === 'payment.received',
    );
    if (!received || !deliveryOf.has(`${delivery.webhookId} ${received._id}`)) continue;
    const first = arrivals.get(`${webhook.url} ${received._id}`)?.[0];
    if (!first || first.startedMs > own[0]!.startedMs) fault(`${name} came before its payment.received`);
  }
  const events = new Map(stored.events.map((event) => [event._id, event]));
  for (const { eventId, url } of receiver.arrivals)
    if (!events.has(eventId)) fault(`${url} got the unknown event ${eventId}`);
}

/** Who sends looks again within so long. */
const SECRET_KNOWN_MS = 15_000;

function isSigned(arrival: Arrival, secrets: ReadonlyMap<string, { goneMs: number | null }>): boolean {
  // A rotation that is under way may count or not.
  return [...secrets].some(
    ([secret, { goneMs }]) =>
      (goneMs === null || arrival.startedMs <= goneMs + SECRET_KNOWN_MS) &&
      verifySignature({
        headers: arrival.headers,
        body: arrival.text,
        secret,
        nowSeconds: Number(arrival.headers['webhook-timestamp']),
      }),
  );
}
