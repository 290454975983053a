/** Exports of the package: the client and the contracts. */
export type { EventDataOf } from '../contracts/event-kinds.js';
export { type Contract, contract } from '../contracts/index.js';
export type { InputOf, Operation, OutputOf } from '../contracts/operation.js';
export * from './client/index.js';
