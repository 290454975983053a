/** Proofs of payments, which anybody checks offline: `stellar-payment-proof` has the verifier, and
 *  the meaning of the fields. */
import { z } from 'zod';

export const PROOF_LEVELS = ['ledger', 'signed'] as const;
export type ProofLevel = (typeof PROOF_LEVELS)[number];

export const PROOF_STATES = ['READY', 'WAITING', 'UNAVAILABLE'] as const;
export type ProofState = (typeof PROOF_STATES)[number];

export const proofLevelSchema = z.enum(PROOF_LEVELS).meta({
  id: 'ProofLevel',
  description:
    'ledger: true if the network’s ledger has the hash that the verifier names. signed: with the signatures of the network’s validators, so that nothing has to be asked.',
});

const base64 = z.string().meta({ description: 'Base64.' });

const bundleSchema = z
  .object({
    format: z.literal('stellar-payment-proof/1'),
    networkPassphrase: z.string(),
    claim: z
      .object({
        ledger: z.int(),
        closedAt: z.string(),
        transactionHash: z.string(),
        operationIndex: z.int().meta({ description: 'From 0.' }),
        kind: z.enum([
          'payment',
          'create_account',
          'path_payment_strict_receive',
          'path_payment_strict_send',
          'account_merge',
          'contract',
        ]),
        from: z.string(),
        to: z.string(),
        toMuxedId: z.string().nullable(),
        memoType: z.enum(['none', 'text', 'id', 'hash', 'return']),
        memo: z.string().nullable(),
        assetCode: z.string(),
        assetIssuer: z.string().nullable(),
        amount: z.string(),
      })
      .meta({ description: 'The payment. A verifier computes it again from the bytes.' }),
    transaction: base64,
    resultIndex: z.int(),
    resultSet: base64,
    invocation: base64.nullable(),
    headers: z.array(base64),
    anchor: z.object({ ledger: z.int(), txSet: base64.nullable(), scp: z.array(base64) }).nullable(),
    statement: z.object({ body: z.string(), keyId: z.string(), signature: z.string() }).nullable().meta({
      description:
        'What this service says the payment settled, signed with its key `keyId` of `/.well-known/webhook-keys.json`. The ledger does not prove it. Null for a payment that settled nothing.',
    }),
  })
  .meta({ id: 'PaymentProofBundle', description: 'The file that `stellar-payment-proof verify` and `/proof` check.' });

export const paymentProofSchema = z
  .object({
    state: z.enum(PROOF_STATES).meta({
      description:
        'READY: `proof` is there. WAITING: ask again after `retryAfterSeconds`. UNAVAILABLE: `reason` says what is missing.',
    }),
    level: proofLevelSchema,
    reason: z.string().nullable().meta({ description: 'Null when READY.' }),
    retryAfterSeconds: z.int().nullable().meta({ description: 'Null unless WAITING.' }),
    proof: bundleSchema.nullable().meta({ description: 'Null unless READY.' }),
  })
  .meta({
    id: 'PaymentProof',
    examples: [
      {
        state: 'WAITING',
        level: 'signed',
        reason: 'The history archives do not have ledger 1023 yet, which ends the payment’s checkpoint.',
        retryAfterSeconds: 60,
        proof: null,
      },
    ],
  });
