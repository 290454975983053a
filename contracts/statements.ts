/** Statements: a wallet's balances at the start and end of a period, and all movements between. */
import { z } from 'zod';
import { idOf, signedAmount, timestamp } from './primitives.js';
import { valueSchema } from './rates.js';

export const MOVEMENT_KINDS = ['received', 'sent', 'fee', 'traded', 'other'] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

const movementSchema = z
  .object({
    at: timestamp.meta({ description: 'When its ledger closed.' }),
    ledger: z.int(),
    transactionHash: z.string().nullable().meta({ description: 'Null where the source does not say.' }),
    operationId: z.string().nullable().meta({ description: 'Null for a fee, which is of a whole transaction.' }),
    kind: z.enum(MOVEMENT_KINDS).meta({
      description:
        'received and sent: payments, path payments, merges, creations, transfers of contracts. other: claimable balances, liquidity pools, clawbacks.',
    }),
    amount: signedAmount,
    counterparty: z.string().nullable().meta({ description: 'The other party, where there is one.' }),
    memo: z.string().nullable().meta({ description: 'Memo of the transaction.' }),
    paymentId: idOf('pay', 'payment').nullable().meta({ description: 'The payment that was recorded for it.' }),
    value: valueSchema.nullable().default(null).meta({ description: 'What that payment counted for in a currency.' }),
  })
  .meta({ id: 'Movement' });

export const statementSchema = z
  .object({
    walletId: idOf('wallet', 'wallet'),
    from: timestamp.meta({ description: 'Included.' }),
    to: timestamp.meta({ description: 'Not included.' }),
    assets: z
      .array(
        z
          .object({
            assetCode: z.string().meta({ description: '`XLM` for the native asset.' }),
            assetIssuer: z.string().nullable().meta({ description: 'Null for the native asset.' }),
            opening: signedAmount.meta({ description: 'The balance at `from`.' }),
            closing: signedAmount.meta({ description: 'The balance at `to`.' }),
            movements: z.array(movementSchema).meta({ description: 'Oldest first.' }),
          })
          .meta({ id: 'StatementAsset' }),
      )
      .meta({ description: 'Lumens first.' }),
  })
  .meta({ id: 'Statement' });

export type Statement = z.output<typeof statementSchema>;
