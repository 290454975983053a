/** The room's entrance: endpoints, and the deliveries to them. */

export { createDeliveryStore, type DeliveryStore } from './delivery-store.js';
export { DEVELOPMENT_CA_FILE, readDevelopmentCa } from './development-ca.js';
export { createDispatcher, createSend, type Dispatcher, type DispatcherDeps } from './dispatch.js';
export { createPause } from './health.js';
export { createKeyring, createWebhookKeyStore, type Keyring } from './keyring.js';
export { createPoster, type Poster } from './poster.js';
export { createReplayer, createReplayStore, idRangeOf, type ReplayDoc, type ReplayRound } from './replay.js';
export { createAddressGuard, createConnector, createHostResolver, isPublicAddress } from './resolver.js';
export { createWebhookStore, type WebhookDoc, type WebhookStore } from './webhook-store.js';
export { createDeliveryService, createWebhookService } from './webhooks.js';
