/** All stores on one connection, in two interfaces: for one account, and across accounts.
 *
 *  Code that acts for a caller gets `forAccount` only. No method of an account's view takes an
 *  account id, so none can reach another account's documents. The watcher, the dispatchers,
 *  authentication and administration get `system`. */

import type mongoose from 'mongoose';
import {
  createAccountStore,
  createActivityStore,
  createApiKeyStore,
  createPasskeyChallengeStore,
  createSessionStore,
  createSetupStore,
  createUserStore,
} from './accounts/index.js';
import { createIdempotencyStore } from './api/idempotency.js';
import { createInstallationStore } from './app/installation.js';
import { createJobStore } from './app/jobs/store.js';
import { createAuditStore } from './audit/index.js';
import { createEventCounterStore, createEventStore } from './events/index.js';
import type { Clock } from './kit/clock.js';
import { makeIndexes } from './kit/collection.js';
import { createCountSegments } from './kit/count-segments.js';
import { behindDoor } from './kit/door.js';
import type { NewId } from './kit/ids.js';
import { createLeaseStore } from './kit/leases.js';
import { createMailStore, createSentMailStore } from './mail/index.js';
import { createPaymentStore, createRefundStore } from './payments/index.js';
import { createProofStore } from './proving/index.js';
import {
  createOwnRateStore,
  createRateAnswerStore,
  createRatePairStore,
  createRateSampleStore,
} from './rates/index.js';
import {
  createCheckoutStore,
  createCouponStore,
  createPayableNames,
  createPayerOrderStore,
  createPaymentLinkStore,
  createProductStore,
  createRequestKeyStore,
} from './selling/index.js';
import {
  createCursorStore,
  createGapStore,
  createNetworkStateStore,
  createParkedRecordStore,
  createRequestBudgetStore,
  createWalletStore,
} from './watching/index.js';
import { createDeliveryStore, createReplayStore, createWebhookKeyStore, createWebhookStore } from './webhooks/index.js';

export type Stores = ReturnType<typeof createStores>;
export type SystemStores = Stores['system'];

/** The collections that have owners. */
type TenantStores = ReturnType<typeof createTenantStores>;

/** One account's view of every collection that has owners. Cheap: a collection's view is made when
 *  it is asked for. */
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
  get coupons() {
    return this.#stores.coupons.forAccount(this.#accountId);
  }
  get checkouts() {
    return this.#stores.checkouts.forAccount(this.#accountId);
  }
  get payments() {
    return this.#stores.payments.forAccount(this.#accountId);
  }
  get proofs() {
    return this.#stores.proofs.forAccount(this.#accountId);
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
    coupons: createCouponStore(connection),
    checkouts: createCheckoutStore(connection, countSegments, payableNames),
    payments: createPaymentStore(connection, countSegments),
    proofs: createProofStore(connection),
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
    payerOrders: createPayerOrderStore(connection),
    leases: createLeaseStore(connection),
    sessions: createSessionStore(connection),
    setup: createSetupStore(connection),
    passkeyChallenges: createPasskeyChallengeStore(connection),
    webhookKeys: createWebhookKeyStore(connection),
    requestKeys: createRequestKeyStore(connection),
  };
  const { countSegments, payableNames } = tenant;
  return {
    // No argument may bring an operator of MongoDB.
    forAccount: (accountId: string): AccountStores => behindDoor(new AccountStores(tenant, accountId)),
    system: behindDoor({ ...shared, countSegments, payableNames, ...acrossAccounts(tenant) }),
    /** Makes the missing indexes; existing ones stay as they are. */
    async ensureIndexes(): Promise<void> {
      await Promise.all([makeIndexes(connection), payableNames.ensureCollection(), tenant.products.ensureCollection()]);
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
