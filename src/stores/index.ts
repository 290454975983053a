/** All stores on one connection. */
import type mongoose from 'mongoose';
import type { Clock } from '../clock.js';
import type { NewId } from '../domain/ids.js';
import { createAccountStore } from './accounts.js';
import { createApiKeyStore } from './api-keys.js';
import { createCountSegments } from './count-segments.js';
import { createCursorStore } from './cursors.js';
import { createDeliveryStore } from './deliveries.js';
import { createEventStore } from './events.js';
import { createIdempotencyStore } from './idempotency.js';
import { createInstallationStore } from './installation.js';
import { createLeaseStore } from './leases.js';
import { createNetworkStateStore } from './network-states.js';
import { createParkedRecordStore } from './parked-records.js';
import { createPaymentLinkStore } from './payment-links.js';
import { createPaymentStore } from './payments.js';
import { createProductStore } from './products.js';
import { createRequestBudgetStore } from './request-budgets.js';
import { createWalletStore } from './wallets.js';
import { createWebhookStore } from './webhooks.js';

export type Stores = ReturnType<typeof createStores>;

export function createStores(connection: mongoose.Connection, { clock, newId }: { clock: Clock; newId: NewId }) {
  const countSegments = createCountSegments(connection);
  const webhooks = createWebhookStore(connection);
  return {
    accounts: createAccountStore(connection),
    apiKeys: createApiKeyStore(connection),
    wallets: createWalletStore(connection),
    products: createProductStore(connection),
    paymentLinks: createPaymentLinkStore(connection, countSegments),
    payments: createPaymentStore(connection, countSegments),
    events: createEventStore(connection, countSegments),
    webhooks,
    deliveries: createDeliveryStore(connection, { webhooks, newId, clock }, countSegments),
    idempotency: createIdempotencyStore(connection),
    cursors: createCursorStore(connection),
    networkStates: createNetworkStateStore(connection),
    parkedRecords: createParkedRecordStore(connection),
    requestBudgets: createRequestBudgetStore(connection, clock),
    installation: createInstallationStore(connection),
    leases: createLeaseStore(connection),
    countSegments,
  };
}

/** Makes what is missing; what is there is left as it is. */
export async function ensureIndexes(stores: Stores): Promise<void> {
  await Promise.all(Object.values(stores).map((store) => ('ensureIndexes' in store ? store.ensureIndexes() : null)));
}
