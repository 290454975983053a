/** `getLedgerEntries` and `sendTransaction`: what holds now, and how it changes. */
import { xdr } from '@stellar/stellar-sdk/minimal';
import { z } from 'zod';
import type { Entry } from '../entries.js';
import type { Ledger } from '../ledger.js';
import { resultXdr } from '../results.js';
import { invalidParams } from './error.js';
import { type EntryKey, toEntryData, toEntryKey } from './ledger-entry.js';
import { ledgerRange } from './range.js';

const MAX_KEYS = 200;

const xdrFormat = z.enum(['', 'base64']).nullish();
export const getLedgerEntriesParams = z.object({ keys: z.array(z.string()), xdrFormat });
export const sendTransactionParams = z.object({ transaction: z.string(), xdrFormat });

export async function getLedgerEntries(ledger: Ledger, { keys }: z.output<typeof getLedgerEntriesParams>) {
  if (keys.length > MAX_KEYS) throw invalidParams(`key count (${keys.length}) exceeds maximum supported (${MAX_KEYS})`);
  const decoded = keys.map((key, index) => ({ key, entryKey: decodeKey(key, index) }));
  const { latest } = ledger.rpcHistory.visible();
  const entries = [];
  for (const { key, entryKey } of decoded) {
    const entry = entryKey && (await findEntry(ledger, entryKey));
    if (!entry) continue;
    entries.push({
      key,
      xdr: toEntryData(entry).toXDR('base64'),
      lastModifiedLedgerSeq: entry.modified.ledger,
    });
  }
  return { entries, latestLedger: latest };
}

function decodeKey(key: string, index: number): EntryKey | null {
  try {
    return toEntryKey(xdr.LedgerKey.fromXDR(key, 'base64'));
  } catch {
    throw invalidParams(`cannot unmarshal key value ${key} at index ${index}`);
  }
}

async function findEntry(ledger: Ledger, { owner, key }: EntryKey): Promise<Entry | null> {
  if (!owner.startsWith('G')) return await ledger.claimableBalance(owner, 'rpc');
  const found = await ledger.account(owner, 'rpc');
  if (found === null) return null;
  return [found.account, ...found.owned].find(({ _id }) => _id === key) ?? null;
}

export async function sendTransaction(ledger: Ledger, { transaction }: z.output<typeof sendTransactionParams>) {
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
    return { status: 'ERROR', ...about, errorResultXdr: resultXdr(submission.outcome) };
  }
  return { status: submission.isNew ? 'PENDING' : 'DUPLICATE', ...about };
}
