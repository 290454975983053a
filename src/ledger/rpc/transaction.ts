/** Transactions as Stellar RPC gives them; the last ones are remembered, because one may hold many operations. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import type { Place } from '../records.js';
import { operationOrderOf } from '../toid.js';
import type { Call } from './call.js';
import { type DecodedTransaction, decodeLazily } from './envelope.js';
import { ledgerNumber, moment } from './fields.js';
import type { RpcOperation } from './operation.js';

const MAX_REMEMBERED = 16;

const transactionSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('NOT_FOUND') }),
  z.object({ status: z.literal('FAILED') }),
  z.object({
    status: z.literal('SUCCESS'),
    ledger: ledgerNumber,
    createdAt: moment,
    applicationOrder: z.int().positive(),
    envelopeXdr: z.string(),
    resultXdr: z.string(),
    events: z.object({ contractEventsXdr: z.array(z.array(z.string()).nullable()).nullish() }).nullish(),
  }),
]);

type Answer = z.output<typeof transactionSchema>;
type Applied = Extract<Answer, { status: 'SUCCESS' }> & { decoded: DecodedTransaction };
type Transaction = Exclude<Answer, { status: 'SUCCESS' }> | Applied;

/** What is kept of an operation, and its transaction, decoded for all of its operations. */
export interface FoundOperation {
  raw: RpcOperation;
  decoded: DecodedTransaction;
}

/** By hash, each with the promise of its answer. */
export type Transactions = Map<string, Promise<Transaction>>;

/** What is known of one operation; null when its transaction failed.
 *  @throws SourceError also when the server does not have the transaction (yet), or has another one in its place */
export async function getOperation(
  call: Call,
  { operationId, transactionHash, ledger }: Place,
  remembered: Transactions,
): Promise<FoundOperation | null> {
  const transaction = await getTransaction(call, transactionHash, remembered);
  if (transaction.status === 'NOT_FOUND')
    throw new SourceError('it does not have a transaction of which it showed an event');
  if (transaction.status === 'FAILED') return null;
  const id = BigInt(operationId);
  const order = Number((id >> 12n) & 0xf_ffffn);
  if (transaction.ledger !== ledger || transaction.applicationOrder !== order)
    throw new SourceError('a transaction stands elsewhere than its event');
  return toOperation(transaction, transactionHash, id);
}

/** The operations of one transaction, none of a failed one; null for a transaction that the server does not know (any more). @throws SourceError */
export async function getOperations(
  call: Call,
  transactionHash: string,
  remembered: Transactions,
): Promise<FoundOperation[] | null> {
  const transaction = await getTransaction(call, transactionHash, remembered);
  if (transaction.status === 'NOT_FOUND') return null;
  if (transaction.status === 'FAILED') return [];
  const first = (BigInt(transaction.ledger) << 32n) | (BigInt(transaction.applicationOrder) << 12n);
  return Array.from({ length: countIn(transaction) }, (_, index) =>
    toOperation(transaction, transactionHash, first + BigInt(index + 1)),
  );
}

function countIn({ decoded }: Applied): number {
  try {
    return decoded.envelope().operations.length;
  } catch {
    throw new SourceError('invalid answer to getTransaction: its envelope cannot be decoded');
  }
}

const toOperation = (transaction: Applied, transactionHash: string, id: bigint): FoundOperation => ({
  decoded: transaction.decoded,
  raw: {
    operationId: id.toString(),
    transactionHash,
    closedAt: transaction.createdAt.toISOString(),
    envelopeXdr: transaction.envelopeXdr,
    resultXdr: transaction.resultXdr,
    eventsXdr: transaction.events?.contractEventsXdr?.[operationOrderOf(id) - 1] ?? [],
  },
});

const withDecoded = (answer: Answer): Transaction =>
  answer.status === 'SUCCESS' ? { ...answer, decoded: decodeLazily(answer) } : answer;

async function getTransaction(call: Call, hash: string, remembered: Transactions): Promise<Transaction> {
  const known = remembered.get(hash);
  if (known) return known;
  const asked = call('getTransaction', { hash }, transactionSchema).then(withDecoded);
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size >= MAX_REMEMBERED) remembered.delete(oldest);
  remembered.set(hash, asked);
  const forget = () => {
    if (remembered.get(hash) === asked) remembered.delete(hash);
  };
  // What is not there may be soon.
  asked.then(({ status }) => status === 'NOT_FOUND' && forget(), forget);
  return asked;
}
