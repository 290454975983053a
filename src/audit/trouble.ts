/** What keeps an audit from going on, and for how long. */
import type { Clock } from '../clock.js';
import type { AuditDoc } from '../stores/audits.js';

/** Another process saved a step: this one stops. */
export class Superseded extends Error {}
/** The audit has to wait. */
export class NotYet extends Error {}
/** Nobody can tell. */
export class Hopeless extends Error {}

/** An audit that comes no further for so long has failed. */
export const STUCK_MS = 60_000;
/** So long it waits for what it can do without. */
const PATIENT_MS = 45_000;

/** Whether an audit still waits for what may come: a server that is away, what a machine that is behind lacks. */
export const isPatient = ({ stuckSince }: Pick<AuditDoc, 'stuckSince'>, clock: Clock): boolean =>
  stuckSince === null || clock.nowMs() - stuckSince.getTime() < PATIENT_MS;

/** Saves a step. @throws Superseded */
export type Save = (audit: AuditDoc, changes: Partial<AuditDoc>) => Promise<AuditDoc>;
