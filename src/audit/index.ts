/** The room's entrance: audits of wallets, and their statements. */
export type { AuditDoc } from './audit-document.js';
export { type Audit, toAudit } from './audit-resource.js';
export { createAuditStore } from './audit-store.js';
export { type Auditor, type AuditorDeps, createAuditor } from './auditor.js';
export { createReadStatement } from './statement.js';
export { statementCsv, toStatement } from './statement-resource.js';
export type { StatementRead, StatementRefusal } from './statement-rules.js';
export { createTakeTurn } from './turn.js';
