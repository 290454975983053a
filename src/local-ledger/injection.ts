/** Records that no transaction made: whatever a test wants a reader of payments to meet (types of tomorrow, missing fields, Soroban
 *  transfers), put into a real ledger at a real id. */
import { createHash } from 'node:crypto';
import type { LedgerMoment } from './apply.js';
import { toTimestamp } from './headers.js';
import type { LedgerDocuments } from './records.js';
import { toid } from './toid.js';

export interface Injection {
  /** Accounts whose history shows the record. */
  accounts: string[];
  /** Laid over the common fields of an operation. */
  record: Record<string, unknown>;
  /** Laid over a transaction's fields, the memo among them. */
  transaction?: Record<string, unknown>;
  /** Fields of the operation that are to be missing. */
  omit?: string[];
  omitTransaction?: string[];
  isPayment?: boolean;
}

export const injectedId = (ledger: number, order: number): string => toid(ledger, order, 1).toString();

export function toInjected(injection: Injection, at: LedgerMoment, order: number): LedgerDocuments {
  const { accounts, isPayment = true } = injection;
  const transactionId = toid(at.sequence, order);
  const id = toid(at.sequence, order, 1);
  const createdAt = toTimestamp(at.closeTime);
  const hash = createHash('sha256').update(`injected:${id}:${at.closeTime}`).digest('hex');
  const source = accounts[0] ?? '';
  const record: Record<string, unknown> = {
    id: id.toString(),
    paging_token: id.toString(),
    transaction_successful: true,
    source_account: source,
    type: 'payment',
    type_i: 1,
    created_at: createdAt,
    transaction_hash: hash,
    ...injection.record,
  };
  for (const field of injection.omit ?? []) delete record[field];
  const transaction: Record<string, unknown> = {
    id: hash,
    paging_token: transactionId.toString(),
    successful: true,
    hash,
    ledger: at.sequence,
    created_at: createdAt,
    source_account: source,
    source_account_sequence: '0',
    fee_account: source,
    fee_charged: '100',
    max_fee: '100',
    operation_count: 1,
    envelope_xdr: '',
    result_xdr: '',
    fee_meta_xdr: 'AAAAAA==',
    memo_type: 'none',
    signatures: [],
    ...injection.transaction,
  };
  for (const field of injection.omitTransaction ?? []) delete transaction[field];
  const successful = record.transaction_successful !== false;
  return {
    transaction: {
      _id: transactionId,
      ledger: at.sequence,
      hash,
      innerHash: null,
      accounts,
      successful,
      resultCodes: { transaction: successful ? 'tx_success' : 'tx_failed' },
      record: transaction,
    },
    operations: [{ _id: id, transaction: transactionId, accounts, successful, isPayment, record, effects: [] }],
  };
}
