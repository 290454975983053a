/** The services of the API, composed around the core. */
import type { Network } from '../../contracts/networks.js';
import { createReadStatement } from '../audit/statement.js';
import { createRemoveLeftovers } from '../collect/deleted-products.js';
import { createBookByHash } from '../collect/refund-by-hash.js';
import type { SecretBox } from '../domain/secrets.js';
import { createRateLimit } from '../http/rate-limit.js';
import type { RequestBudget } from '../ledger/budget.js';
import { createAccountService } from '../services/account.js';
import { createApiKeyService } from '../services/api-keys.js';
import type { Services } from '../services/caller.js';
import { createCheckoutService } from '../services/checkouts.js';
import { createDeliveryService } from '../services/deliveries.js';
import type { EventTail } from '../services/event-tail.js';
import { createEventService } from '../services/events.js';
import type { LedgerStamper } from '../services/ledger-stamper.js';
import { createPaymentLinkService } from '../services/payment-links.js';
import { createPaymentService } from '../services/payments.js';
import { createProductService } from '../services/products.js';
import { createQuota, type Quota, unlimited } from '../services/quota.js';
import { createReportService } from '../services/reports.js';
import { createReadSync } from '../services/wallet-sync.js';
import { createWalletService, type MendGaps } from '../services/wallets.js';
import { createWebhookService } from '../services/webhooks.js';
import type { Core } from './core.js';

/** Of one account, so that none uses up the request budget of all. */
const LEDGER_LOOKS_PER_MINUTE = 10;

export interface ServicesOptions {
  networks: readonly Network[];
  secrets: SecretBox;
  stamper: LedgerStamper;
  send: Parameters<typeof createWebhookService>[0]['send'];
  /** What follows events for the callers of this process. */
  tail: EventTail;
  /** Called when events may have been stored. */
  eventsStored: () => void;
  /** Called when deliveries have become due. */
  deliveriesDue: () => void;
  namedSources: { mendGaps: MendGaps; allowPrivate: boolean };
  /** What audits and statements may spend of a network's request budget. */
  share: (network: Network) => RequestBudget | null;
  /** How much an account may have; null for no limits. */
  limits: Readonly<Record<'apiKeys' | 'wallets' | 'webhooks', number>> | null;
}

export function createServices(core: Core, options: ServicesOptions): Services {
  const { stores, ledgers, outbox, refundBook, transaction, clock, newId, publicUrl } = core;
  const { networks, secrets, stamper, send, tail, eventsStored, deliveriesDue, limits, namedSources } = options;
  const { forAccount, system } = stores;
  const { cursors, networkStates, paymentLinks, refunds, wallets } = system;
  const quota = (collection: 'apiKeys' | 'wallets' | 'webhooks', what: string): Quota =>
    limits === null
      ? unlimited
      : createQuota({
          transaction,
          forAccount,
          count: (accountId, session) => forAccount(accountId)[collection].count(session),
          max: limits[collection],
          what,
        });
  const ledgerLimit = createRateLimit(LEDGER_LOOKS_PER_MINUTE, clock);
  const readSync = createReadSync({ cursors, networkStates, clock });
  const common = { forAccount, transaction, stamper, clock, newId, publicUrl };
  return {
    account: createAccountService({ forAccount }),
    apiKeys: createApiKeyService({ forAccount, transaction, clock, newId, quota: quota('apiKeys', 'API keys') }),
    wallets: createWalletService({
      forAccount,
      readSync,
      stamper,
      networks,
      clock,
      newId,
      quota: quota('wallets', 'wallets'),
      mendGaps: namedSources.mendGaps,
      readStatement: createReadStatement({ ledgers, payments: system.payments, share: options.share }),
      allowPrivate: namedSources.allowPrivate,
      ledgerLimit,
    }),
    products: createProductService({ ...common, removeLeftovers: createRemoveLeftovers(common) }),
    paymentLinks: createPaymentLinkService(common),
    checkouts: createCheckoutService({ ...common, paymentLinks, outbox, eventsStored }),
    payments: createPaymentService({
      forAccount,
      outbox,
      transaction,
      eventsStored,
      clock,
      bookRefund: createBookByHash({ ledgers, wallets, refunds, refundBook, transaction, clock }),
      bookWaitingRefunds: refundBook.bookWaiting,
      ledgerLimit,
    }),
    events: createEventService({ forAccount, tail, eventsStored, clock }),
    webhooks: createWebhookService({
      forAccount,
      secrets,
      send,
      deliveriesDue,
      replayStored: eventsStored,
      clock,
      newId,
      publicUrl,
      quota: quota('webhooks', 'webhooks'),
    }),
    deliveries: createDeliveryService({ forAccount, deliveriesDue }),
    reports: createReportService({ forAccount }),
  };
}
