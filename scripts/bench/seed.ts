/** Fills an account with documents in the shape of the stores, spread over a year, bypassing
 *  the service. */
import { StrKey } from '@stellar/stellar-sdk';
import type { mongo } from 'mongoose';
import { createMemo } from '../../src/domain/memo.js';
import type { EventCounterDoc } from '../../src/events/event-counters.js';
import type { EventDoc } from '../../src/events/event-store.js';
import { systemClock } from '../../src/kit/clock.js';
import { roomOfNext } from '../../src/kit/count-segments.js';
import { createIds, type IdPrefix } from '../../src/kit/ids.js';
import type { PaymentDoc } from '../../src/payments/payment-document.js';
import type { CheckoutDoc } from '../../src/selling/checkout-document.js';
import { type PaymentLinkDoc, suffixesOf } from '../../src/selling/link-store.js';
import type { ProductDoc } from '../../src/selling/product-document.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import type { DeliveryDoc } from '../../src/webhooks/delivery-store.js';
import { sampleEvent } from '../../src/webhooks/webhooks.js';
import { sequence } from './random.js';

const YEAR_MS = 365 * 86_400_000;
const BATCH = 5000;

export interface Sizes {
  payments: number;
  links: number;
  /** Default 0. */
  checkouts?: number;
  /** Default 50. */
  products?: number;
  events: number;
  deliveries: number;
}

export interface Seeded {
  productIds: string[];
  linkIds: string[];
  walletIds: string[];
  webhookId: string;
  /** Sender of a fifth of the payments. */
  exchange: string;
  transactionHash: string;
  paymentId: string;
  /** A month in the middle. */
  month: { createdFrom: string; createdTo: string };
  /** A period in the middle with 500 payments, regardless of the total. */
  alike: { from: string; to: string };
}

export async function seed(db: mongo.Db, accountId: string, sizes: Sizes): Promise<Seeded> {
  const random = sequence();
  const startMs = Date.now() - YEAR_MS;
  let nowMs = startMs;
  const clock = { ...systemClock, nowMs: () => Math.floor(nowMs) };
  const newId = createIds(clock);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const hex = (n: number) =>
    Array.from({ length: n / 8 }, () =>
      Math.floor(random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('');
  const address = () => StrKey.encodeEd25519PublicKey(Buffer.from(hex(64), 'hex'));
  const long = <Doc extends { _id: string }>(
    collection: string,
    prefix: IdPrefix,
    count: number,
    make: (_id: string, createdAt: Date) => Doc,
  ) => {
    nowMs = startMs;
    const newIdOfList = createIds(clock);
    return insertLong(db, accountId, collection, count, () => {
      nowMs += (YEAR_MS * 0.99) / count;
      return make(newIdOfList(prefix), new Date(Math.floor(nowMs)));
    });
  };

  const wallets = Array.from(
    { length: 4 },
    (_, n): WalletDoc => ({
      _id: newId('wallet'),
      accountId,
      name: `Shop ${n}`,
      address: address(),
      network: 'LOCAL',
      active: false,
      windows: [],
      watchStarted: true,
      watching: false,
      readTo: null,
      gap: null,
      productCount: 10,
      hasPayments: true,
      createdAt: new Date(nowMs),
    }),
  );
  await db.collection('wallets').insertMany(wallets as never[]);
  const { products: productCount = 50 } = sizes;
  const products = Array.from({ length: productCount }, (_, n): ProductDoc => {
    const terms = {
      active: n % 5 > 0,
      assetCode: 'XLM',
      assetIssuer: null,
      priceType: 'FIXED' as const,
      price: '25',
      minAmount: null,
      tolerancePercent: '0',
    };
    return {
      _id: newId('prod'),
      accountId,
      name: `Thing ${n}`,
      nameKey: `thing ${n}`,
      description: null,
      imageUrl: null,
      walletId: wallets[n % 4]!._id,
      ...terms,
      history: [{ from: null, terms, network: wallets[n % 4]!.network }],
      stock: null,
      paymentLinkCount: Math.ceil(sizes.links / productCount),
      plainLinkCount: Math.ceil(sizes.links / productCount),
      revision: 0,
      createdAt: new Date(nowMs),
    };
  });
  await db.collection('products').insertMany(products as never[]);

  const linkIds: string[] = [];
  await long('paymentLinks', 'link', sizes.links, (_id, createdAt): PaymentLinkDoc => {
    linkIds.push(_id);
    const active = random() < 0.7;
    const names = { name: null, slug: _id.slice(5), memo: _id.slice(-12).toUpperCase() };
    return {
      _id,
      accountId,
      productId: products[random() < 0.5 ? 0 : Math.floor(random() * productCount)]!._id,
      ...names,
      suffixes: suffixesOf(names),
      active,
      history: [{ from: null, terms: { active, endsAt: null, takesOrders: false } }],
      paymentCount: 3,
      receivedCount: 3,
      ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
      ...{ completedCount: 0, orderCount: 0 },
      createdAt,
    };
  });

  await long('checkouts', 'chk', sizes.checkouts ?? 0, (_id, createdAt): CheckoutDoc => {
    const luck = random();
    const end = new Date(createdAt.getTime() + 1_800_000);
    return {
      _id,
      accountId,
      productId: products[random() < 0.5 ? 0 : Math.floor(random() * productCount)]!._id,
      walletId: pick(wallets)._id,
      slug: `c${_id.slice(4)}`,
      memo: createMemo(systemClock, 'checkout'),
      reference: `order-${_id.slice(-8)}`,
      metadata: '{}',
      name: 'Thing',
      description: null,
      assetCode: 'XLM',
      assetIssuer: null,
      amount: '25',
      quantity: null,
      lines: [{ productId: null, name: 'Thing', quantity: 1, price: '25', total: '25', net: '25', tax: '0' }],
      taxIncluded: true,
      tolerancePercent: '0',
      successUrl: null,
      cancelUrl: null,
      status: luck < 0.5 ? 'PAID' : luck < 0.95 ? 'EXPIRED' : 'CANCELLED',
      received: '0',
      paymentCount: 0,
      expiresAt: end,
      expiryCheckAt: end,
      cancelledFrom: null,
      acceptedFrom: null,
      gapBefore: null,
      paidAt: null,
      closedAt: end,
      createdAt,
    };
  });
  for (const collection of ['paymentLinks', 'checkouts']) await addNames(db, accountId, collection);
  // All checkouts are closed, so both lists hold the same ones.
  const made = db.collection<{ _id: string; list: string }>('countSegments').find({ list: `checkouts:${accountId}` });
  const list = `closedCheckouts:${accountId}`;
  const closed = await made
    .map(({ _id, ...each }) => ({ ...each, _id: _id.replace('checkouts:', 'closedCheckouts:'), list }))
    .toArray();
  if (closed.length > 0) await db.collection<{ _id: string; list: string }>('countSegments').insertMany(closed);

  const exchange = address();
  const senders = Array.from({ length: 5000 }, address);
  let [ledger, count, transactionHash] = [1000, 0, ''];
  const paymentIds: string[] = [];
  await long('payments', 'pay', sizes.payments, (_id, createdAt): PaymentDoc => {
    const luck = random();
    const status = luck < 0.8 ? 'COMPLETED' : luck < 0.85 ? 'UNDERPAID' : luck < 0.9 ? 'REJECTED' : 'UNMATCHED';
    const isMatched = status !== 'UNMATCHED';
    const wallet = pick(wallets);
    count += 1;
    if (count % 5 === 0) ledger += 1;
    transactionHash = hex(64);
    if (paymentIds.length < sizes.deliveries) paymentIds.push(_id);
    const isXlm = random() < 0.6;
    return {
      _id,
      accountId,
      walletId: wallet._id,
      network: 'LOCAL',
      operationId: String(ledger * 2 ** 32 + count),
      changeIndex: 0,
      transactionHash,
      ledger,
      ledgerClosedAt: createdAt,
      receiverAddress: wallet.address,
      senderAddress: random() < 0.2 ? exchange : pick(senders),
      assetCode: isXlm ? 'XLM' : 'USDC',
      assetIssuer: isXlm ? null : exchange,
      amount: '25',
      memo: 'ABCDEFGH',
      memoType: 'text',
      destinationMuxedId: null,
      senderMuxedAddress: null,
      status,
      reason: null,
      expectedAmount: isMatched ? '25' : null,
      excessAmount: null,
      shortfallAmount: null,
      paymentLinkId: isMatched ? (random() < 0.1 ? linkIds[0]! : pick(linkIds)) : null,
      checkoutId: null,
      productId: isMatched ? products[random() < 0.5 ? 0 : Math.floor(random() * productCount)]!._id : null,
      needsDecision: status !== 'COMPLETED',
      words: ['abcdefgh', `order-${count}`, `${count}`],
      createdAt,
    };
  });

  const { data } = sampleEvent(newId, new Date(startMs), 'https://pay.example');
  let nth = 0;
  await long(
    'events',
    'evt',
    sizes.events,
    (_id, createdAt): EventDoc => ({
      _id,
      accountId,
      type: nth++ % 2 ? 'payment.completed' : 'payment.received',
      subjectId: `pay_${accountId}${Math.floor(nth / 2)}`,
      occurrence: '',
      sequence: nth,
      data,
      createdAt,
    }),
  );
  // The state after the sequencer has numbered every event and opened its deliveries.
  await db
    .collection<EventCounterDoc>('eventCounters')
    .insertOne({ _id: accountId, last: nth, opened: nth, isBehind: false, webhooksMade: 1 });
  const webhookId = newId('hook');
  await db.collection('webhooks').insertOne({
    _id: webhookId,
    accountId,
    name: 'Shop',
    url: 'https://shop.example/',
    events: ['payment.completed'],
    status: 'PAUSED',
    secretMasked: 'whsec_…abcd',
    secrets: [],
    failingSince: null,
    openedTo: nth,
    deliverySequence: sizes.deliveries,
    lease: null,
    createdAt: new Date(nowMs),
  } as never);
  nth = 0;
  await long(
    'deliveries',
    'dlv',
    sizes.deliveries,
    (_id, createdAt): DeliveryDoc => ({
      _id,
      accountId,
      webhookId,
      eventId: `evt_${nth}`,
      eventType: 'payment.completed',
      subjectId: paymentIds[nth++ % paymentIds.length] ?? `pay_${nth}`,
      sequence: nth,
      status: nth % 50 === 0 ? 'FAILED' : 'DELIVERED',
      attemptCount: 1,
      attempts: [{ at: createdAt, durationMs: 20, responseStatus: 200, error: null }],
      nextAttemptAt: null,
      lastResponseStatus: 200,
      lastError: null,
      createdAt,
      endedAt: createdAt,
      replayId: '',
      isReplayed: false,
    }),
  );
  return {
    productIds: products.map(({ _id }) => _id),
    linkIds,
    walletIds: wallets.map(({ _id }) => _id),
    webhookId,
    exchange,
    transactionHash,
    paymentId: paymentIds[0] ?? '',
    month: {
      createdFrom: new Date(startMs + YEAR_MS / 2).toISOString(),
      createdTo: new Date(startMs + YEAR_MS / 2 + YEAR_MS / 12).toISOString(),
    },
    alike: {
      from: new Date(startMs + YEAR_MS / 2).toISOString(),
      to: new Date(startMs + YEAR_MS / 2 + (YEAR_MS * 0.99 * 500) / sizes.payments).toISOString(),
    },
  };
}

/** Adds the names that the stores would have added. */
async function addNames(db: mongo.Db, accountId: string, collection: string): Promise<void> {
  const names = ['memo', 'slug'].map((kind) => ({ $concat: [`${kind}:`, `$${kind}`] }));
  const stages = [
    { $match: { accountId } },
    { $project: { accountId: 1, payableId: '$_id', _id: names } },
    { $unwind: '$_id' },
    { $merge: { into: 'payableNames', whenMatched: 'fail' } },
  ];
  await db.collection(collection).aggregate(stages).toArray();
}

/** Inserts documents together with the count segments that the stores would have added. */
async function insertLong<Doc extends { _id: string }>(
  db: mongo.Db,
  accountId: string,
  name: string,
  count: number,
  make: () => Doc,
): Promise<void> {
  const list = `${name}:${accountId}`;
  const segments = [{ after: '', size: 0, room: roomOfNext(0) }];
  await withoutIndexes(db.collection(name), async () => {
    let flying: Promise<unknown> = Promise.resolve();
    for (let from = 0; from < count; from += BATCH) {
      const docs = Array.from({ length: Math.min(BATCH, count - from) }, make);
      for (const { _id } of docs) {
        const newest = segments.at(-1)!;
        newest.size += 1;
        if (newest.size === newest.room) segments.push({ after: _id, size: 0, room: roomOfNext(segments.length) });
      }
      await flying;
      flying = db.collection(name).insertMany(docs as never[], { ordered: false, writeConcern: { w: 1 } });
      flying.catch(() => undefined);
    }
    await flying;
  });
  const countSegments = segments.map((each) => ({
    _id: `${list}:${each.after}`,
    accountId,
    list,
    ...each,
    version: 1,
  }));
  await db.collection('countSegments').insertMany(countSegments as never[]);
}

/** Building an index at the end costs a fraction of maintaining it during the inserts. */
export async function withoutIndexes(collection: mongo.Collection, fill: () => Promise<unknown>): Promise<void> {
  const indexes = (await collection.indexes()).filter((index) => index.name !== '_id_');
  await collection.dropIndexes();
  await fill();
  if (indexes.length > 0) await collection.createIndexes(indexes.map(({ v, ...index }) => index) as never);
}
