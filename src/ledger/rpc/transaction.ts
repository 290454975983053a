/** Reads transactions from Stellar RPC. The last ones are remembered, because a transaction may
 *  hold many operations. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { strkeyOf } from '../../domain/strkey.js';
import { operationOrderOf, type Place } from '../records.js';
import { SourceError } from '../source.js';
import { type Call, ledgerNumber, moment, RpcError } from './call.js';
import { eventIdOf, getEvents, LAST_INDEX, NO_OPERATION, toidOf } from './events.js';
import { isReadable, type RpcOperation } from './operation.js';
import type { ContractIdOf } from './token-event.js';
import { armOf, envelopeAsJson, type Fields, memoFields, resultAsJson } from './xdr-json.js';

// Reads the envelope and result of a Stellar RPC transaction.

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

/** A transaction's envelope and result, shared by its operations and read on first use. Both calls
 *  throw when neither the XDR nor the JSON can be read. */
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
const envelopeTransactionSchema = z.object({
  source_account: z.string(),
  memo: z.unknown(),
  operations: z.array(operationSchema),
});
const oldTransactionSchema = envelopeTransactionSchema.omit({ source_account: true }).extend({
  source_account_ed25519: z.string().regex(/^[0-9a-f]{64}$/),
});
const inAnyArm = z.unknown().transform((union) => armOf(union)?.value);
const innerSchema = inAnyArm.pipe(z.object({ tx: envelopeTransactionSchema }));
/** Read by their form, whatever the arms are called: a newer kind of envelope, too, names source,
 *  memo and operations. */
const envelopeSchema = inAnyArm.pipe(
  z.union([
    z.object({ tx: z.object({ inner_tx: innerSchema }) }).transform(({ tx }) => tx.inner_tx.tx),
    z.object({ tx: envelopeTransactionSchema }).transform(({ tx }) => tx),
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

// Computes a transaction's hash from the bytes of its envelope, without understanding
// the transaction.

const int32 = (value: number): Buffer => Buffer.from([0, 0, 0, value]);

/** How each kind of envelope is signed: its EnvelopeType in the signature payload, and what a
 *  transaction of version 0 lacks of version 1. */
const KINDS: ReadonlyMap<number, readonly [tag: Buffer, before: Buffer]> = new Map([
  [0, [int32(2), int32(0)]],
  [2, [int32(2), Buffer.alloc(0)]],
  [5, [int32(5), Buffer.alloc(0)]],
]);

/** The transaction's hash; for a fee bump the outer one. @returns lower-case hex; null where the
 *  bytes alone do not tell it */
export function transactionHashOf(envelopeXdr: string, passphrase: string): string | null {
  const bytes = Buffer.from(envelopeXdr, 'base64');
  const end = signaturesIn(bytes);
  const kind = end === null ? undefined : KINDS.get(bytes.readUInt32BE(0));
  if (end === null || !kind) return null;
  const networkId = createHash('sha256').update(passphrase).digest();
  const signed = [networkId, ...kind, bytes.subarray(4, end)];
  return createHash('sha256').update(Buffer.concat(signed)).digest('hex');
}

const MOST_SIGNATURES = 20;
/** Hint, length and 64 bytes. */
const LONGEST_SIGNATURE = 72;

/** Start of the list of signatures, which ends the envelope. Null without a list, and if there may
 *  be several: the preimage of a `hash(x)` signer can itself look like the end of a list. */
function signaturesIn(bytes: Buffer): number | null {
  const earliest = Math.max(4, bytes.length - 4 - MOST_SIGNATURES * LONGEST_SIGNATURE);
  let found: number | null = null;
  for (let at = bytes.length - 4; at >= earliest; at -= 4) {
    if (!areSignatures(bytes, at)) continue;
    if (found !== null) return null;
    found = at;
  }
  return found;
}

function areSignatures(bytes: Buffer, start: number): boolean {
  const count = bytes.readUInt32BE(start);
  let at = start + 4;
  for (let index = 0; index < count && count <= MOST_SIGNATURES; index++) {
    const length = at + 8 <= bytes.length ? bytes.readUInt32BE(at + 4) : 0;
    if (length === 0 || length > 64) return false;
    at += 8 + Math.ceil(length / 4) * 4;
  }
  return count <= MOST_SIGNATURES && at === bytes.length;
}

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
 *  @throws SourceError also when the server does not have the transaction yet, or has another one
 *  in its place */
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

/** The operations of one transaction, none for a failed one; null when the server does not know the
 *  transaction or no longer keeps it.
 *  @param hash of the transaction; a fee bump is also found by its inner hash.
 *  @throws SourceError */
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

/** The hash of a transaction whose envelope does not tell it: its events name the ledger's hash.
 *  @param place its TOID. @throws SourceError */
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
    // Old servers lack this format, and a server that cannot decode the transaction either reports
    // an error.
    if (error instanceof RpcError && error.kind === 'server') return null;
    throw error;
  }
}

/** The number of operations in the envelope, or else in the result; null when neither can
 *  be read. */
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
