/** What a payment takes from its transaction: the memo, and the amount of a merge, which the operation's record does not hold. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { CreditMemo } from '../../domain/memo.js';
import { operationResultsIn } from '../operation-results.js';
import { account, amount, type FieldFault, faultOf, hash, uint64 } from './fields.js';

/** A text memo has at most 28 bytes, hence at most as many characters, including those shown as U+FFFD. */
const MAX_TEXT_BYTES = 28;

const base64Bytes = z.base64({ error: 'is not base64' }).transform((text) => Buffer.from(text, 'base64'));
const textBytes = base64Bytes.refine((bytes) => bytes.length <= MAX_TEXT_BYTES, 'is too long for a text memo');
const hashMemo = z.base64().refine((text) => Buffer.from(text, 'base64').length === 32, 'is not a hash memo');

const common = {
  hash: hash.optional(),
  successful: z.boolean().optional(),
  result_xdr: z.string().optional(),
};

const transactionSchema = z.discriminatedUnion('memo_type', [
  z.object({ ...common, memo_type: z.literal('none') }),
  z
    .object({
      ...common,
      memo_type: z.literal('text'),
      memo: z.string().max(MAX_TEXT_BYTES).optional(),
      memo_bytes: textBytes.optional(),
    })
    .refine(({ memo, memo_bytes }) => memo !== undefined || memo_bytes !== undefined, 'has no memo'),
  z.object({ ...common, memo_type: z.literal('id'), memo: uint64 }),
  z.object({ ...common, memo_type: z.enum(['hash', 'return']), memo: hashMemo }),
]);

type Transaction = z.infer<typeof transactionSchema>;

/** @param expectedHash of the operation's transaction; any other is refused */
export function readTransaction(raw: unknown, expectedHash: string): Transaction | FieldFault {
  const { data, error } = transactionSchema.safeParse(raw);
  if (error) return faultOf(error);
  if (data.hash === undefined || data.hash === expectedHash) return data;
  return { fault: 'malformed', reason: 'is another transaction' };
}

export function memoOf(transaction: Transaction): CreditMemo {
  switch (transaction.memo_type) {
    case 'none':
      return { type: 'none', text: null };
    case 'text':
      return textMemo(transaction.memo, transaction.memo_bytes);
    default:
      return { type: transaction.memo_type, text: transaction.memo };
  }
}

/** Horizon's `memo` drops NUL and shows U+FFFD for bytes that are not UTF-8; `memo_bytes`, which old versions lack, is exact. */
function textMemo(shown: string | undefined, bytes: Buffer | undefined): CreditMemo {
  if (bytes === undefined) return { type: 'text', text: shown ?? '', valid: !shown?.includes('\u{FFFD}') };
  const text = bytes.toString('utf8');
  return isUtf8(bytes) ? { type: 'text', text, valid: true } : { type: 'text', text: shown ?? text, valid: false };
}

/** Stroops moved by the merge at this 1-based place in the transaction; null when the result does not tell. */
export function mergedByResult(resultXdr: string | undefined, operationOrder: number): bigint | null {
  if (resultXdr === undefined) return null;
  try {
    const result = operationResultsIn(resultXdr)[operationOrder - 1];
    const merge = result?.type === 'opInner' && result.tr.type === 'accountMerge' && result.tr.accountMergeResult;
    return merge && merge.type === 'accountMergeSuccess' ? inRange(merge.sourceAccountBalance) : null;
  } catch {
    return null;
  }
}

const inRange = (stroops: bigint): bigint | null => (stroops >= 0n ? stroops : null);

const creditEffect = z.object({
  type: z.literal('account_credited'),
  asset_type: z.literal('native'),
  account,
  amount,
});
const effectPage = z.object({ _embedded: z.object({ records: z.array(z.unknown()) }) });

/** The same from the operation's effects: what `into` was credited. */
export function mergedByEffects(effects: unknown, into: string): bigint | null {
  const page = effectPage.safeParse(effects);
  const credits = (page.data?._embedded.records ?? [])
    .map((raw) => creditEffect.safeParse(raw).data)
    .filter((effect) => effect?.account === into);
  return credits.length === 1 ? credits[0]!.amount : null;
}
