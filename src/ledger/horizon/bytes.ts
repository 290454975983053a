/** A ledger's bytes as Horizon shows them, for proofs: its header, and what its transactions were and did. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import { invocationIn } from '../invocation.js';
import type { LedgerBytes, LedgerSource } from '../source.js';
import type { Get } from './api.js';
import { hash } from './fields.js';

const PAGE = 200;
/** More transactions than a ledger of the network holds. */
const MOST_PAGES = 100;

const headerSchema = z.object({ sequence: z.int(), header_xdr: z.base64().min(1) });
const pageSchema = z.object({
  _embedded: z.object({
    records: z.array(
      z.object({
        hash,
        paging_token: z.string().regex(/^\d{1,19}$/),
        envelope_xdr: z.base64(),
        result_xdr: z.base64(),
      }),
    ),
  }),
});
/** Servers may leave the meta out. */
const metaSchema = z.object({ result_meta_xdr: z.string().min(1) });

export const createHorizonBytes = (get: Get): Pick<LedgerSource, 'ledgerBytes' | 'invocation'> => ({
  async ledgerBytes(sequence) {
    const { status, body } = await get(`/ledgers/${sequence}`);
    if (status !== 200) return status === 410 ? 'gone' : null;
    const found = headerSchema.safeParse(body).data;
    if (found?.sequence !== sequence) throw new SourceError('invalid ledger response');
    return { header: Buffer.from(found.header_xdr, 'base64'), transactions: await transactionsOf(get, sequence) };
  },
  async invocation(transactionHash) {
    const { body } = await get(`/transactions/${transactionHash}`);
    const told = metaSchema.safeParse(body).data;
    return told ? invocationIn(told.result_meta_xdr) : null;
  },
});

async function transactionsOf(get: Get, sequence: number): Promise<LedgerBytes['transactions']> {
  const all: LedgerBytes['transactions'] = [];
  let cursor = '';
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { limit: `${PAGE}`, order: 'asc', include_failed: 'true', ...(cursor && { cursor }) };
    const { body } = await get(`/ledgers/${sequence}/transactions`, query);
    const records = pageSchema.safeParse(body).data?._embedded.records;
    if (!records) throw new SourceError('invalid page response');
    for (const { hash, envelope_xdr, result_xdr } of records)
      all.push({ hash, envelope: Buffer.from(envelope_xdr, 'base64'), result: Buffer.from(result_xdr, 'base64') });
    if (records.length < PAGE) return all;
    cursor = records.at(-1)!.paging_token;
  }
  throw new SourceError('a ledger with too many transactions', { kind: 'too_large' });
}
