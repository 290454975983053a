/** Completes an incomplete record by fetching its transaction or effects. A record from Stellar RPC is replaced by Horizon's own. */
import { SourceError } from '../errors.js';
import { type LedgerRecord, type Place, partiesOf } from '../records.js';
import type { LedgerSource } from '../source.js';
import type { Get } from './api.js';
import { isObject } from './fields.js';
import { parsePage } from './page.js';
import { parseRecord, type Supplement } from './record.js';

const TOO_LARGE = Symbol('too large ever to be read');

export function createSupplements(get: Get): Pick<LedgerSource, 'complete' | 'transactionRecords'> {
  /** The raw answer; null when Horizon does not have it. */
  async function fetchSupplement(path: string, query?: Record<string, string>): Promise<unknown> {
    try {
      return (await get(path, query)).body;
    } catch (error) {
      if (error instanceof SourceError && error.kind === 'too_large') return TOO_LARGE;
      throw error;
    }
  }

  const complete: LedgerSource['complete'] = async (record, concernsUs) => {
    const { raw } = record;
    let { outcome } = record;
    if (outcome.kind !== 'incomplete' || !concernsUs(partiesOf(outcome))) return record;
    if (!isOwnRecord(raw)) return replaceByOwn(record, outcome, concernsUs);
    const fetched: Supplement = {};
    // With its transaction, a record may turn out to lack effects.
    while (outcome.kind === 'incomplete' && concernsUs(partiesOf(outcome)) && !(outcome.needs in fetched)) {
      const found =
        outcome.needs === 'transaction'
          ? await fetchSupplement(`/transactions/${outcome.transactionHash}`)
          : await fetchSupplement(`/operations/${outcome.operationId}/effects`, { order: 'asc', limit: '200' });
      if (found === TOO_LARGE) return { raw, outcome: { ...outcome, isTooLarge: true } };
      fetched[outcome.needs] = found;
      outcome = parseRecord(raw, fetched);
    }
    return { raw, outcome };
  };

  async function replaceByOwn(
    record: LedgerRecord,
    { transactionHash, pagingToken }: Place,
    concernsUs: (receivers: readonly string[]) => boolean,
  ): Promise<LedgerRecord> {
    const records = await transactionRecords(transactionHash);
    if (records === null) return record;
    const own = records.find(({ outcome }) => outcome.pagingToken === pagingToken);
    if (own) return complete(own, concernsUs);
    // Horizon lists no payment there: trades, claims and the like emit events, too.
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

/** Whether the record is Horizon's: records from Stellar RPC have no paging token. */
const isOwnRecord = (raw: unknown): boolean => isObject(raw) && 'paging_token' in raw;
