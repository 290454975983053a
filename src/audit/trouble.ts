/** Trouble that holds up an audit, and for how long. */
import type { Clock } from '../kit/clock.js';
import { LedgerUnavailable } from '../ledger/source.js';
import type { AuditDoc } from './audit-document.js';

/** Another process saved a step: this one stops. */
export class Superseded extends Error {}
/** The audit has to wait. */
export class NotYet extends Error {}
/** Data may be late that the audit can do without in the end: of a server that is away, or of one that is behind. */
export class Late extends Error {}
/** The audit cannot reach a result. */
export class Hopeless extends Error {}

/** An audit without progress for this long has failed. */
export const STUCK_MS = 60_000;
/** How long an audit waits for data that it can do without: longer than the pause after a server's failure. */
const PATIENT_MS = 120_000;

export const isPatient = ({ lateSince }: Pick<AuditDoc, 'lateSince'>, clock: Clock): boolean =>
  !lateSince || clock.nowMs() - lateSince.getTime() < PATIENT_MS;

/** A list of the account could not be fetched. */
export class ListFailed extends LedgerUnavailable {}

/** Saves a step. @throws Superseded */
export type Save = (audit: AuditDoc, changes: Partial<AuditDoc>) => Promise<AuditDoc>;
