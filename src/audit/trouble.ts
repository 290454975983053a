/** What keeps an audit from going on, and for how long. */
import type { Clock } from '../clock.js';
import { LedgerUnavailable } from '../ledger/errors.js';
import type { AuditDoc } from '../stores/audit-document.js';

/** Another process saved a step: this one stops. */
export class Superseded extends Error {}
/** The audit has to wait. */
export class NotYet extends Error {}
/** Something may come that the audit goes on without in the end: a server that is away, what a machine that is behind lacks. */
export class Late extends Error {}
/** The audit cannot come to a result. */
export class Hopeless extends Error {}

/** An audit that comes no further for so long has failed. */
export const STUCK_MS = 60_000;
/** So long it waits for what it can do without: longer than a server that failed is left alone. */
const PATIENT_MS = 120_000;

export const isPatient = ({ lateSince }: Pick<AuditDoc, 'lateSince'>, clock: Clock): boolean =>
  !lateSince || clock.nowMs() - lateSince.getTime() < PATIENT_MS;

/** A list of the account did not come through. */
export class ListFailed extends LedgerUnavailable {}

/** Saves a step. @throws Superseded */
export type Save = (audit: AuditDoc, changes: Partial<AuditDoc>) => Promise<AuditDoc>;
