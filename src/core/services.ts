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
import { createMoveRefund } from '../payments/moved-refunds.js';
import { createPaymentEvents } from '../payments/payment-events.js';
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

interface ServicesOptions {
  networks: readonly Network[];
  secrets: SecretBox;
  stamper: LedgerStamper;
  send: Parameters<typeof createWebhookService>[0]['send'];
  /** Follows events for callers of this process. */
  tail: EventTail;
  mendGaps: MendGaps;
  /** Allows URLs of private addresses and plain http. */
  allowPrivate: boolean;
  /** Whether e-mail is sent. Default false. */
  hasMail?: boolean;
  /** Writes payment requests. */
  payUri: PayUri;
  /** Starts sampling a pair of currency and asset. */
  needRate: NeedRate;
  /** Limits for an account; null for none. */
  limits: Readonly<Record<Limited, number>> | null;
}

export function createServices(core: Core, options: ServicesOptions): Services {
  const { stores, ledgers, settle, refundBook, rateBook, outbox, transaction, commit, clock, newId, publicUrl } = core;
  const { networks, stamper, allowPrivate, payUri, needRate } = options;
  const { forAccount, system } = stores;
  const eventsStored = core.signals.eventsStored.raise;
  const deliveriesDue = core.signals.deliveriesDue.raise;
  const quotes = createQuotes({ rateBook });
  const rateNeeds = createRateNeeds({ forAccount, needRate, networks });
  const quota = quotasOf(core, options.limits);
  // Each service picks what it needs.
  const common = {
    ...{ forAccount, transaction, commit, settle, stamper, clock, newId, publicUrl, quotes, rateNeeds, rateBook },
    ...{ payUri, eventsStored, deliveriesDue },
  };
  const paymentEvents = createPaymentEvents({ publicUrl });
  const moveRefund = createMoveRefund({ ...system, forAccount, settle, refundBook, outbox, paymentEvents });
  const { secrets, send, tail, mendGaps, hasMail = false } = options;
  const services: Services = {
    account: createAccountService(common),
    notifications: createNotificationService({ ...common, sending: hasMail }),
    apiKeys: createApiKeyService({ ...common, quota: quota('apiKeys', 'API keys') }),
    users: createUserService({ ...common, quota: quota('users', 'users') }),
    wallets: createWalletService({
      ...common,
      readSync: createReadSync({ ...system, clock }),
      quota: quota('wallets', 'wallets'),
      mendGaps,
      readStatement: createReadStatement({ ...system, ledgers }),
      readAssets: createReadWalletAssets({ ledgers }),
    }),
    products: createProductService({ ...common, removeLeftovers: createRemoveLeftovers(common) }),
    paymentLinks: createPaymentLinkService(common),
    checkouts: createCheckoutService({ ...common, acceptCheckout: createAcceptCheckout(common) }),
    payments: createPaymentService({
      ...common,
      loadRates: rateBook.load,
      bookByHash: createBookByHash({ ...system, ledgers, forAccount, refundBook, moveRefund, clock }),
      refundBook,
    }),
    rates: createRateService({ ...common, need: needRate }),
    events: createEventService({ ...common, tail }),
    webhooks: createWebhookService({ ...common, secrets, send, quota: quota('webhooks', 'webhooks') }),
    deliveries: createDeliveryService(common),
    reports: createReportService(common),
    activity: createActivityService(common),
  };
  return withAllDoing(withAllRules(services, () => ({ now: clock.now(), networks, allowPrivate })));
}

type Limited = 'apiKeys' | 'users' | 'wallets' | 'webhooks';

/** @returns a function that makes the quota of a kind */
const quotasOf =
  ({ stores: { forAccount }, commit }: Core, limits: ServicesOptions['limits']) =>
  (collection: Limited, what: string): Quota =>
    limits === null
      ? unlimited(commit)
      : createQuota({
          commit,
          forAccount,
          count: (accountId, session) => forAccount(accountId)[collection].count(session),
          max: limits[collection],
          what,
        });
