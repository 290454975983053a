/** The client: types, calls, webhooks and events. Web standards only, and no server code. */
import type { ErrorBody } from './contract.js';

/** What went wrong, for a program. */
export type ErrorCode = ErrorBody['code'];
/** What a call throws: `data.error` is REST's error object. */
export { TRPCClientError } from '@trpc/client';
export type * from './contract.js';
export { type ClientOptions, createClient } from './create-client.js';
export { type FollowOptions, followEvents, type StreamedEvent, StreamRefusedError } from './follow-events.js';
export type { ApiErrorShape, AppRouter } from './procedures.js';
export { type VerifyWith, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './verify-webhook.js';
