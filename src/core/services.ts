/** The services of the API, composed around the core. */
import type { Network } from '../../contracts/networks.js';
import { createReadStatement } from '../audit/statement.js';
import type { SecretBox } from '../domain/secrets.js';
import type { PayUri } from '../domain/sep7.js';
import type { LedgerStamper } from '../ingest/ledger-stamper.js';
import { createBookByHash } from '../ingest/refund-by-hash.js';
import { createReadWalletAssets } from '../ingest/wallet-assets.js';
import { createAcceptCheckout } from '../payments/acceptance.js';
import { createRemoveLeftovers } from '../payments/deleted-products.js';
import type { NeedRate } from '../rates/sampler.js';
import { createAccountService } from '../services/account.js';
import { createActivityService } from '../services/activity.js';
import { createApiKeyService } from '../services/api-keys.js';
import type { Services } from '../services/caller.js';
import { createCheckoutService } from '../services/checkouts.js';
import { withAllRules } from '../services/context-rules.js';
import { createDeliveryService } from '../services/deliveries.js';
import { withAllDoing } from '../services/doing.js';
import type { EventTail } from '../services/event-tail.js';
import { createEventService } from '../services/events.js';
import { createNotificationService } from '../services/notifications.js';
import { createPaymentLinkService } from '../services/payment-links.js';
import { createPaymentService } from '../services/payments.js';
import { createProductService } from '../services/products.js';
import { createQuota, type Quota, unlimited } from '../services/quota.js';
import { createQuotes } from '../services/quotes.js';
import { createRateNeeds } from '../services/rate-needs.js';
import { createRateService } from '../services/rates.js';
import { createReportService } from '../services/reports.js';
import { createUserService } from '../services/users.js';
import { createReadSync } from '../services/wallet-sync.js';
import { createWalletService, type MendGaps } from '../services/wallets.js';
import { createWebhookService } from '../services/webhooks.js';
import type { Core } from './core.js';

export interface ServicesOptions {
  networks: readonly Network[];
  secrets: SecretBox;
  stamper: LedgerStamper;
  send: Parameters<typeof createWebhookService>[0]['send'];
  /** What follows events for the callers of this process. */
  tail: EventTail;
  mendGaps: MendGaps;
  /** URLs may lead to this machine and be http. */
  allowPrivate: boolean;
  /** Whether e-mail is sent. Default false. */
  hasMail?: boolean;
  /** Writes payment requests. */
  payUri: PayUri;
  /** Has a pair of currency and asset sampled. */
  needRate: NeedRate;
  /** How much an account may have; null for no limits. */
  limits: Readonly<Record<'apiKeys' | 'users' | 'wallets' | 'webhooks', number>> | null;
}

export function createServices(core: Core, options: ServicesOptions): Services {
  const { stores, ledgers, settle, refundBook, rateBook, transaction, commit, clock, newId, publicUrl } = core;
  const {
    networks,
    secrets,
    stamper,
    send,
    tail,
    limits,
    mendGaps,
    allowPrivate,
    hasMail = false,
    payUri,
    needRate,
  } = options;
  const { eventsStored, deliveriesDue } = core.signals;
  const quotes = createQuotes({ rateBook });
  const { forAccount, system } = stores;
  const rateNeeds = createRateNeeds({ forAccount, needRate, networks });
  const { cursors, networkStates, parkedRecords, payments, refunds, wallets } = system;
  const quota = (collection: 'apiKeys' | 'users' | 'wallets' | 'webhooks', what: string): Quota =>
    limits === null
      ? unlimited(commit)
      : createQuota({
          commit,
          forAccount,
          count: (accountId, session) => forAccount(accountId)[collection].count(session),
          max: limits[collection],
          what,
        });
  const readSync = createReadSync({ cursors, networkStates, parkedRecords, clock });
  const common = { forAccount, commit, stamper, clock, newId, publicUrl, quotes, rateNeeds, payUri };
  const services: Services = {
    account: createAccountService({ forAccount, commit, rateNeeds, clock }),
    notifications: createNotificationService({ forAccount, commit, sending: hasMail }),
    apiKeys: createApiKeyService({ forAccount, commit, clock, newId, quota: quota('apiKeys', 'API keys') }),
    users: createUserService({ ...common, quota: quota('users', 'users') }),
    wallets: createWalletService({
      forAccount,
      readSync,
      stamper,
      clock,
      newId,
      commit,
      quota: quota('wallets', 'wallets'),
      mendGaps,
      readStatement: createReadStatement({ ledgers, payments, cursors }),
      readAssets: createReadWalletAssets({ ledgers }),
    }),
    products: createProductService({ ...common, removeLeftovers: createRemoveLeftovers({ forAccount, transaction }) }),
    paymentLinks: createPaymentLinkService(common),
    checkouts: createCheckoutService({
      ...common,
      acceptCheckout: createAcceptCheckout({ forAccount, settle, clock }),
      eventsStored: eventsStored.raise,
    }),
    payments: createPaymentService({
      forAccount,
      settle,
      commit,
      eventsStored: eventsStored.raise,
      clock,
      payUri,
      loadRates: rateBook.load,
      quotes,
      bookByHash: createBookByHash({ ledgers, wallets, payments, refunds, forAccount, refundBook, clock }),
    }),
    rates: createRateService({ forAccount, commit, rateBook, rateNeeds, need: needRate, stamper, clock }),
    events: createEventService({ forAccount, tail, eventsStored: eventsStored.raise, clock }),
    webhooks: createWebhookService({
      forAccount,
      transaction,
      commit,
      secrets,
      send,
      deliveriesDue: deliveriesDue.raise,
      eventsStored: eventsStored.raise,
      clock,
      newId,
      publicUrl,
      quota: quota('webhooks', 'webhooks'),
    }),
    deliveries: createDeliveryService({ forAccount, commit, deliveriesDue: deliveriesDue.raise }),
    reports: createReportService({ forAccount }),
    activity: createActivityService({ forAccount }),
  };
  return withAllDoing(withAllRules(services, () => ({ now: clock.now(), networks, allowPrivate })));
}
