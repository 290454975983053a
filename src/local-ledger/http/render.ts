/** Adds Horizon's links to records of the history. */
import type { EffectRow } from '../history.js';
import type { OperationDocument } from '../records.js';
import { effectLinks, ledgerLinks, operationLinks, transactionLinks } from './links.js';
import type { ListRecord } from './lists.js';

/** The memo comes first, as in Horizon. */
export function renderTransaction(base: string, record: Record<string, unknown>): ListRecord {
  const { memo, memo_bytes, ...rest } = record;
  return {
    ...(memo === undefined ? {} : { memo }),
    ...(memo_bytes === undefined ? {} : { memo_bytes }),
    _links: transactionLinks(base, record),
    ...rest,
  } as unknown as ListRecord;
}

/** @param joined record of the operation's transaction */
export const renderOperation = (
  base: string,
  { _id, record }: OperationDocument,
  joined?: Record<string, unknown>,
): ListRecord =>
  ({
    _links: operationLinks(base, _id.toString(), String(record.transaction_hash)),
    ...record,
    ...(joined === undefined ? {} : { transaction: renderTransaction(base, joined) }),
  }) as unknown as ListRecord;

export function renderEffect(base: string, { operation, order, createdAt, effect }: EffectRow): ListRecord {
  const { type, type_i, account, ...details } = effect;
  const token = `${operation}-${order}`;
  return {
    _links: effectLinks(base, operation.toString(), token),
    id: `${operation.toString().padStart(19, '0')}-${order.toString().padStart(10, '0')}`,
    paging_token: token,
    account,
    type,
    type_i,
    created_at: createdAt,
    ...details,
  };
}

export const renderLedger = (base: string, record: Record<string, unknown>): ListRecord =>
  ({ _links: ledgerLinks(base, record.sequence), ...record }) as unknown as ListRecord;
