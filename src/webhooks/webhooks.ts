/** Webhooks in the API. A signing secret appears only in the answer that made it and, sealed, in
 *  the store. */

import type { EventDataOf } from '../../contracts/event-kinds.js';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Commit, Quota } from '../accounts/index.js';
import { mask, newWebhookSecret } from '../domain/signature.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { pageOf } from '../kit/paging.js';
import type { SecretBox } from '../kit/secrets.js';
import type { ForAccount } from '../stores.js';
import type { DeliveryDoc } from './delivery-store.js';
import { createReadHealth } from './health.js';
import { createReplay } from './replay.js';
import type { WebhookDoc } from './webhook-store.js';

// Webhooks as the API and the events show them.

type Webhook = OutputOf<Contract['webhooks']['get']>;

export const toWebhook = (webhook: WebhookDoc): Webhook => ({
  id: webhook._id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  status: webhook.status,
  secretMasked: webhook.secretMasked,
  createdAt: webhook.createdAt.toISOString(),
});

// Deliveries in the API.

export function createDeliveryService(deps: {
  forAccount: ForAccount<'deliveries' | 'webhooks'>;
  commit: Commit;
  /** Called when a delivery has become due. */
  deliveriesDue: () => void;
}): ServiceOf<Contract['deliveries']> {
  const { forAccount, commit, deliveriesDue } = deps;

  const get = async (accountId: string, id: string): Promise<DeliveryDoc> => {
    const delivery = await forAccount(accountId).deliveries.byId(id);
    if (!delivery) throw notFound('delivery');
    return delivery;
  };

  return {
    async get({ accountId }, { id }) {
      return toDelivery(await get(accountId, id));
    },

    async redeliver(caller, { id }) {
      const { accountId } = caller;
      const { deliveries, webhooks } = forAccount(accountId);
      const { webhookId } = await get(accountId, id);
      const webhook = await webhooks.byId(webhookId);
      const delivery = await commit({ caller, subjectId: id }, async (session) => {
        const due = webhook && (await deliveries.redeliver(id, session));
        if (!due) throw conflict('The webhook of this delivery was deleted.');
        return due;
      });
      deliveriesDue();
      return toDelivery(delivery);
    },
  };
}

const toDelivery = (delivery: DeliveryDoc) => ({
  id: delivery._id,
  webhookId: delivery.webhookId,
  eventId: delivery.eventId,
  eventType: delivery.eventType,
  sequence: delivery.sequence,
  status: delivery.status,
  attemptCount: delivery.attemptCount,
  nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
  lastResponseStatus: delivery.lastResponseStatus,
  lastError: delivery.lastError,
  attempts: delivery.attempts.map(({ at, durationMs, responseStatus, error }) => ({
    at: at.toISOString(),
    durationMs,
    responseStatus,
    error,
  })),
  createdAt: delivery.createdAt.toISOString(),
});

// The test event of a webhook: a realistic `payment.completed` about resources that do not exist.

const WALLET_ADDRESS = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const CUSTOMER_ADDRESS = 'GDW6AUTBXTOC7FIKUO5BOO3OGLK4SF7ZPOBLMQHMZDI45J2Z6VXRB5NR';

export interface SampleEvent {
  _id: string;
  type: 'payment.completed';
  /** Not an event of the account. */
  sequence: null;
  /** JSON text. */
  data: string;
  createdAt: Date;
}

export const sampleEvent = (newId: NewId, now: Date, publicUrl: string): SampleEvent => ({
  _id: newId('evt'),
  type: 'payment.completed',
  sequence: null,
  data: JSON.stringify(sampleData(newId, now.toISOString(), publicUrl)),
  createdAt: now,
});

function sampleData(newId: NewId, createdAt: string, publicUrl: string): EventDataOf<'payment.completed'> {
  const wallet = { id: newId('wallet'), name: 'Sample wallet', address: WALLET_ADDRESS, network: 'TESTNET' } as const;
  const summary = {
    id: newId('prod'),
    name: 'Sample product',
    assetCode: 'XLM',
    priceType: 'FIXED',
    price: '10.5',
    currency: null,
    quote: null,
  } as const;
  const link = { id: newId('link'), name: 'Sample link', slug: 'sample', memo: 'SAMPLE000000' };
  return {
    payment: {
      id: newId('pay'),
      status: 'COMPLETED',
      reason: null,
      amount: summary.price,
      assetCode: summary.assetCode,
      assetIssuer: null,
      expectedAmount: summary.price,
      excessAmount: null,
      shortfallAmount: null,
      memo: link.memo,
      memoType: 'text',
      destinationMuxedId: null,
      senderMuxedAddress: null,
      senderAddress: CUSTOMER_ADDRESS,
      receiverAddress: wallet.address,
      network: wallet.network,
      transactionHash: '0'.repeat(64),
      operationId: '0',
      ledger: 0,
      ledgerClosedAt: createdAt,
      paymentLinkId: link.id,
      checkoutId: null,
      product: summary,
      walletId: wallet.id,
      needsDecision: false,
      decisionNote: null,
      value: null,
      refundedAmount: '0',
      refunds: [],
      explorerUrl: null,
      createdAt,
    },
    paymentLink: {
      ...link,
      url: `${publicUrl}/p/${link.slug}`,
      active: true,
      paymentCount: 1,
      ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
      product: summary,
      createdAt,
    },
    checkout: null,
    product: {
      ...summary,
      description: null,
      imageUrl: null,
      assetIssuer: null,
      minAmount: null,
      tolerancePercent: '0',
      stock: null,
      active: true,
      wallet,
      paymentLinkCount: 1,
      createdAt,
    },
  };
}

/** Each rotated secret signs for 24 h, so a day allows one rotation fewer than this. */
const MAX_SECRETS = 20;

type TestResult = OutputOf<Contract['webhooks']['test']>;

type Service = ServiceOf<Contract['webhooks']>;

interface WebhookServiceDeps {
  forAccount: ForAccount<'webhooks' | 'deliveries' | 'events' | 'eventCounters' | 'replays'>;
  transaction: Database['transaction'];
  commit: Commit;
  secrets: SecretBox;
  /** Signs the event and posts it once, regardless of the webhook's status. */
  send: (webhook: WebhookDoc, event: SampleEvent) => Promise<TestResult>;
  /** Called when deliveries have become due. */
  deliveriesDue: () => void;
  /** Called when a replay was stored. */
  eventsStored: () => void;
  clock: Clock;
  newId: NewId;
  publicUrl: string;
  quota: Quota;
}

export function createWebhookService(deps: WebhookServiceDeps): Service {
  const replay = createReplay(deps);
  const readHealth = createReadHealth(deps);

  return {
    create: create(deps),
    list: list(deps),

    async get({ accountId }, { id }) {
      return toWebhook(await get(deps, accountId, id));
    },
    update: update(deps),
    delete: remove(deps),
    deliveries: deliveries(deps),

    async health({ accountId }, { id }) {
      const health = await readHealth(accountId, id);
      if (!health) throw notFound('webhook');
      return health;
    },

    replay,
    test: test(deps),
    rotateSecret: rotateSecret(deps),
    deletePreviousSecret: deletePreviousSecret(deps),
  };
}

const get = async ({ forAccount }: WebhookServiceDeps, accountId: string, id: string): Promise<WebhookDoc> => {
  const webhook = await forAccount(accountId).webhooks.byId(id);
  if (!webhook) throw notFound('webhook');
  return webhook;
};

const withSecret = ({ secrets }: WebhookServiceDeps, webhook: WebhookDoc) => ({
  ...toWebhook(webhook),
  secret: secrets.open(webhook.secrets[0]!.sealed, webhook._id),
});

const create =
  (deps: WebhookServiceDeps): Service['create'] =>
  async (caller, { name, url, events }) => {
    const { forAccount, newId, clock, secrets, quota } = deps;
    const { accountId, reservedId } = caller;
    const { webhooks } = forAccount(accountId);
    const id = (reservedId ?? newId)('hook');
    // Already made by a run of this request that died before it answered.
    const made = reservedId && (await webhooks.byId(id));
    if (made) return withSecret(deps, made);
    const secret = newWebhookSecret(clock);
    const webhook: WebhookDoc = {
      _id: id,
      accountId,
      name,
      url,
      events: [...new Set(events)],
      status: 'ACTIVE',
      secretMasked: mask(secret),
      secrets: [{ sealed: secrets.seal(secret, id), until: null }],
      failingSince: null,
      openedTo: 0,
      deliverySequence: 0,
      lease: null,
      createdAt: clock.now(),
    };
    await quota({ caller, subjectId: id }, async (session) => {
      // Its deliveries begin with the next numbered event.
      const openedTo = await forAccount(accountId).eventCounters.countWebhook(session);
      await webhooks.insert({ ...webhook, openedTo }, session);
    });
    return withSecret(deps, webhook);
  };

const list =
  ({ forAccount }: WebhookServiceDeps): Service['list'] =>
  async (caller, request) => {
    const { webhooks } = forAccount(caller.accountId);
    const { items, meta } = await webhooks.list(pageOf(caller, request));
    return { items: items.map(toWebhook), meta };
  };

const update =
  (deps: WebhookServiceDeps): Service['update'] =>
  async (caller, { id, events, ...fields }) => {
    const { forAccount, commit, deliveriesDue } = deps;
    const { accountId } = caller;
    const { webhooks, deliveries } = forAccount(accountId);
    const given = { ...fields, events: events && [...new Set(events)] };
    const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const resumes = fields.status === 'ACTIVE' && (await get(deps, accountId, id)).status === 'PAUSED';
    // First, while nothing is sent: if the process dies between the two, no delivery of an ACTIVE
    // webhook is left waiting.
    if (resumes) await deliveries.expedite(id);
    const webhook = await commit({ caller, subjectId: id }, (session) => webhooks.update(id, changes, session));
    if (!webhook) throw notFound('webhook');
    if (resumes) deliveriesDue();
    return toWebhook(webhook);
  };

const remove =
  ({ forAccount, commit }: WebhookServiceDeps): Service['delete'] =>
  async (caller, { id }) => {
    const { webhooks, deliveries } = forAccount(caller.accountId);
    const isRemoved = await commit({ caller, subjectId: id }, (session) => webhooks.remove(id, session));
    if (!isRemoved) throw notFound('webhook');
    await deliveries.cancelPending(id);
    return { id, deleted: true };
  };

const deliveries =
  (deps: WebhookServiceDeps): Service['deliveries'] =>
  async (caller, { id, status, ...request }) => {
    const { deliveries } = deps.forAccount(caller.accountId);
    await get(deps, caller.accountId, id);
    const { items, meta } = await deliveries.list(id, { status }, pageOf(caller, request));
    return { items: items.map(toDelivery), meta };
  };

const test =
  (deps: WebhookServiceDeps): Service['test'] =>
  async (caller, { id }) => {
    const { commit, send, newId, clock, publicUrl } = deps;
    const webhook = await get(deps, caller.accountId, id);
    // Only this is stored of it.
    await commit({ caller, subjectId: id }, async () => undefined);
    return send(webhook, sampleEvent(newId, clock.now(), publicUrl));
  };

const rotateSecret =
  (deps: WebhookServiceDeps): Service['rotateSecret'] =>
  async (caller, { id }) => {
    const { forAccount, clock, secrets, commit } = deps;
    const { accountId } = caller;
    const { webhooks } = forAccount(accountId);
    const now = clock.now();
    const { secrets: known } = await get(deps, accountId, id);
    if (known.filter(({ until }) => until === null || until > now).length >= MAX_SECRETS) {
      throw conflict(
        'This webhook has too many valid secrets: end the older ones (DELETE …/previous-secret) or wait until they end.',
      );
    }
    const secret = newWebhookSecret(clock);
    const kept = { sealed: secrets.seal(secret, id), masked: mask(secret) };
    const webhook = await commit({ caller, subjectId: id }, (session) => webhooks.rotate(id, kept, now, session));
    if (!webhook) throw notFound('webhook');
    return { ...toWebhook(webhook), secret };
  };

const deletePreviousSecret =
  ({ forAccount, commit }: WebhookServiceDeps): Service['deletePreviousSecret'] =>
  async (caller, { id }) => {
    const { webhooks } = forAccount(caller.accountId);
    const webhook = await commit({ caller, subjectId: id }, (session) => webhooks.dropOlderSecrets(id, session));
    if (!webhook) throw notFound('webhook');
    return { id, deleted: true };
  };
