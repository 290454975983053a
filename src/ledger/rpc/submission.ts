/** Submits a transaction to Stellar RPC, which answers at once, and polls until a ledger shows the result. The codes of a refusal are Horizon's. */
import type { xdr } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import { sdk } from '../../domain/stellar-sdk.js';
import type { MonotonicClock } from '../../kit/clock.js';
import { LedgerUnavailable, SourceError } from '../errors.js';
import { hash } from '../horizon/fields.js';
import type { Submission } from '../source.js';
import { type Call, INVALID_PARAMS, RpcError } from './call.js';

/** Pauses between polls: each costs a request, and a ledger closes every five to six seconds. */
const WAITS_MS = [1000, 2000, 3000, 4000];
/** The pause after `TRY_AGAIN_LATER`. */
const LATER_MS = 5000;

const sentSchema = z.object({
  status: z.enum(['PENDING', 'DUPLICATE', 'TRY_AGAIN_LATER', 'ERROR']),
  hash,
  errorResultXdr: z.string().nullish(),
});
const outcomeSchema = z.discriminatedUnion('status', [
  z.object({ status: z.enum(['NOT_FOUND', 'SUCCESS']) }),
  z.object({ status: z.literal('FAILED'), resultXdr: z.string().nullish() }),
]);

/** @param envelope base64 of a TransactionEnvelope. @throws SourceError only when the network did not accept it */
export async function submitTransaction(
  call: Call,
  envelope: string,
  clock: Pick<MonotonicClock, 'sleep'>,
): Promise<Submission> {
  const sent = await send(call, envelope);
  if ('state' in sent) return sent;
  if (sent.status === 'TRY_AGAIN_LATER')
    throw new SourceError('it takes no more transactions for now', { retryAfterMs: LATER_MS, kind: 'slow' });
  if (sent.status === 'ERROR') return rejected(call, sent);
  for (const waitMs of WAITS_MS) {
    await clock.sleep(waitMs);
    const found = await outcomeOf(call, sent.hash);
    if (found !== 'not_found' && found !== 'unknown') return found;
  }
  return { state: 'pending' };
}

async function send(call: Call, envelope: string): Promise<z.output<typeof sentSchema> | Submission> {
  try {
    return await call('sendTransaction', { transaction: envelope }, sentSchema);
  } catch (error) {
    if (error instanceof RpcError && error.code === INVALID_PARAMS)
      return { state: 'refused', transactionCode: 'tx_malformed', operationCode: null };
    // It may have been accepted.
    if (error instanceof SourceError && error.kind === 'slow') return { state: 'pending' };
    throw error;
  }
}

/** A transaction that is already in a ledger is rejected for its sequence number. While that is possible, or the reason cannot be decoded, the
 *  payer must not be asked to pay again. */
async function rejected(
  call: Call,
  { hash, errorResultXdr }: Pick<z.output<typeof sentSchema>, 'hash' | 'errorResultXdr'>,
): Promise<Submission> {
  const refused = refusalIn(errorResultXdr ?? '');
  if (refused.transactionCode !== 'tx_bad_seq' && !isUntold(refused)) return refused;
  const found = await outcomeOf(call, hash);
  if (found === 'not_found') return refused;
  return found === 'unknown' ? { state: 'pending' } : found;
}

/** `not_found`: no ledger has it. `unknown`: no server answers, or the request budget is used up. */
async function outcomeOf(call: Call, hash: string): Promise<Submission | 'not_found' | 'unknown'> {
  try {
    const found = await call('getTransaction', { hash }, outcomeSchema);
    if (found.status === 'FAILED') return refusalIn(found.resultXdr ?? '');
    return found.status === 'SUCCESS' ? { state: 'applied' } : 'not_found';
  } catch (error) {
    if (error instanceof SourceError || error instanceof LedgerUnavailable) return 'unknown';
    throw error;
  }
}

const UNTOLD = { state: 'refused', transactionCode: 'tx_failed', operationCode: null } as const;
const isUntold = ({ transactionCode, operationCode }: Extract<Submission, { state: 'refused' }>): boolean =>
  transactionCode === UNTOLD.transactionCode && operationCode === null;

/** The codes of a TransactionResult in base64; `UNTOLD` when it cannot be decoded. */
function refusalIn(resultXdr: string): Extract<Submission, { state: 'refused' }> {
  try {
    const result = sdk().xdr.TransactionResult.fromXDR(resultXdr, 'base64').result;
    const transactionCode = transactionCodeOf(result.type);
    const operations = result.type === 'txFailed' ? result.results : [];
    const operationCode = operations.map(operationCodeOf).find((code) => code !== 'op_success') ?? null;
    return { state: 'refused', transactionCode, operationCode };
  } catch {
    return UNTOLD;
  }
}

/** Codes of Horizon that are not the XDR name in snake case. */
const OTHERWISE: Readonly<Record<string, string>> = {
  txNoAccount: 'tx_no_source_account',
  txBadMinSeqAgeOrGap: 'tx_bad_minseq_age_or_gap',
  opNoAccount: 'op_no_source_account',
  pathPaymentStrictReceiveOverSendmax: 'op_over_source_max',
  pathPaymentStrictReceiveOfferCrossSelf: 'op_cross_self',
};

const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const transactionCodeOf = (name: string): string => OTHERWISE[name] ?? inSnakeCase(name);

/** `paymentUnderfunded` of a payment is `op_underfunded`. */
function operationCodeOf(result: xdr.OperationResult): string {
  const outer = result.type;
  if (outer !== 'opInner') return OTHERWISE[outer] ?? inSnakeCase(outer);
  const { type } = result.tr.value;
  return OTHERWISE[type] ?? `op${inSnakeCase(type.slice(result.tr.type.length))}`;
}
