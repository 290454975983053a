/** Interprets Horizon's answer to a submitted transaction. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import type { Response } from '../request.js';
import type { Submission } from '../source.js';

const code = z.string().regex(/^(tx|op)_[a-z_]{1,60}$/);
const refusalSchema = z.object({
  extras: z.object({ result_codes: z.object({ transaction: code, operations: z.array(code).optional() }) }),
});
const malformedSchema = z.object({ type: z.literal('https://stellar.org/horizon-errors/transaction_malformed') });
const appliedSchema = z.object({ hash: z.string(), successful: z.literal(true) });

/** @throws SourceError for an answer that does not tell the transaction's result */
export function toSubmission({ status, body, retryAfterMs }: Omit<Response, 'latestLedger'>): Submission {
  if (status === 200 && appliedSchema.safeParse(body).success) return { state: 'applied' };
  // Horizon or a proxy timed out waiting for a ledger with the transaction.
  if (status === 504) return { state: 'pending' };
  if (status === 400) {
    const codes = refusalSchema.safeParse(body).data?.extras.result_codes;
    if (codes) {
      const operationCode = codes.operations?.find((each) => each !== 'op_success') ?? null;
      return { state: 'refused', transactionCode: codes.transaction, operationCode };
    }
    if (malformedSchema.safeParse(body).success) {
      return { state: 'refused', transactionCode: 'tx_malformed', operationCode: null };
    }
  }
  // A server that accepts no transactions may still be a good source.
  const kind = status === 403 || status === 405 ? 'slow' : 'server';
  throw new SourceError(`status ${status} for a transaction`, { retryAfterMs, kind });
}
