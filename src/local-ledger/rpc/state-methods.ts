/** `getLedgerEntries` and `sendTransaction`: current state, and its changes. */
import { xdr } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import type { OwnedEntry } from '../entries.js';
import type { Ledger } from '../ledger.js';
import { resultXdr } from '../results.js';
import { invalidParams } from './error.js';
import { type EntryKey, toEntryData, toEntryKey } from './ledger-entry.js';
import { formatSchema, inFormat, pieceOf } from './piece.js';
import { ledgerRange } from './range.js';

const MAX_KEYS = 200;

export const getLedgerEntriesParams = z.object({ keys: z.array(z.string()), xdrFormat: formatSchema });
export const sendTransactionParams = z.object({ transaction: z.string(), xdrFormat: formatSchema });

export async function getLedgerEntries(ledger: Ledger, params: z.output<typeof getLedgerEntriesParams>) {
  const { keys, xdrFormat } = params;
  if (keys.length > MAX_KEYS) throw invalidParams(`key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`);
  const decoded = keys.map((key, index) => ({ key, entryKey: decodeKey(key, index) }));
  const { latest } = ledger.rpcHistory.visible();
  const entries = [];
  for (const { key, entryKey } of decoded) {
    const entry = entryKey && (await findEntry(ledger, entryKey));
    if (!entry) continue;
    const data = toEntryData(entry);
    const shown =
      xdrFormat === 'json'
        ? { keyJson: xdr.LedgerKey.fromXdr(key, 'base64').toJson(), dataJson: data.toJson() }
        : { key, xdr: data.toXdr('base64') };
    entries.push({ ...shown, lastModifiedLedgerSeq: entry.modified.ledger });
  }
  return { entries, latestLedger: latest };
}

function decodeKey(key: string, index: number): EntryKey | null {
  try {
    return toEntryKey(xdr.LedgerKey.fromXdr(key, 'base64'));
  } catch {
    throw invalidParams(`cannot unmarshal key value ${key} at index ${index}`);
  }
}

async function findEntry(ledger: Ledger, { owner, key }: EntryKey): Promise<OwnedEntry | null> {
  if (!owner.startsWith('G')) return await ledger.claimableBalance(owner, 'rpc');
  const found = await ledger.account(owner, 'rpc');
  if (found === null) return null;
  return [found.account, ...found.owned].find(({ _id }) => _id === key) ?? null;
}

export async function sendTransaction(ledger: Ledger, params: z.output<typeof sendTransactionParams>) {
  const { transaction, xdrFormat } = params;
  const envelope = ledger.decode(transaction);
  if (envelope === null) throw invalidParams('invalid_xdr');
  const submission = await ledger.submit(envelope);
  const range = await ledgerRange(ledger);
  const about = {
    hash: envelope.hash.toString('hex'),
    latestLedger: range.latest,
    latestLedgerCloseTime: String(range.latestCloseTime),
  };
  if (submission.kind === 'rejected') {
    const result = xdr.TransactionResult.fromXdr(resultXdr(submission.outcome), 'base64');
    return { status: 'ERROR', ...about, ...inFormat(xdrFormat, { errorResult: pieceOf(result) }) };
  }
  return { status: submission.isNew ? 'PENDING' : 'DUPLICATE', ...about };
}
