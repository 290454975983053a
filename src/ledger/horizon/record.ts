/** Parses a record of Horizon's payments. It is untrusted JSON: any content leads to exactly one
 *  outcome, and none makes the parser throw. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import type { CreditMemo } from '../../domain/memo.js';
import {
  type Credit,
  type IgnoredReason,
  ledgerOf,
  type NotUnderstood,
  operationOrderOf,
  operationResultsIn,
  type Place,
  type RecordOutcome,
} from '../records.js';
import { account, amount, type FieldFault, faultOf, hash, isObject, moment, toid, uint64 } from './fields.js';
import { type Movement, possibleReceivers, readMovements } from './movements.js';

// What a payment takes from its transaction: the memo, and the amount of a merge, which the
// operation's record does not hold.

/** A text memo has at most 28 bytes, hence at most as many characters, including those shown
 *  as U+FFFD. */
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
function readTransaction(raw: unknown, expectedHash: string): Transaction | FieldFault {
  const { data, error } = transactionSchema.safeParse(raw);
  if (error) return faultOf(error);
  if (data.hash === undefined || data.hash === expectedHash) return data;
  return { fault: 'malformed', reason: 'is another transaction' };
}

function memoOf(transaction: Transaction): CreditMemo {
  switch (transaction.memo_type) {
    case 'none':
      return { type: 'none', text: null };
    case 'text':
      return textMemo(transaction.memo, transaction.memo_bytes);
    default:
      return { type: transaction.memo_type, text: transaction.memo };
  }
}

/** Horizon's `memo` drops NUL and shows U+FFFD for bytes that are not UTF-8; `memo_bytes`, which
 *  old versions lack, is exact. */
function textMemo(shown: string | undefined, bytes: Buffer | undefined): CreditMemo {
  if (bytes === undefined) return { type: 'text', text: shown ?? '', valid: !shown?.includes('\u{FFFD}') };
  const text = bytes.toString('utf8');
  return isUtf8(bytes) ? { type: 'text', text, valid: true } : { type: 'text', text: shown ?? text, valid: false };
}

/** Stroops moved by the merge at this 1-based place in the transaction; null when the result does
 *  not tell. */
function mergedByResult(resultXdr: string | undefined, operationOrder: number): bigint | null {
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
function mergedByEffects(effects: unknown, into: string): bigint | null {
  const page = effectPage.safeParse(effects);
  const credits = (page.data?._embedded.records ?? [])
    .map((raw) => creditEffect.safeParse(raw).data)
    .filter((effect) => effect?.account === into);
  return credits.length === 1 ? credits[0]!.amount : null;
}

/** The raw answers that complete an incomplete record; null for one that Horizon does not have. */
export interface Supplement {
  transaction?: unknown;
  effects?: unknown;
}

const recordSchema = z.object({
  paging_token: toid,
  id: toid,
  transaction_hash: hash,
  transaction_successful: z.boolean().optional(),
  created_at: moment,
  type: z.string(),
});

/** @param supplement everything fetched for this record so far */
export function parseRecord(raw: unknown, supplement: Supplement = {}): RecordOutcome {
  try {
    return toOutcome(raw, supplement);
  } catch (error) {
    // A bug in the parser must not hold up later records.
    const { id, paging_token, transaction_hash } = Object(raw);
    const reason = error instanceof Error ? error.name : 'unknown';
    return park({ id, paging_token, transaction_hash }, { fault: 'parser_failed', reason });
  }
}

function toOutcome(raw: unknown, supplement: Supplement): RecordOutcome {
  if (!isObject(raw)) return park({}, { fault: 'not_a_record', reason: 'is not a JSON object' });
  const { data: record, error } = recordSchema.safeParse(raw);
  if (error) return park(raw, faultOf(error));
  if (record.id !== record.paging_token) return park(raw, malformed('id is not the paging token'));

  const pagingToken = record.id.toString();
  const { transaction_hash: transactionHash, transaction_successful: successful } = record;
  const place: Place = { operationId: pagingToken, pagingToken, transactionHash, ledger: ledgerOf(record.id) };

  if (successful === false) return ignored('failed', pagingToken);
  const read = readMovements(record.type, raw);
  if (!read) return park(raw, { fault: 'unknown_type', reason: 'is of an unknown type' });
  if ('fault' in read) return park(raw, read);
  const parked = read.faults;
  const moved = read.movements.filter((each) => each.receiver !== each.sender && each.amount !== 0n);
  if (moved.length === 0) {
    return parked.length === 0
      ? ignored(whyNone(read.movements), pagingToken)
      : { kind: 'credits', credits: [], parked, ...place };
  }

  const receivers = [...new Set(moved.map((each) => each.receiver))];
  const senders = [...new Set(moved.map((each) => each.sender))];
  const joined = readTransaction(raw.transaction, transactionHash);
  const transaction = 'fault' in joined ? readTransaction(supplement.transaction, transactionHash) : joined;
  if ('fault' in transaction) {
    // Null: Horizon does not have it, or not yet.
    if (supplement.transaction === undefined || supplement.transaction === null)
      return { kind: 'incomplete', needs: 'transaction', receivers, senders, ...place };
    return park(raw, { fault: transaction.fault, reason: `transaction: ${transaction.reason}` });
  }
  if (transaction.successful === false) {
    return successful ? park(raw, malformed('is successful in a failed transaction')) : ignored('failed', pagingToken);
  }
  if (!(successful ?? transaction.successful)) return park(raw, malformed('does not tell whether it was successful'));

  const credits: Credit[] = [];
  for (const movement of moved) {
    const amount =
      movement.amount ??
      mergedByResult(transaction.result_xdr, operationOrderOf(record.id)) ??
      mergedByEffects(supplement.effects, movement.receiver);
    if (amount === 0n) return ignored('nothing_moved', pagingToken);
    if (amount === null) {
      if (supplement.effects === undefined || supplement.effects === null)
        return { kind: 'incomplete', needs: 'effects', receivers, ...place };
      return park(raw, malformed('neither result nor effects tell the amount of the merge'));
    }
    credits.push({
      operationId: pagingToken,
      changeIndex: movement.changeIndex,
      transactionHash,
      ledger: place.ledger,
      closedAt: record.created_at,
      receiver: movement.receiver,
      sender: movement.sender,
      asset: movement.asset,
      amount,
      memo: memoOf(transaction),
      destinationMuxedId: movement.destinationMuxedId,
      senderMuxedAddress: movement.senderMuxedAddress,
    });
  }
  return { kind: 'credits', credits, parked, ...place };
}

const ignored = (reason: IgnoredReason, pagingToken: string): RecordOutcome => ({
  kind: 'ignored',
  reason,
  pagingToken,
});

function whyNone(movements: readonly Movement[]): IgnoredReason {
  if (movements.length === 0) return 'no_account_credited';
  return movements.every((each) => each.receiver === each.sender) ? 'to_itself' : 'nothing_moved';
}

type Fault = Pick<NotUnderstood, 'fault' | 'reason'>;

const malformed = (reason: string): Fault => ({ fault: 'malformed', reason });

/** Keeps as much as is readable of the record's place and receivers. */
function park(raw: Record<string, unknown>, { fault, reason }: Fault): RecordOutcome {
  const [id, token] = [toid.safeParse(raw.id).data, toid.safeParse(raw.paging_token).data];
  const contradictory = id !== undefined && token !== undefined && id !== token;
  return {
    kind: 'parked',
    pagingToken: contradictory ? null : ((token ?? id)?.toString() ?? null),
    operationId: contradictory ? null : ((id ?? token)?.toString() ?? null),
    transactionHash: hash.safeParse(raw.transaction_hash).data ?? null,
    fault,
    reason,
    receivers: possibleReceivers(raw),
  };
}
