/** `getTransaction`, `getTransactions`, `getLedgers`: closed transactions and ledgers in XDR. */
import { z } from 'zod';
import type { History } from '../history.js';
import type { Ledger } from '../ledger.js';
import type { TransactionDocument } from '../records.js';
import { afterLedger, ledgerOf, ledgerStart } from '../toid.js';
import { invalidParams } from './error.js';
import type { EventDocument } from './events.js';
import { ledgerPieces, refuseLost, transactionFields } from './meta.js';
import { type Format, formatSchema, inFormat, type Piece } from './piece.js';
import { closeTimeOf, type LedgerRange, ledgerRange, type pageSchema, refuseOutside, toPage } from './range.js';

const LIMITS = { usual: 50, most: 200 };
/** Bits of a TOID after the ledger's. */
const ORDER_SHIFT = 12n;
const ORDER_MASK = 0xfffffn;

export const getTransactionParams = z.object({ hash: z.string(), xdrFormat: formatSchema });

const orderOf = (id: bigint): number => Number((id >> ORDER_SHIFT) & ORDER_MASK);

const transactionInfo = (transaction: TransactionDocument, events: EventDocument[], format: Format) => ({
  status: transaction.successful ? 'SUCCESS' : 'FAILED',
  applicationOrder: orderOf(transaction._id),
  feeBump: transaction.innerHash !== null,
  ...transactionFields({ transaction, events }, format),
  ledger: transaction.ledger,
});

const createdAtOf = ({ record }: TransactionDocument): number => Date.parse(String(record.created_at)) / 1000;

export async function getTransaction(ledger: Ledger, { hash, xdrFormat }: z.output<typeof getTransactionParams>) {
  if (hash.length !== 64) throw invalidParams(`unexpected hash length (${hash.length})`);
  if (!/^[0-9a-f]+$/i.test(hash)) throw invalidParams('incorrect hash: not hexadecimal');
  // Look up the transaction first: if it is not found, no ledger of the range has it.
  const found = await ledger.rpcHistory.transactionByHash(hash.toLowerCase());
  const range = await ledgerRange(ledger);
  const about = {
    latestLedger: range.latest,
    latestLedgerCloseTime: String(range.latestCloseTime),
    oldestLedger: range.oldest,
    oldestLedgerCloseTime: String(range.oldestCloseTime),
    txHash: hash,
  };
  if (found === null) return { ...about, status: 'NOT_FOUND' };
  const events = (await ledger.events.ofTransactions([found._id])).get(found._id)!;
  return { ...about, ...transactionInfo(found, events, xdrFormat), createdAt: String(createdAtOf(found)) };
}

export async function getTransactions(ledger: Ledger, params: z.output<typeof pageSchema>) {
  const page = toPage(params, LIMITS);
  const range = await ledgerRange(ledger);
  if (page.cursor !== null && !/^\d{1,19}$/.test(page.cursor)) throw invalidParams(`invalid cursor: ${page.cursor}`);
  const cursor = page.cursor === null ? ledgerStart(page.startLedger) : BigInt(page.cursor);
  refuseOutside(page.cursor === null ? page.startLedger : ledgerOf(cursor), range);
  const pageRange = { cursor, order: 'asc' as const, limit: page.limit };
  const found = await ledger.rpcHistory.transactions({ includeFailed: true }, pageRange);
  const events = await ledger.events.ofTransactions(found.map(({ _id }) => _id));
  // The cursor is the last transaction's place; without a full page the last ledger was read to
  // its end.
  const end = found.length === page.limit ? found.at(-1)!._id : afterLedger(range.latest);
  return {
    transactions: found.map((transaction) => ({
      ...transactionInfo(transaction, events.get(transaction._id)!, params.xdrFormat),
      txHash: transaction.hash,
      createdAt: createdAtOf(transaction),
    })),
    latestLedger: range.latest,
    latestLedgerCloseTimestamp: range.latestCloseTime,
    oldestLedger: range.oldest,
    oldestLedgerCloseTimestamp: range.oldestCloseTime,
    cursor: end.toString(),
  };
}

/** A ledger with all of its transactions. */
export async function readLedger({ rpcHistory, events }: Ledger, sequence: number, format: Format) {
  const record = await rpcHistory.ledger(sequence);
  if (record === null) throw invalidParams(`database does not contain metadata for ledger: ${sequence}`);
  const transactions = await allTransactions(rpcHistory, sequence);
  const told = await events.ofTransactions(transactions.map(({ _id }) => _id));
  const withEvents = transactions.map((transaction) => ({ transaction, events: told.get(transaction._id)! }));
  for (const each of withEvents) refuseLost(format, [each.transaction, ...each.events]);
  return { hash: String(record.hash), closeTime: closeTimeOf(record), ...ledgerPieces(record, withEvents) };
}

async function allTransactions(history: History, ledger: number): Promise<TransactionDocument[]> {
  // More than the operations, hence transactions, of one ledger, with room for made-up records.
  const range = { cursor: null, order: 'asc' as const, limit: 10_000 };
  return await history.transactions({ ledger, includeFailed: true }, range);
}

export async function getLedgers(ledger: Ledger, params: z.output<typeof pageSchema>) {
  const page = toPage(params, LIMITS);
  const range: LedgerRange = await ledgerRange(ledger);
  if (page.cursor !== null && !/^\d{1,10}$/.test(page.cursor)) throw invalidParams(`invalid cursor: ${page.cursor}`);
  const first = page.cursor === null ? page.startLedger : Number(page.cursor) + 1;
  // A cursor at the newest ledger is valid: the next one is still to come.
  refuseOutside(page.cursor === null ? first : Math.min(first, Number(page.cursor)), range);
  const last = Math.min(range.latest, first + page.limit - 1);
  const ledgers = [];
  for (let sequence = first; sequence <= last; sequence++) {
    const { hash, closeTime, historyEntry, metadata } = await readLedger(ledger, sequence, params.xdrFormat);
    const told = { hash, sequence, ledgerCloseTime: String(closeTime) };
    ledgers.push({ ...told, ...ledgerFields(params.xdrFormat, { header: historyEntry, metadata }) });
  }
  return {
    ledgers,
    latestLedger: range.latest,
    latestLedgerCloseTime: range.latestCloseTime,
    oldestLedger: range.oldest,
    oldestLedgerCloseTime: range.oldestCloseTime,
    cursor: String(ledgers.at(-1)?.sequence ?? page.cursor),
  };
}

/** JSON answers have the base64 fields as well, but empty. */
export const ledgerFields = (format: Format, pieces: { header: Piece; metadata: Piece }): Record<string, unknown> => ({
  headerXdr: '',
  metadataXdr: '',
  ...inFormat(format, pieces),
});
