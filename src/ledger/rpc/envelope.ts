/** Reads the envelope and result of a Stellar RPC transaction. */
import { z } from 'zod';
import { strkeyOf } from '../../domain/strkey.js';
import { type Fields, memoFields } from './horizon-form.js';
import type { RpcOperation } from './operation.js';
import { armOf, envelopeAsJson, resultAsJson } from './xdr-json.js';

export interface TransactionParts {
  /** G…, or M… if muxed. */
  source: string;
  /** The memo as Horizon's fields. */
  memo: Fields;
  operations: readonly OperationParts[];
}

interface OperationParts {
  /** Null for the transaction's source. */
  source: string | null;
  /** XDR as JSON: an arm named after the kind of operation. */
  body: unknown;
}

/** A transaction's envelope and result, shared by its operations and read on first use. Both calls throw when neither the XDR nor the JSON can be
 *  read. */
export interface DecodedTransaction {
  envelope(): TransactionParts;
  /** One result for each operation, XDR as JSON. */
  results(): readonly unknown[];
}

export function decodeLazily({
  envelopeXdr,
  resultXdr,
  json,
}: Pick<RpcOperation, 'envelopeXdr' | 'resultXdr' | 'json'>): DecodedTransaction {
  let envelope: TransactionParts | undefined;
  let results: readonly unknown[] | undefined;
  return {
    envelope: () => (envelope ??= either(envelopeAsJson, envelopeXdr, json?.envelope, partsIn)),
    results: () => (results ??= either(resultAsJson, resultXdr, json?.result, resultsIn)),
  };
}

/** Reads the XDR, or else the server's JSON. */
function either<T>(decode: (base64: string) => unknown, base64: string, json: unknown, read: (json: unknown) => T): T {
  try {
    return read(decode(base64));
  } catch (error) {
    if (json === undefined) throw error;
    return read(json);
  }
}

const operationSchema = z.object({ source_account: z.string().nullish(), body: z.unknown() });
const transactionSchema = z.object({
  source_account: z.string(),
  memo: z.unknown(),
  operations: z.array(operationSchema),
});
const oldTransactionSchema = transactionSchema.omit({ source_account: true }).extend({
  source_account_ed25519: z.string().regex(/^[0-9a-f]{64}$/),
});
const inAnyArm = z.unknown().transform((union) => armOf(union)?.value);
const innerSchema = inAnyArm.pipe(z.object({ tx: transactionSchema }));
/** Read by their form, whatever the arms are called: a newer kind of envelope, too, names source, memo and operations. */
const envelopeSchema = inAnyArm.pipe(
  z.union([
    z.object({ tx: z.object({ inner_tx: innerSchema }) }).transform(({ tx }) => tx.inner_tx.tx),
    z.object({ tx: transactionSchema }).transform(({ tx }) => tx),
    z.object({ tx: oldTransactionSchema }).transform(({ tx }) => ({
      ...tx,
      source_account: strkeyOf('G', Buffer.from(tx.source_account_ed25519, 'hex')),
    })),
  ]),
);

function partsIn(json: unknown): TransactionParts {
  const { source_account, memo, operations } = envelopeSchema.parse(json);
  return {
    source: source_account,
    memo: memoFields(memo),
    operations: operations.map((each) => ({ source: each.source_account ?? null, body: each.body })),
  };
}

const resultSchema = z.object({ result: z.unknown() });
const pairSchema = z.object({ result: resultSchema });

/** The results of the operations; for a fee bump, of the inner transaction. */
function resultsIn(json: unknown): readonly unknown[] {
  const outer = armOf(resultSchema.parse(json).result);
  const inner =
    outer?.name === 'tx_fee_bump_inner_success' ? armOf(pairSchema.parse(outer.value).result.result) : outer;
  return z.array(z.unknown()).parse(inner?.value);
}
