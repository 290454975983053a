/** Audits: whether a wallet's movements explain its balances. */
import { z } from 'zod';
import { amount, idOf, signedAmount, timestamp } from './primitives.js';

export const AUDIT_STATUSES = ['RUNNING', 'PROVEN', 'DIFFERENT', 'FAILED'] as const;
export const OPENING_SOURCES = ['HISTORY', 'PREVIOUS_AUDIT', 'COMPUTED_BACK'] as const;

export const auditAssetSchema = z
  .object({
    assetCode: z.string().meta({ description: '`XLM` for the native asset.' }),
    assetIssuer: z.string().nullable().meta({ description: 'Null for the native asset.' }),
    opening: signedAmount.meta({ description: 'The balance after `fromLedger`.' }),
    closing: amount.meta({ description: 'The balance after `toLedger`, as the ledger shows it.' }),
    computed: signedAmount.meta({ description: 'opening + received − sent − fees + traded + other' }),
    difference: signedAmount.meta({ description: 'closing − computed: the part that no movement explains.' }),
    movements: z.object({
      received: amount.meta({ description: 'Payments, path payments, merges, creations, transfers of contracts.' }),
      sent: amount.meta({ description: 'The same in the other direction.' }),
      fees: amount.meta({ description: 'Fees of all transactions that the wallet paid for, failed ones too.' }),
      traded: signedAmount.meta({ description: 'What offers of the wallet bought, less what they sold.' }),
      other: signedAmount.meta({ description: 'Claimable balances, liquidity pools, clawbacks.' }),
    }),
  })
  .meta({ id: 'AuditAsset' });

export const auditSchema = z
  .object({
    id: idOf('aud', 'audit'),
    walletId: idOf('wallet', 'wallet'),
    status: z.enum(AUDIT_STATUSES).meta({
      description:
        'PROVEN: the movements explain every balance to the stroop. DIFFERENT: they do not, and `difference` says by how much. FAILED: the audit came to no result, and `reason` says why.',
    }),
    reason: z.string().nullable().meta({ description: 'Why it FAILED.' }),
    fromLedger: z.int().nullable().meta({ description: 'Not included. Null until it is known.' }),
    toLedger: z.int().nullable().meta({ description: 'Included. Null until it is known.' }),
    assets: z.array(auditAssetSchema).meta({ description: 'Lumens first. Empty until the audit has ended.' }),
    missingPayments: z.int().meta({
      description: 'Payments that were found on the ledger, had not been recorded, and are now.',
    }),
    openingSource: z.enum(OPENING_SOURCES).nullable().meta({
      description:
        'Where the opening comes from. HISTORY: everything since the account was created. PREVIOUS_AUDIT: the balance that the last audit ended with. COMPUTED_BACK: no source goes back that far, so that it was worked out from the closing: such an audit finds missing payments and proves no balance.',
    }),
    balanceSource: z.string().nullable().meta({ description: 'Server that the balances come from.' }),
    movementSource: z.string().nullable().meta({ description: 'Server that the movements come from.' }),
    createdAt: timestamp,
    finishedAt: timestamp.nullable(),
  })
  .meta({ id: 'Audit' });
