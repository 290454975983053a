/** Reads transactions from Stellar RPC. The last ones are remembered, because a transaction may hold many operations. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import type { Place } from '../records.js';
import { operationOrderOf } from '../toid.js';
import { type Call, RpcError } from './call.js';
import { type DecodedTransaction, decodeLazily } from './envelope.js';
import { eventIdOf, getEvents, LAST_INDEX, NO_OPERATION, toidOf } from './events.js';
import { ledgerNumber, moment } from './fields.js';
import { isReadable, type RpcOperation } from './operation.js';
import type { ContractIdOf } from './token-event.js';
import { transactionHashOf } from './transaction-hash.js';

const MAX_REMEMBERED = 16;
const OF_ONE = { kind: 'missing' } as const;

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

/** XDR as JSON, decoded by the server. */
interface TransactionJson {
  envelope: unknown;
  result: unknown;
  /** One list for each operation. */
  events: unknown[][];
}

const jsonSchema = z.object({
  status: z.literal('SUCCESS'),
  envelopeJson: z.unknown().optional(),
  resultJson: z.unknown().optional(),
  events: z
    .object({
      contractEventsJson: z
        .array(
          z
            .array(z.unknown())
            .nullable()
            .transform((each) => each ?? []),
        )
        .nullish(),
    })
    .nullish(),
});

type Answer = z.output<typeof transactionSchema>;
type Applied = Extract<Answer, { status: 'SUCCESS' }> & { decoded: DecodedTransaction; json?: TransactionJson };
type Transaction = Exclude<Answer, { status: 'SUCCESS' }> | Applied;

/** An operation as it is kept, and its decoded transaction, which its operations share. */
export interface FoundOperation {
  raw: RpcOperation;
  decoded: DecodedTransaction;
}

interface Asking {
  call: Call;
  remembered: Transactions;
  /** The network's. */
  passphrase: string;
  contractIdOf: ContractIdOf;
}

/** Promises of answers by hash. */
export type Transactions = Map<string, Promise<Transaction>>;

/** One operation; null when its transaction failed.
 *  @throws SourceError also when the server does not have the transaction yet, or has another one in its place */
export async function getOperation(
  asking: Asking,
  { operationId, transactionHash, ledger }: Place,
): Promise<FoundOperation | null> {
  const transaction = await getTransaction(asking, transactionHash);
  if (transaction.status === 'NOT_FOUND')
    throw new SourceError('it does not have a transaction of which it showed an event', OF_ONE);
  if (transaction.status === 'FAILED') return null;
  const id = BigInt(operationId);
  const order = Number((id >> 12n) & 0xf_ffffn);
  if (transaction.ledger !== ledger || transaction.applicationOrder !== order)
    throw new SourceError('a transaction stands elsewhere than its event', OF_ONE);
  // Where the envelope does not tell the hash, it comes from the event, not from the caller.
  const hash = transactionHashOf(transaction.envelopeXdr, asking.passphrase) ?? transactionHash;
  const found = toOperation(transaction, hash, id);
  if (isReadable(found.raw, found.decoded, asking.contractIdOf)) return found;
  return toOperation(await withJson(asking, transaction, hash), hash, id);
}

/** The operations of one transaction, none for a failed one; null when the server does not know the transaction or no longer keeps it.
 *  @param hash of the transaction; a fee bump is also found by its inner hash. @throws SourceError */
export async function getOperations(asking: Asking, hash: string): Promise<FoundOperation[] | null> {
  const transaction = await getTransaction(asking, hash);
  if (transaction.status === 'NOT_FOUND') return null;
  if (transaction.status === 'FAILED') return [];
  const first = (BigInt(transaction.ledger) << 32n) | (BigInt(transaction.applicationOrder) << 12n);
  const transactionHash =
    transactionHashOf(transaction.envelopeXdr, asking.passphrase) ?? (await hashByEvent(asking.call, first));
  const operationsOf = (from: Applied) =>
    Array.from({ length: countIn(from) ?? 0 }, (_, index) =>
      toOperation(from, transactionHash, first + BigInt(index + 1)),
    );
  const found = countIn(transaction) === null ? null : operationsOf(transaction);
  if (found?.every(({ raw, decoded }) => isReadable(raw, decoded, asking.contractIdOf))) return found;
  const whole = await withJson(asking, transaction, transactionHash);
  if (countIn(whole) === null) throw new SourceError('invalid answer to getTransaction: it cannot be decoded', OF_ONE);
  return operationsOf(whole);
}

/** The hash of a transaction whose envelope does not tell it: its events name the ledger's hash. @param place its TOID. @throws SourceError */
async function hashByEvent(call: Call, place: bigint): Promise<string> {
  const cursor = eventIdOf(place - 1n, LAST_INDEX);
  const [event] = (await getEvents(call, { cursor }, [], 1)).events;
  if (!event || (toidOf(event.id) & ~NO_OPERATION) !== place)
    throw new SourceError('invalid answer to getTransaction: its envelope and its events cannot be read', OF_ONE);
  return event.txHash;
}

/** Adds what the server decodes, if it offers that. @throws SourceError */
async function withJson({ call }: Asking, transaction: Applied, hash: string): Promise<Applied> {
  if (transaction.json) return transaction;
  const json = await decodedByServer(call, hash);
  if (!json) return transaction;
  // Remembered for the other operations of the transaction.
  return Object.assign(transaction, { json, decoded: decodeLazily({ ...transaction, json }) });
}

async function decodedByServer(call: Call, hash: string): Promise<TransactionJson | null> {
  try {
    const answer = await call('getTransaction', { hash, xdrFormat: 'json' }, jsonSchema);
    return {
      envelope: answer.envelopeJson,
      result: answer.resultJson,
      events: answer.events?.contractEventsJson ?? [],
    };
  } catch (error) {
    // Old servers lack this format, and a server that cannot decode the transaction either reports an error.
    if (error instanceof RpcError && error.kind === 'server') return null;
    throw error;
  }
}

/** The number of operations in the envelope, or else in the result; null when neither can be read. */
function countIn({ decoded }: Applied): number | null {
  for (const count of [() => decoded.envelope().operations.length, () => decoded.results().length]) {
    try {
      return count();
    } catch {}
  }
  return null;
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
    ...(transaction.json && {
      json: { ...transaction.json, events: transaction.json.events[operationOrderOf(id) - 1] ?? [] },
    }),
  },
});

const withDecoded = (answer: Answer): Transaction =>
  answer.status === 'SUCCESS' ? { ...answer, decoded: decodeLazily(answer) } : answer;

/** An invalid answer concerns this transaction only: the server may be fine. */
async function ask(call: Call, hash: string): Promise<Answer> {
  const answer = await call('getTransaction', { hash }, z.unknown()).catch((error: unknown) => {
    throw error instanceof RpcError && error.kind === 'server' ? new SourceError(error.reason, OF_ONE) : error;
  });
  const transaction = transactionSchema.safeParse(answer).data;
  if (!transaction) throw new SourceError('invalid answer to getTransaction', OF_ONE);
  return transaction;
}

async function getTransaction({ call, remembered }: Asking, hash: string): Promise<Transaction> {
  const known = remembered.get(hash);
  if (known) return known;
  const asked = ask(call, hash).then(withDecoded);
  const [oldest] = remembered.keys();
  if (oldest !== undefined && remembered.size >= MAX_REMEMBERED) remembered.delete(oldest);
  remembered.set(hash, asked);
  const forget = () => {
    if (remembered.get(hash) === asked) remembered.delete(hash);
  };
  // A missing transaction may exist soon.
  asked.then(({ status }) => status === 'NOT_FOUND' && forget(), forget);
  return asked;
}
