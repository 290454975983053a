/** A ledger's bytes as Stellar RPC shows them, for proofs: its header, and what its transactions were and did. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import { hash } from '../horizon/fields.js';
import { invocationIn } from '../invocation.js';
import type { LedgerBytes } from '../source.js';
import type { Call } from './call.js';
import { base64, ledgerNumber } from './fields.js';

const PAGE = 200;
/** More transactions than a ledger of the network holds. */
const MOST_PAGES = 100;

const ledgersSchema = z.object({
  ledgers: z.array(z.object({ sequence: ledgerNumber, headerXdr: base64.min(1) })),
});
const transactionsSchema = z.object({
  transactions: z.array(z.object({ txHash: hash, ledger: ledgerNumber, envelopeXdr: base64, resultXdr: base64 })),
  cursor: z.string().max(40),
});
const metaSchema = z.object({ resultMetaXdr: z.string().optional() });

/** @throws RpcError for a ledger that it does not have */
export async function ledgerBytes(call: Call, sequence: number): Promise<LedgerBytes> {
  const params = { startLedger: sequence, pagination: { limit: 1 } };
  const [found] = (await call('getLedgers', params, ledgersSchema)).ledgers;
  if (found?.sequence !== sequence) throw new SourceError('invalid answer to getLedgers');
  // A LedgerHeaderHistoryEntry: hash, header, and an extension.
  const header = Buffer.from(found.headerXdr, 'base64').subarray(32, -4);
  return { header, transactions: await transactionsOf(call, sequence) };
}

async function transactionsOf(call: Call, sequence: number): Promise<LedgerBytes['transactions']> {
  const all: LedgerBytes['transactions'] = [];
  let from: object = { startLedger: sequence, pagination: { limit: PAGE } };
  for (let page = 0; page < MOST_PAGES; page++) {
    const { transactions, cursor } = await call('getTransactions', from, transactionsSchema);
    const own = transactions.filter(({ ledger }) => ledger === sequence);
    for (const { txHash, envelopeXdr, resultXdr } of own)
      all.push({
        hash: txHash,
        envelope: Buffer.from(envelopeXdr, 'base64'),
        result: Buffer.from(resultXdr, 'base64'),
      });
    if (own.length < transactions.length || transactions.length < PAGE) return all;
    from = { pagination: { cursor, limit: PAGE } };
  }
  throw new SourceError('a ledger with too many transactions', { kind: 'too_large' });
}

export async function invocation(call: Call, transactionHash: string): Promise<Buffer | null> {
  const { resultMetaXdr } = await call('getTransaction', { hash: transactionHash }, metaSchema);
  return resultMetaXdr ? invocationIn(resultMetaXdr) : null;
}
