/** What a record lacks: its transaction, its effects, or, of what Stellar RPC showed of an operation, Horizon's own record. */
import { SourceError } from '../errors.js';
import { type LedgerRecord, type Place, partiesOf } from '../records.js';
import type { LedgerSource } from '../source.js';
import type { Get } from './api.js';
import { isObject } from './fields.js';
import { parsePage } from './page.js';
import { parseRecord, type Supplement } from './record.js';

export function createCompletion(get: Get): Pick<LedgerSource, 'complete' | 'transactionRecords'> {
  /** The raw answer; null when Horizon does not have it, or when it is too large ever to be read. */
  async function supplement(path: string, query?: Record<string, string>): Promise<unknown> {
    try {
      return (await get(path, query)).body;
    } catch (error) {
      if (error instanceof SourceError && error.kind === 'too_large') return null;
      throw error;
    }
  }

  const complete: LedgerSource['complete'] = async (record, concernsUs) => {
    const { raw } = record;
    let { outcome } = record;
    if (outcome.kind !== 'incomplete' || !concernsUs(partiesOf(outcome))) return record;
    if (!isOwnRecord(raw)) return replaced(record, outcome, concernsUs);
    const fetched: Supplement = {};
    // A transaction may turn out to lack what only the effects hold.
    while (outcome.kind === 'incomplete' && concernsUs(partiesOf(outcome)) && !(outcome.needs in fetched)) {
      fetched[outcome.needs] =
        outcome.needs === 'transaction'
          ? await supplement(`/transactions/${outcome.transactionHash}`)
          : await supplement(`/operations/${outcome.operationId}/effects`, { order: 'asc', limit: '200' });
      outcome = parseRecord(raw, fetched);
    }
    return { raw, outcome };
  };

  async function replaced(
    record: LedgerRecord,
    { transactionHash, pagingToken }: Place,
    concernsUs: (receivers: readonly string[]) => boolean,
  ): Promise<LedgerRecord> {
    const records = await transactionRecords(transactionHash);
    if (records === null) return record;
    const own = records.find(({ outcome }) => outcome.pagingToken === pagingToken);
    if (own) return complete(own, concernsUs);
    // Events tell of trades and claims, too.
    return { raw: record.raw, outcome: { kind: 'ignored', reason: 'no_account_credited', pagingToken } };
  }

  const transactionRecords: LedgerSource['transactionRecords'] = async (transactionHash) => {
    const query = { limit: '200', order: 'asc', join: 'transactions' };
    const { status, body } = await get(`/transactions/${transactionHash}/payments`, query);
    if (status !== 200) return null;
    const found = parsePage(body);
    if (!found) throw new SourceError('invalid page response');
    return found.records;
  };

  return { complete, transactionRecords };
}

/** Whether Horizon gave it: an event of Stellar RPC has no paging token. */
const isOwnRecord = (raw: unknown): boolean => isObject(raw) && 'paging_token' in raw;
