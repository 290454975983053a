/** Parses a record of Horizon's payments. It is untrusted JSON: any content leads to exactly one outcome, and none makes the parser throw. */
import { z } from 'zod';
import type { Credit, IgnoredReason, NotUnderstood, Place, RecordOutcome } from '../records.js';
import { ledgerOf, operationOrderOf } from '../toid.js';
import { faultOf, hash, isObject, moment, toid } from './fields.js';
import { type Movement, possibleReceivers, readMovements } from './movements.js';
import { memoOf, mergedByEffects, mergedByResult, readTransaction } from './transaction.js';

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
