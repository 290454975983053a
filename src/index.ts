/** The package: a typed client, the router's type, and the contracts with the type of what webhooks receive. */
export type { ErrorBody, ErrorCode, FieldError } from '../contracts/errors.js';
export type { EventDataOf, EventType } from '../contracts/event-kinds.js';
export type { Event, WebhookPayload } from '../contracts/events.js';
export { type Contract, contract } from '../contracts/index.js';
export type { Network } from '../contracts/networks.js';
export type { InputOf, Operation, OutputOf } from '../contracts/operation.js';
export type { PaymentReason, PaymentStatus } from '../contracts/payments.js';
export type { AppRouter } from './api/app-router.js';
export { type ClientOptions, createClient } from './client.js';
