/** The services of the API, composed around the core. */

import type { Network } from '../../contracts/networks.js';
import {
  createAccountService,
  createActivityService,
  createApiKeyService,
  createQuota,
  createUserService,
  type Quota,
  unlimited,
} from '../accounts/index.js';
import { withAllRules } from '../api/stored-rules.js';
import { createReadWalletAssets, type LedgerStamper } from '../asking/index.js';
import { createReadStatement } from '../audit/index.js';
import type { PayUri } from '../domain/sep7.js';
import { createEventService, type EventTail } from '../events/index.js';
import { type Services, withAllDoing } from '../kit/caller.js';
import type { SecretBox } from '../kit/secrets.js';
import { createNotificationService } from '../mail/index.js';
import {
  createAcceptCheckout,
  createMoveRefund,
  createPaymentEvents,
  createPaymentService,
} from '../payments/index.js';
import { createProofOperation, type ReadProof } from '../proving/index.js';
import { createRateNeeds, createRateService, type NeedRate } from '../rates/index.js';
import {
  createCheckoutService,
  createCouponService,
  createPaymentLinkService,
  createProductService,
  createQuotes,
  createRemoveLeftovers,
  createReportService,
  createTakeOrder,
  type TakeOrder,
} from '../selling/index.js';
import { createBookByHash, createReadSync, createWalletService, type MendGaps } from '../watching/index.js';
import { createDeliveryService, createWebhookService } from '../webhooks/index.js';
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
  /** Has proofs of payments made, and reads them. */
  readProof: ReadProof;
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
    account: createAccountService({ ...common, services: () => services }),
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
    products: createProductService({
      ...common,
      wallets: system.wallets,
      removeLeftovers: createRemoveLeftovers(common),
    }),
    paymentLinks: createPaymentLinkService({ ...common, products: system.products }),
    coupons: createCouponService(common),
    checkouts: createCheckoutService({
      ...common,
      ...{ products: system.products, wallets: system.wallets },
      acceptCheckout: createAcceptCheckout(common),
    }),
    payments: {
      ...createPaymentService({
        ...common,
        loadRates: rateBook.load,
        bookByHash: createBookByHash({ ...system, ledgers, forAccount, refundBook, moveRefund, clock }),
        refundBook,
      }),
      proof: createProofOperation(common, options.readProof),
    },
    rates: createRateService({ ...common, need: needRate }),
    events: createEventService({ ...common, tail }),
    webhooks: createWebhookService({ ...common, secrets, send, quota: quota('webhooks', 'webhooks') }),
    deliveries: createDeliveryService(common),
    reports: createReportService(common),
    activity: createActivityService(common),
  };
  return withAllDoing(withAllRules(services, () => ({ now: clock.now(), networks, allowPrivate })));
}

/** Makes checkouts for payers of order links. */
export function createOrders(
  core: Core,
  { networks, needRate }: Pick<ServicesOptions, 'networks' | 'needRate'>,
): TakeOrder {
  const { stores, rateBook } = core;
  const { forAccount, system } = stores;
  const quotes = createQuotes({ rateBook });
  const rateNeeds = createRateNeeds({ forAccount, needRate, networks });
  return createTakeOrder({ ...system, ...core, forAccount, quotes, rateNeeds });
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
