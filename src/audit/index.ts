/** The room's entrance: audits of wallets, and their statements. */
export type { AuditDoc } from './audit-store.js';
export { type Audit, createAuditStore, toAudit } from './audit-store.js';
export { type Auditor, type AuditorDeps, createAuditor } from './auditor.js';
export { createReadStatement, statementCsv, toStatement } from './statement.js';
export type { StatementRead, StatementRefusal } from './statement-rules.js';
export { createTakeTurn } from './turn.js';
