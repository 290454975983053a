/** What keeps an audit from going on. */
import type { AuditDoc } from '../stores/audits.js';

/** Another process saved a step: this one stops. */
export class Superseded extends Error {}
/** The audit has to wait. */
export class NotYet extends Error {}
/** Nobody can tell. */
export class Hopeless extends Error {}

/** Saves a step. @throws Superseded */
export type Save = (audit: AuditDoc, changes: Partial<AuditDoc>) => Promise<AuditDoc>;
