/** The room's entrance: endpoints, and the deliveries to them. */
export { createAddressGuard, isPublicAddress } from './address.js';
export { createConnector } from './connect.js';
export { createDeliveryService } from './deliveries.js';
export { createDeliveryStore, type DeliveryStore } from './delivery-store.js';
export { DEVELOPMENT_CA_FILE, readDevelopmentCa } from './development-ca.js';
export { createDispatcher, type Dispatcher, type DispatcherDeps } from './dispatch.js';
export { EPOCH } from './due-deliveries.js';
export { createKeyring, type Keyring } from './keyring.js';
export { type Heard, listenForWebhooks } from './listen.js';
export { createPause } from './pause.js';
export { createPoster, type Poster } from './poster.js';
export { createReplayStore, idRangeOf, type ReplayDoc } from './replay-store.js';
export { createReplayer, type ReplayRound } from './replayer.js';
export { createHostResolver } from './resolver.js';
export { createSend } from './send.js';
export { createWebhookKeyStore } from './webhook-keys.js';
export { createWebhookStore, type WebhookDoc, type WebhookStore } from './webhook-store.js';
export { createWebhookService } from './webhooks.js';
