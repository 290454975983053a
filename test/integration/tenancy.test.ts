/** No method of an account's stores reads or changes what another account owns, whatever ids it
 *  is given. */
import { pino } from 'pino';
import t from 'tap';
import type { ActivityDoc } from '../../src/accounts/activity.js';
import type { UserDoc } from '../../src/accounts/user-store.js';
import type { ClaimDoc } from '../../src/api/idempotency.js';
import type { EventDoc } from '../../src/events/event-store.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import { connectDatabase, insertTogether, Taken } from '../../src/kit/database.js';
import type { PaymentDoc } from '../../src/payments/payment-document.js';
import type { RefundDoc } from '../../src/payments/refund-store.js';
import { proofIdOf } from '../../src/proving/proof-store.js';
import type { CheckoutDoc } from '../../src/selling/checkout-document.js';
import type { CouponDoc } from '../../src/selling/coupons.js';
import type { PaymentLinkDoc } from '../../src/selling/link-store.js';
import { type ProductDoc, type ProductVersionDoc, toArchive } from '../../src/selling/product-document.js';
import { AccountStores, createStores } from '../../src/stores.js';
import type { GapDoc } from '../../src/watching/gap-store.js';
import type { DeliveryDoc } from '../../src/webhooks/delivery-store.js';
import type { ReplayDoc } from '../../src/webhooks/replay.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';
import { monitored, namesAccount, recordAccesses } from '../helpers/commands.js';
import { testDatabase } from '../helpers/mongo.js';
import { newId, walletDoc } from '../helpers/stores.js';

const { uri, db } = await testDatabase(t);
const database = await connectDatabase(monitored(uri));
const { connection, transaction, close } = database;
t.teardown(close);
const stores = createStores(connection, { clock, newId });
await stores.ensureIndexes();

const [OWNER, STRANGER] = [newId('acct'), newId('acct')];
const now = clock.now();
const soon = new Date(now.getTime() + 60_000);
const stamp = { at: now, ledger: 5 };
const terms = {
  active: true,
  assetCode: 'XLM',
  assetIssuer: null,
  priceType: 'FIXED' as const,
  price: '10',
  minAmount: null,
  tolerancePercent: '0',
};
const owned = { accountId: OWNER, createdAt: now };

const wallet = walletDoc({ ...owned, address: 'GOWNER', windows: [{ from: stamp, until: null }] });
const spare = walletDoc({ ...owned, address: 'GSPARE', windows: [{ from: stamp, until: stamp }], active: false });
const product: ProductDoc = {
  ...owned,
  _id: newId('prod'),
  name: 'Tea',
  nameKey: 'tea',
  description: null,
  imageUrl: null,
  walletId: wallet._id,
  ...terms,
  history: [{ from: null, terms, network: wallet.network }],
  stock: null,
  paymentLinkCount: 1,
  plainLinkCount: 1,
  revision: 0,
};
const link: PaymentLinkDoc = {
  ...owned,
  _id: newId('link'),
  productId: product._id,
  name: null,
  slug: 'tea',
  memo: 'TEA0000000',
  active: true,
  history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
  paymentCount: 0,
  receivedCount: 0,
  ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
  ...{ completedCount: 0, orderCount: 0 },
};
const checkout: CheckoutDoc = {
  ...owned,
  _id: newId('chk'),
  productId: product._id,
  walletId: wallet._id,
  slug: 'order',
  memo: 'ORDER0000000',
  reference: 'order-1',
  metadata: '{}',
  name: 'Tea',
  description: null,
  assetCode: 'XLM',
  assetIssuer: null,
  amount: '10',
  quantity: 1,
  lines: [{ productId: null, name: 'Tea', quantity: 1, price: '10', total: '10', net: '10', tax: '0' }],
  taxIncluded: true,
  tolerancePercent: '0',
  successUrl: null,
  cancelUrl: null,
  status: 'OPEN',
  received: '0',
  paymentCount: 0,
  expiresAt: soon,
  expiryCheckAt: soon,
  cancelledFrom: null,
  acceptedFrom: null,
  gapBefore: null,
  paidAt: null,
  closedAt: null,
};
const payment: PaymentDoc = {
  ...owned,
  _id: newId('pay'),
  walletId: wallet._id,
  network: 'TESTNET',
  operationId: '1',
  changeIndex: 0,
  transactionHash: 'ab'.repeat(32),
  ledger: 5,
  ledgerClosedAt: now,
  receiverAddress: 'GOWNER',
  senderAddress: 'GSENDER',
  assetCode: 'XLM',
  assetIssuer: null,
  amount: '9',
  destinationMuxedId: null,
  senderMuxedAddress: null,
  memo: link.memo,
  memoType: 'text',
  status: 'UNDERPAID',
  reason: null,
  expectedAmount: '10',
  excessAmount: null,
  shortfallAmount: '1',
  paymentLinkId: link._id,
  checkoutId: null,
  productId: product._id,
  needsDecision: true,
};
const refund: RefundDoc = {
  _id: 'refund',
  accountId: OWNER,
  network: 'TESTNET',
  paymentId: payment._id,
  targetId: link._id,
  transactionHash: 'ab'.repeat(32),
  operationId: '2',
  changeIndex: 0,
  ledger: 6,
  ledgerClosedAt: now,
  receiver: 'GSENDER',
  receiverMuxedAddress: null,
  assetCode: 'XLM',
  assetIssuer: null,
  amount: '1',
};
const coupon: CouponDoc = {
  ...{ _id: newId('coup'), ...owned, code: 'TEA', percentOff: '10', amountOff: null },
  ...{ currency: null, assetCode: null, assetIssuer: null, productIds: null, minSubtotal: null },
  ...{ startsAt: null, endsAt: null, maxRedemptions: null, redemptions: 0, active: true },
};
const gap: GapDoc = {
  ...{ _id: newId('gap'), accountId: OWNER, walletId: wallet._id, network: 'TESTNET', fromLedger: 1, toLedger: 2 },
  ...{ at: now, readTo: null, mendedAt: null, isLost: false, lostSince: null },
};
const audit = { _id: newId('aud'), walletId: wallet._id, network: 'TESTNET', createdAt: now } as const;
const apiKey = {
  ...owned,
  _id: newId('key'),
  name: 'first',
  scope: 'FULL' as const,
  hash: 'hash',
  keyMasked: 'sk_…',
  lastUsedAt: null,
  expiresAt: null,
  sparedCount: 0,
};
const user: UserDoc = {
  ...owned,
  _id: newId('user'),
  name: 'Ana',
  role: 'OWNER',
  language: 'de',
  email: 'ana@example.org',
  status: 'ACTIVE',
  invitation: null,
  passkeys: [],
  revision: 0,
  sparedCount: 0,
};
const webhook: WebhookDoc = {
  ...owned,
  _id: newId('hook'),
  name: 'shop',
  url: 'https://shop.example/',
  events: ['payment.received'],
  status: 'ACTIVE',
  secretMasked: '',
  secrets: [{ sealed: 'sealed', until: null }],
  failingSince: null,
  openedTo: 0,
  deliverySequence: 0,
  lease: null,
};
const replay: ReplayDoc = {
  ...owned,
  _id: newId('rpl'),
  webhookId: webhook._id,
  status: 'ALL',
  types: ['payment.received'],
  ...{ count: 0, made: 0 },
  fromId: 'evt_',
  toId: null,
  upTo: 10,
  cursor: '',
};
const replayed: ReplayDoc = { ...replay, createdAt: soon };
const activity: ActivityDoc = {
  ...{ _id: newId('act'), accountId: OWNER, actor: { type: 'user', id: 'user_x', name: 'x' }, address: null },
  ...{ operation: 'wallets_update', subjectId: wallet._id, changes: [] },
};
const claim: ClaimDoc = {
  _id: 'claim',
  accountId: OWNER,
  bodyHash: 'hash',
  reservedSuffix: 'x',
  runner: 'me',
  runsUntil: soon,
  answer: null,
  expiresAt: soon,
};

/** With a version in the archive that was in force until now. */
const archivedProduct: ProductDoc = {
  ...product,
  archived: { count: 1, since: new Date(0) },
  history: [{ ...product.history[0]!, from: { at: now, ledger: null } }],
};
const ownRate = {
  ...{ pair: 'PUBLIC EUR XLM', currency: 'EUR', assetCode: 'XLM', assetIssuer: null, network: 'PUBLIC' as const },
  ...{ rate: '0.25', at: now, from: { at: now, ledger: null }, until: null },
};
const { docs: versions } = toArchive(product, product.history);

const own = stores.forAccount(OWNER);
await stores.system.accounts.insert({ _id: OWNER, name: 'Owner', createdAt: now });
await own.ownRates.add(ownRate, new Date(0));
await own.proofs.ask(payment, 'ledger', now);
await own.apiKeys.save(apiKey);
await transaction((session) => own.users.insert(user, session));
await own.wallets.insert(wallet);
await own.wallets.insert(spare);
await transaction((session) => own.coupons.insert(coupon, session));
await db.collection<RefundDoc>('refunds').insertOne(refund);
await db.collection<GapDoc>('gaps').insertOne(gap);
await db.collection<ProductVersionDoc>('productVersions').insertMany(versions);
await own.audits.start(audit);
await transaction((session) => insertTogether([stores.system.activities.insertOf([activity])], session));
await own.webhooks.insert(webhook);
await own.idempotency.claim(claim);
await transaction((session) => own.replays.insert(replay, session));
await transaction(async (session) => {
  const { checkouts, products, paymentLinks } = own;
  await insertTogether(
    [...checkouts.insertsOf([checkout]), ...products.insertsOf([product]), ...paymentLinks.insertsOf([link])],
    session,
  );
  await stores.system.payments.insert([payment], session);
});
const event: EventDoc = {
  ...owned,
  _id: newId('evt'),
  type: 'payment.received',
  subjectId: payment._id,
  occurrence: '',
  sequence: 0,
  data: '{}',
};
await transaction((session) => stores.system.events.insert([event], session));
const sequencer = createSequencer({
  ...{ ...stores.system, transaction, clock },
  ...{ holder: 'test', log: pino({ level: 'silent' }), deliveriesDue: () => undefined },
});
while (await sequencer.round());
await db.collection<DeliveryDoc>('deliveries').updateOne({}, { $set: { nextAttemptAt: soon } });
const delivery = (await db.collection<DeliveryDoc>('deliveries').findOne())!;

const pageOfAll = { page: 1, pageSize: 50 };
const allOf = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
const inTransaction = <T>(work: (session: Parameters<Parameters<typeof transaction>[0]>[0]) => Promise<T>) =>
  transaction(work);

type Call = (stranger: AccountStores) => Promise<unknown>;
/** Every method of every collection, called with the owner's ids. The result must be nothing. */
const CALLS: { [Name in keyof AccountStores]: Record<keyof AccountStores[Name], Call> } = {
  account: {
    get: (s) => s.account.get(),
    change: (s) => s.account.change({ brand: { name: 'stolen' }, percent: '1', currency: 'EUR' }, now),
    setNotifications: (s) => s.account.setNotifications({ recipients: ['stolen@shop.example'], kinds: [] }),
    countCreations: (s) => inTransaction((session) => s.account.countCreations(1, session)),
  },
  proofs: {
    byId: (s) => s.proofs.byId(proofIdOf(payment._id, 'ledger')),
    ask: (s) => s.proofs.ask(payment, 'ledger', now).catch(() => null),
  },
  apiKeys: {
    save: (s) => s.apiKeys.save({ ...apiKey, name: 'stolen' }).catch(() => null),
    count: (s) => inTransaction((session) => s.apiKeys.count(session)),
    byId: (s) => s.apiKeys.byId(apiKey._id),
    list: (s) => s.apiKeys.list(pageOfAll),
    replaceKey: (s) => s.apiKeys.replaceKey(apiKey._id, { hash: 'mine', keyMasked: '', expiresAt: null }),
    spareAnother: (s) => inTransaction((session) => s.apiKeys.spareAnother('key_x', now, session)),
    remove: (s) => inTransaction((session) => s.apiKeys.remove(apiKey._id, session)),
    markUsed: (s) => s.apiKeys.markUsed(apiKey._id, now),
  },
  users: {
    insert: (s) => inTransaction((session) => s.users.insert({ ...user, name: 'stolen' }, session)).catch(() => null),
    invite: (s) => s.users.invite(user._id, { hash: 'mine', expiresAt: now }),
    removePasskey: (s) => inTransaction((session) => s.users.removePasskey(user._id, 'x', session)),
    passkeysOfOwners: (s) => s.users.passkeysOfOwners(),
    count: (s) => inTransaction((session) => s.users.count(session)),
    byId: (s) => s.users.byId(user._id),
    byIds: (s) => s.users.byIds([user._id]),
    languageOf: (s) => s.users.languageOf('ana@example.org'),
    list: (s) => s.users.list(pageOfAll),
    change: (s) => inTransaction((session) => s.users.change(user._id, { role: 'VIEWER' }, session)),
    spareOwner: (s) => inTransaction((session) => s.users.spareOwner('user_x', true, session)),
    remove: (s) => inTransaction((session) => s.users.remove(user._id, session)),
  },
  wallets: {
    insert: (s) => s.wallets.insert({ ...wallet, name: 'stolen' }).catch(() => null),
    count: (s) => inTransaction((session) => s.wallets.count(session)),
    byId: (s) => s.wallets.byId(wallet._id),
    byIds: (s) => s.wallets.byIds([wallet._id, spare._id]),
    list: (s) => s.wallets.list(pageOfAll),
    rename: (s) => s.wallets.rename(wallet._id, 'stolen'),
    activate: (s) => s.wallets.activate(spare._id, stamp),
    deactivate: (s) => inTransaction((session) => s.wallets.deactivate(wallet._id, stamp, session)),
    removeUnused: (s) => inTransaction((session) => s.wallets.removeUnused(spare._id, session)),
  },
  gaps: { list: (s) => s.gaps.list(wallet._id, pageOfAll) },
  ownRates: {
    newest: (s) => s.ownRates.newest('PUBLIC EUR XLM'),
    newestOfAll: (s) => s.ownRates.newestOfAll(),
    countSince: (s) => s.ownRates.countSince('PUBLIC EUR XLM', new Date(0), 10),
    countPairs: (s) => s.ownRates.countPairs(),
    add: (s) => s.ownRates.add(ownRate, new Date(0)),
  },
  activities: { list: (s) => s.activities.list({}, pageOfAll) },
  audits: {
    // With the id of one that is there: a stranger gets nothing of it.
    start: (s) => s.audits.start({ _id: audit._id, walletId: wallet._id, network: 'TESTNET', createdAt: now }),
    byId: (s) => s.audits.byId(audit._id),
    removeOf: (s) => s.audits.removeOf(wallet._id),
    list: (s) => s.audits.list(wallet._id, pageOfAll),
  },
  products: {
    insertsOf: (s) =>
      inTransaction((session) => insertTogether(s.products.insertsOf([{ ...product, name: 'x' }]), session)).catch(
        () => null,
      ),
    byId: (s) => s.products.byId(product._id),
    byIds: (s) => s.products.byIds([product._id]),
    assets: (s) => s.products.assets(9),
    priced: (s) => s.products.priced(),
    list: (s) => s.products.list({ sortBy: 'name', sortOrder: 'asc' }, pageOfAll),
    assetsOfWallet: (s) => s.products.assetsOfWallet(wallet._id),
    idsByName: (s) => s.products.idsByName('tea', 10),
    change: (s) => inTransaction((session) => s.products.change(product, { name: 'stolen' }, null, session)),
    withVersionsAt: (s) =>
      inTransaction((session) =>
        s.products.withVersionsAt(archivedProduct, [{ ledger: 1, closedAt: now }], session),
      ).then(({ history }) => history.slice(0, -1)),
    removeVersions: (s) => inTransaction((session) => s.products.removeVersions(product._id, session)).then(() => null),
    removeUnpaid: (s) => inTransaction((session) => s.products.removeUnpaid(product._id, session)),
    forget: (s) => inTransaction((session) => s.products.forget(product._id, session)),
    changeStock: (s) => inTransaction((session) => s.products.changeStock(product._id, 1, null, session)),
  },
  paymentLinks: {
    insertsOf: (s) =>
      inTransaction((session) =>
        insertTogether(s.paymentLinks.insertsOf([{ ...link, slug: 'x', memo: 'X' }]), session),
      ).catch(() => null),
    byId: (s) => s.paymentLinks.byId(link._id),
    list: (s) => s.paymentLinks.list({ search: { text: 'tea', productIds: [product._id] } }, pageOfAll),
    change: (s) =>
      inTransaction((session) => s.paymentLinks.change(link, { name: 'stolen' }, null, session)).then(() => null),
    removeUnpaid: (s) => inTransaction((session) => s.paymentLinks.removeUnpaid(link._id, session)),
    removeOfProduct: (s) =>
      inTransaction((session) => s.paymentLinks.removeOfProduct(product._id, session)).then(() => null),
  },
  coupons: {
    byId: (s) => s.coupons.byId(coupon._id),
    byCode: (s) => s.coupons.byCode(coupon.code),
    list: (s) => s.coupons.list({}, pageOfAll),
    insert: (s) =>
      inTransaction(async (session) => {
        // A transaction that MongoDB has aborted must not be committed.
        if (!(await s.coupons.insert(coupon, session))) throw new Error('taken');
      }).catch(() => null),
    change: (s) =>
      inTransaction((session) => s.coupons.change(coupon._id, { active: false }, session)).then(() => null),
    removeUnused: (s) => inTransaction((session) => s.coupons.removeUnused(coupon._id, session)),
  },
  checkouts: {
    insertsOf: (s) =>
      inTransaction((session) =>
        insertTogether(s.checkouts.insertsOf([{ ...checkout, slug: 'x', memo: 'X' }]), session),
      ).catch(() => null),
    removeUnpaid: (s) => inTransaction((session) => s.checkouts.removeUnpaid([checkout._id], session)),
    priced: (s) => s.checkouts.priced(),
    byId: (s) => s.checkouts.byId(checkout._id),
    byIds: (s) => s.checkouts.byIds([checkout._id]),
    list: (s) => s.checkouts.list({ reference: 'order-1', walletId: wallet._id }, pageOfAll),
    batches: (s) => allOf(database.snapshot((session) => s.checkouts.batches({}, session))),
    take: (s) =>
      inTransaction((session) =>
        s.checkouts.take({ couponId: coupon._id, pieces: [], linkId: null }, now, session),
      ).then((held) => (held === 'coupon' ? null : held)),
    takeAgain: (s) =>
      inTransaction((session) =>
        s.checkouts.takeAgain(
          {
            ...checkout,
            takes: { couponId: coupon._id, pieces: [], linkId: null },
            holds: { coupon: false, pieces: true, place: false },
          },
          session,
        ),
      ).then(({ holds }) => (holds!.coupon ? holds : null)),
    taxes: (s) => s.checkouts.taxes({ groupBy: 'day', offsets: [{ fromMs: 0, offsetMs: 0 }], maxMs: 9000 }),
    update: (s) => inTransaction((session) => s.checkouts.update({ ...checkout, status: 'CANCELLED' }, session)),
    scheduleCompletion: (s) => inTransaction((session) => s.checkouts.scheduleCompletion(checkout._id, session)),
    existsOfWallet: (s) => inTransaction((session) => s.checkouts.existsOfWallet(wallet._id, session, 'OPEN')),
    removeOfProduct: (s) =>
      inTransaction((session) => s.checkouts.removeOfProduct(product._id, session)).then(() => null),
  },
  payments: {
    byId: (s) => s.payments.byId(payment._id),
    ofCheckout: (s) => inTransaction((session) => s.payments.ofCheckout(checkout, session)),
    sumOfCheckout: (s) =>
      inTransaction((session) => s.payments.sumOfCheckout(checkout, session)).then(({ stroops }) => stroops || null),
    refundedOfCheckout: (s) => s.payments.refundedOfCheckout(checkout).then((sum) => sum || null),
    completingCheckout: (s) => s.payments.completingCheckout(checkout),
    countedOfCheckout: (s) => s.payments.countedOfCheckout(checkout, 9).then(({ count }) => count || null),
    complete: (s) => inTransaction((session) => s.payments.complete([payment._id], session)),
    list: (s) => s.payments.list({ status: ['UNDERPAID'], paymentLinkId: link._id }, pageOfAll),
    sums: (s) =>
      s.payments.sums({
        groupBy: 'asset',
        offsets: [],
        status: ['UNDERPAID'],
        maxRows: 9,
        maxMs: 9000,
      }) as Promise<unknown>,
    batches: (s) => allOf(database.snapshot((session) => s.payments.batches({ status: ['UNDERPAID'] }, session))),
    judge: (s) =>
      inTransaction((session) => s.payments.judge(payment._id, ['UNDERPAID'], { status: 'COMPLETED' }, session)),
    dismiss: (s) =>
      inTransaction((session) => s.payments.dismiss(payment._id, { at: new Date(), note: null }, session)),
  },
  refunds: { ofTransaction: (s) => s.refunds.ofTransaction('ab'.repeat(32)) },
  events: {
    byId: (s) => s.events.byId(event._id),
    list: (s) => s.events.list({ order: 'asc', subjectId: payment._id }, pageOfAll),
    after: (s) => s.events.after(0, 10),
    subjectsAfter: (s) => s.events.subjectsAfter(0, 10),
    countReplayed: (s) => s.events.countReplayed(replayed),
    newestUnnumbered: (s) => s.events.newestUnnumbered(),
  },
  eventCounters: {
    last: (s) => s.eventCounters.last().then((last) => last || null),
    countWebhook: (s) => inTransaction((session) => s.eventCounters.countWebhook(session)).then((last) => last || null),
  },
  webhooks: {
    insert: (s) => s.webhooks.insert({ ...webhook, url: 'https://x.example/' }).catch(() => null),
    count: (s) => inTransaction((session) => s.webhooks.count(session)),
    byId: (s) => s.webhooks.byId(webhook._id),
    list: (s) => s.webhooks.list(pageOfAll),
    update: (s) => s.webhooks.update(webhook._id, { url: 'https://stranger.example/' }),
    rotate: (s) => s.webhooks.rotate(webhook._id, { sealed: 'mine', masked: '' }, now),
    dropOlderSecrets: (s) => s.webhooks.dropOlderSecrets(webhook._id),
    countReplay: (s) => inTransaction((session) => s.webhooks.countReplay(webhook, session)),
    remove: (s) => s.webhooks.remove(webhook._id),
  },
  deliveries: {
    byId: (s) => s.deliveries.byId(delivery._id),
    list: (s) => s.deliveries.list(webhook._id, {}, pageOfAll),
    redeliver: (s) => s.deliveries.redeliver(delivery._id),
    expedite: (s) => s.deliveries.expedite(webhook._id),
    health: async (s) => {
      const { latenciesMs, ...health } = await inTransaction((session) =>
        s.deliveries.health(webhook._id, new Date(0), session),
      );
      return [...latenciesMs, ...Object.values(health)].find((value) => value);
    },
    countFailed: (s) => s.deliveries.countFailed(replayed),
    countUnfinished: (s) => s.deliveries.countUnfinished(replayed, 9),
    cancelPending: (s) => s.deliveries.cancelPending(webhook._id),
  },
  mails: { lastFailure: (s) => s.mails.lastFailure() },
  replays: {
    insert: (s) => inTransaction((session) => s.replays.insert({ ...replay, types: [] }, session)).catch(() => null),
    ofWebhook: (s) => s.replays.ofWebhook(webhook._id),
  },
  idempotency: {
    claim: (s) => s.idempotency.claim({ ...claim, bodyHash: 'stolen' }).catch(() => null),
    replace: (s) => s.idempotency.replace(claim, { ...claim, bodyHash: 'stolen' }),
    prolong: (s) => s.idempotency.prolong(claim._id, claim.runner, now),
    answer: (s) => s.idempotency.answer(claim._id, claim.runner, 'stolen'),
    release: (s) => s.idempotency.release(claim._id, claim.runner),
  },
};

/** Everything that the owner has, as text. */
async function ownerState(): Promise<string> {
  const collections = (await db.collections()).sort((a, b) => (a.collectionName < b.collectionName ? -1 : 1));
  const state = await Promise.all(
    collections.map(async (each) => [
      each.collectionName,
      (await each.find().sort({ _id: 1 }).toArray()).filter((doc) => JSON.stringify(doc).includes(OWNER)),
    ]),
  );
  return JSON.stringify(state, null, 1);
}

const isNothing = (result: unknown): boolean =>
  result === null ||
  result === undefined ||
  result === false ||
  result === 0 ||
  (Array.isArray(result) && result.length === 0) ||
  (typeof result === 'object' && 'items' in result && Array.isArray(result.items) && result.items.length === 0);

t.test('the table below holds every method of every collection of an account', async (t) => {
  const getters = Object.entries(Object.getOwnPropertyDescriptors(AccountStores.prototype)).flatMap(
    ([name, { get }]) => (get ? [name] : []),
  );
  t.same(Object.keys(CALLS).sort(), getters.sort());
  for (const name of getters as (keyof AccountStores)[]) {
    t.same(Object.keys(CALLS[name]).sort(), Object.keys(own[name]).sort(), name);
  }
});

t.test('a stranger with the ids of an owner gets nothing and changes nothing', async (t) => {
  const stranger = stores.forAccount(STRANGER);
  const before = await ownerState();
  for (const [collection, calls] of Object.entries(CALLS)) {
    for (const [method, call] of Object.entries(calls as Record<string, Call>)) {
      const result = await call(stranger);
      t.ok(isNothing(result), `${collection}.${method}: ${JSON.stringify(result)}`);
      t.equal(await ownerState(), before, `${collection}.${method} leaves the owner's documents as they are`);
    }
  }
});

t.test('what an account stores is its own, whatever the document says', async (t) => {
  const stranger = stores.forAccount(STRANGER);
  t.ok(await stranger.wallets.insert(walletDoc({ ...owned, address: 'GTHEIRS', windows: [] })));
  t.same(await own.wallets.byIds((await stranger.wallets.list(pageOfAll)).items.map(({ _id }) => _id)), []);
  t.match((await stranger.wallets.list(pageOfAll)).items, [{ accountId: STRANGER }]);
});

t.test('what both ask for in the same moment is one query, and each is answered its own', async (t) => {
  await db.command({ profile: 2 });
  const ids = [wallet._id, spare._id, 'wallet_nobody', wallet._id];
  const [owners, strangers] = await Promise.all(
    [OWNER, STRANGER].map((accountId) => Promise.all(ids.map((id) => stores.forAccount(accountId).wallets.byId(id)))),
  );
  await db.command({ profile: 0 });
  t.strictSame(
    owners!.map((found) => found?._id ?? null),
    [wallet._id, spare._id, null, wallet._id],
  );
  t.strictSame(strangers, [null, null, null, null]);
  t.equal(await db.collection('system.profile').countDocuments({ 'command.find': 'wallets' }), 1);
});

t.test(
  'a stranger who counts at what an owner has → nothing is counted or shown, the owner’s own beside it is',
  async (t) => {
    const { products, wallets } = stores.system;
    const ids = { productId: product._id, walletId: wallet._id };
    const of = (accountId: string) => ({ accountId, ...ids, all: 1, plain: 1, added: 1 });
    const [own, stranger] = [of(OWNER), of(STRANGER)];
    const countsOf = async () => {
      const counted = await db.collection('products').findOne({ _id: product._id as never });
      const made = await db.collection('wallets').findOne({ _id: wallet._id as never });
      return [counted!.paymentLinkCount, counted!.plainLinkCount, made!.checkoutsMade ?? 0, made!.productCount];
    };
    const before = await countsOf();
    const none = { ...own, productId: newId('prod'), walletId: newId('wallet') };
    for (const asked of [[stranger], [own, own], [stranger, none, own, stranger]]) {
      const shown = await transaction(async (session) => [
        await products.countLinks(asked, session),
        await wallets.countCheckouts(asked, session),
        await wallets.countProducts(asked, session),
      ]);
      for (const docs of shown) {
        t.same(
          docs.map((doc) => doc !== null),
          asked.map((each) => each === own),
        );
      }
    }
    t.same(
      await countsOf(),
      before.map((count) => count + 3),
    );
  },
);

t.test(
  'a memo or slug is taken once, by links and checkouts of all accounts, until its owner is removed',
  async (t) => {
    const taken = { memo: 'TAKEN', slug: 'taken' };
    const nullWhenTaken = (error: Error) => {
      if (error instanceof Taken) return null;
      throw error;
    };
    const insertLink = (names: object) =>
      transaction(async (session) => {
        const doc = { ...link, _id: newId('link'), memo: 'FREE', slug: 'free', ...names };
        await insertTogether(own.paymentLinks.insertsOf([doc]), session);
        return doc._id;
      }).catch(nullWhenTaken);
    const insertCheckout = (names: object) =>
      transaction(async (session) => {
        const doc = { ...checkout, _id: newId('chk'), memo: 'FREE', slug: 'free', ...names };
        await insertTogether(stores.forAccount(STRANGER).checkouts.insertsOf([doc]), session);
        return doc._id;
      }).catch(nullWhenTaken);
    const id = (await insertLink(taken))!;
    for (const insert of [insertLink, insertCheckout]) {
      t.equal(await insert({ memo: taken.memo }), null, 'the memo');
      t.equal(await insert({ slug: taken.slug }), null, 'the slug');
    }
    t.equal((await stores.system.paymentLinks.bySlug(taken.slug))!._id, id);
    t.equal(await stores.system.checkouts.bySlug(taken.slug), null, 'it is no checkout');
    t.ok(await transaction((session) => own.paymentLinks.removeUnpaid(id, session)));
    t.equal(await stores.system.paymentLinks.bySlug(taken.slug), null);
    const order = (await insertCheckout(taken))!;
    t.equal((await stores.system.checkouts.bySlug(taken.slug))!._id, order);
    await transaction((session) => stores.forAccount(STRANGER).checkouts.removeUnpaid([order], session));
    t.equal(await db.collection('payableNames').countDocuments({ accountId: STRANGER }), 0);
  },
);

t.test(
  'every command of an account names the account, so that a database divided by accounts answers it from one part',
  async (t) => {
    const accesses = recordAccesses(connection);
    const faults = new Set<string>();
    for (const [collection, calls] of Object.entries(CALLS)) {
      for (const [method, call] of Object.entries(calls as Record<string, Call>)) {
        accesses.length = 0;
        // As the owner, who finds what there is to find; what an earlier call has changed may
        // be refused.
        await call(own).catch(() => null);
        t.ok(accesses.length > 0, `${collection}.${method} asks MongoDB`);
        for (const access of accesses) {
          if (!namesAccount(access, OWNER)) faults.add(`${collection}.${method}: ${JSON.stringify(access)}`);
        }
      }
    }
    t.same([...faults], []);
  },
);
