/** Entrance of the client: types, calls, webhooks and events, on web standards and without
 *  server code. */
import type { ErrorBody } from './contract.js';

/** Codes of errors, for programs. */
export type ErrorCode = ErrorBody['code'];
export { TRPCClientError } from '@trpc/client';
export { CallError } from './call-error.js';
export type * from './contract.js';
export { type ClientOptions, createClient } from './create-client.js';
export { type FollowOptions, followEvents, type StreamedEvent, StreamRefusedError } from './follow-events.js';
export type { ApiErrorShape, AppRouter } from './procedures.js';
export { type VerifyWith, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './verify-webhook.js';
