/** An audit as the API and the events show it. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount, formatSigned } from '../domain/amount.js';
import type { AuditDoc, StoredRow } from './audit-document.js';

export type Audit = OutputOf<Contract['wallets']['startAudit']>;

export const toAuditAssets = (rows: readonly StoredRow[]): Audit['assets'] =>
  rows.map(({ assetCode, assetIssuer, ...row }) => ({
    assetCode,
    assetIssuer,
    opening: formatSigned(BigInt(row.opening)),
    closing: formatAmount(BigInt(row.closing)),
    computed: formatSigned(BigInt(row.computed)),
    difference: formatSigned(BigInt(row.difference)),
    movements: {
      received: formatAmount(BigInt(row.received)),
      sent: formatAmount(BigInt(row.sent)),
      fees: formatAmount(BigInt(row.fees)),
      traded: formatSigned(BigInt(row.traded)),
      other: formatSigned(BigInt(row.other)),
    },
  }));

export const toAudit = (audit: AuditDoc): Audit => ({
  id: audit._id,
  walletId: audit.walletId,
  status: audit.status,
  reason: audit.reason,
  fromLedger: audit.fromLedger,
  toLedger: audit.toLedger,
  assets: toAuditAssets(audit.assets),
  missingPayments: audit.missingPayments,
  openingSource: audit.openingSource,
  balanceSource: audit.balanceSource,
  movementSource: audit.movementSource,
  createdAt: audit.createdAt.toISOString(),
  finishedAt: audit.finishedAt?.toISOString() ?? null,
});
