/** All stores on one connection, in two interfaces: for one account, and across accounts.
 *
 *  Code that acts for a caller gets `forAccount` only. No method of an account's view takes an account id, so none can reach another account's documents. The
 *  watcher, the dispatchers, authentication and administration get `system`. */
import type mongoose from 'mongoose';
import type { Clock } from '../clock.js';
import type { NewId } from '../domain/ids.js';
import { createAccountStore } from './accounts.js';
import { createActivityStore } from './activities.js';
import { createApiKeyStore } from './api-keys.js';
import { createAuditStore } from './audits.js';
import { createCheckoutStore } from './checkouts.js';
import { createCountSegments } from './count-segments.js';
import { createCursorStore } from './cursors.js';
import { createDeliveryStore } from './deliveries.js';
import { behindDoor } from './door.js';
import { createEventCounterStore } from './event-counters.js';
import { createEventStore } from './events.js';
import { createGapStore } from './gaps.js';
import { createIdempotencyStore } from './idempotency.js';
import { createInstallationStore } from './installation.js';
import { createJobStore } from './jobs.js';
import { createLeaseStore } from './leases.js';
import { createMailStore } from './mails.js';
import { createSentMailStore } from './mails-sent.js';
import { createNetworkStateStore } from './network-states.js';
import { createOwnRateStore } from './own-rates.js';
import { createParkedRecordStore } from './parked-records.js';
import { createPasskeyChallengeStore } from './passkey-challenges.js';
import { createPayableNames } from './payable-names.js';
import { createPaymentLinkStore } from './payment-links.js';
import { createPaymentStore } from './payments.js';
import { createProductStore } from './products.js';
import { createRateAnswerStore } from './rate-answers.js';
import { createRatePairStore } from './rate-pairs.js';
import { createRateSampleStore } from './rate-samples.js';
import { createRefundStore } from './refunds.js';
import { createReplayStore } from './replays.js';
import { createRequestBudgetStore } from './request-budgets.js';
import { createRequestKeyStore } from './request-keys.js';
import { createSessionStore } from './sessions.js';
import { createUserStore } from './users.js';
import { createWalletStore } from './wallets.js';
import { createWebhookKeyStore } from './webhook-keys.js';
import { createWebhookStore } from './webhooks.js';

export type Stores = ReturnType<typeof createStores>;
export type SystemStores = Stores['system'];

/** The collections that have owners. */
type TenantStores = ReturnType<typeof createTenantStores>;

/** One account's view of every collection that has owners. Cheap: a collection's view is made when it is asked for. */
export class AccountStores {
  readonly #stores: TenantStores;
  readonly #accountId: string;

  constructor(stores: TenantStores, accountId: string) {
    this.#stores = stores;
    this.#accountId = accountId;
  }

  get account() {
    return this.#stores.accounts.forAccount(this.#accountId);
  }
  get apiKeys() {
    return this.#stores.apiKeys.forAccount(this.#accountId);
  }
  get activities() {
    return this.#stores.activities.forAccount(this.#accountId);
  }
  get users() {
    return this.#stores.users.forAccount(this.#accountId);
  }
  get wallets() {
    return this.#stores.wallets.forAccount(this.#accountId);
  }
  get gaps() {
    return this.#stores.gaps.forAccount(this.#accountId);
  }
  get audits() {
    return this.#stores.audits.forAccount(this.#accountId);
  }
  get products() {
    return this.#stores.products.forAccount(this.#accountId);
  }
  get paymentLinks() {
    return this.#stores.paymentLinks.forAccount(this.#accountId);
  }
  get checkouts() {
    return this.#stores.checkouts.forAccount(this.#accountId);
  }
  get payments() {
    return this.#stores.payments.forAccount(this.#accountId);
  }
  get ownRates() {
    return this.#stores.ownRates.forAccount(this.#accountId);
  }
  get refunds() {
    return this.#stores.refunds.forAccount(this.#accountId);
  }
  get events() {
    return this.#stores.events.forAccount(this.#accountId);
  }
  get eventCounters() {
    return this.#stores.eventCounters.forAccount(this.#accountId);
  }
  get webhooks() {
    return this.#stores.webhooks.forAccount(this.#accountId);
  }
  get deliveries() {
    return this.#stores.deliveries.forAccount(this.#accountId);
  }
  get mails() {
    return this.#stores.mails.forAccount(this.#accountId);
  }
  get replays() {
    return this.#stores.replays.forAccount(this.#accountId);
  }
  get idempotency() {
    return this.#stores.idempotency.forAccount(this.#accountId);
  }
}

/** A service's access to its account's documents; `Part` names the collections that it uses. */
export type ForAccount<Part extends keyof AccountStores = keyof AccountStores> = (
  accountId: string,
) => Pick<AccountStores, Part>;

interface StoreDeps {
  clock: Clock;
  newId: NewId;
  /** Versions of terms in a product's document; simulations keep fewer. */
  versionsKept?: number;
}

function createTenantStores(connection: mongoose.Connection, { clock, newId, versionsKept }: StoreDeps) {
  const countSegments = createCountSegments(connection);
  const payableNames = createPayableNames(connection);
  return {
    countSegments,
    payableNames,
    accounts: createAccountStore(connection),
    activities: createActivityStore(connection, clock),
    apiKeys: createApiKeyStore(connection),
    users: createUserStore(connection),
    wallets: createWalletStore(connection),
    gaps: createGapStore(connection),
    audits: createAuditStore(connection),
    products: createProductStore(connection, versionsKept),
    paymentLinks: createPaymentLinkStore(connection, countSegments, payableNames),
    checkouts: createCheckoutStore(connection, countSegments, payableNames),
    payments: createPaymentStore(connection, countSegments),
    ownRates: createOwnRateStore(connection),
    refunds: createRefundStore(connection),
    events: createEventStore(connection, countSegments),
    eventCounters: createEventCounterStore(connection),
    webhooks: createWebhookStore(connection),
    deliveries: createDeliveryStore(connection, { newId, clock }, countSegments),
    mails: createMailStore(connection),
    mailsSent: createSentMailStore(connection),
    replays: createReplayStore(connection),
    idempotency: createIdempotencyStore(connection),
  };
}

export function createStores(connection: mongoose.Connection, deps: StoreDeps) {
  const tenant = createTenantStores(connection, deps);
  /** Collections without an owner. */
  const shared = {
    cursors: createCursorStore(connection),
    networkStates: createNetworkStateStore(connection),
    parkedRecords: createParkedRecordStore(connection),
    rateAnswers: createRateAnswerStore(connection),
    ratePairs: createRatePairStore(connection),
    rateSamples: createRateSampleStore(connection),
    requestBudgets: createRequestBudgetStore(connection, deps.clock),
    installation: createInstallationStore(connection),
    jobs: createJobStore(connection),
    leases: createLeaseStore(connection),
    sessions: createSessionStore(connection),
    passkeyChallenges: createPasskeyChallengeStore(connection),
    webhookKeys: createWebhookKeyStore(connection),
    requestKeys: createRequestKeyStore(connection),
  };
  const { countSegments, payableNames } = tenant;
  return {
    forAccount: (accountId: string): AccountStores => behindDoor(new AccountStores(tenant, accountId)),
    system: behindDoor({ ...shared, countSegments, payableNames, ...acrossAccounts(tenant) }),
    /** Makes the missing indexes; existing ones stay as they are. */
    async ensureIndexes(): Promise<void> {
      const all = [...Object.values(tenant), ...Object.values(shared)];
      await Promise.all(all.map((store) => ('ensureIndexes' in store ? store.ensureIndexes() : null)));
    },
  };
}

type AcrossAccounts<Stores> = {
  [Name in keyof Stores as Stores[Name] extends { system: object } ? Name : never]: Stores[Name] extends {
    system: infer System;
  }
    ? System
    : never;
};

/** The `system` interface of each store that has one. */
const acrossAccounts = <Stores extends Readonly<Record<string, object>>>(stores: Stores): AcrossAccounts<Stores> =>
  Object.fromEntries(
    Object.entries(stores).flatMap(([name, store]) => ('system' in store ? [[name, store.system]] : [])),
  ) as AcrossAccounts<Stores>;
