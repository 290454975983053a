/** Records without a transaction, for tests of a reader of payments: future types, missing fields,
 *  contract transfers, forged events. Each is put into a real ledger at a real id. */
import { createHash } from 'node:crypto';
import { Memo, StrKey } from '@stellar/stellar-sdk/base';
import type { LedgerMoment } from './apply.js';
import {
  applyChange,
  type BalanceChange,
  changeEffects,
  changeEvent,
  keysOfChange,
  readBalanceChanges,
} from './balance-change.js';
import {
  type Credentials,
  type MadeTransaction,
  madeUpContract,
  makeContractCall,
  transferArguments,
} from './contract-call.js';
import type { View } from './entries.js';
import { toTimestamp } from './headers.js';
import type { LedgerDocuments } from './records.js';
import { type ContractIdOf, contractEvent, type EventBody, invocationOf, toEventDocuments } from './rpc/events.js';
import { BASE_FEE, fromAmount } from './stroops.js';
import { toid } from './toid.js';

export interface Injection {
  /** Accounts whose history shows the record. */
  accounts: string[];
  /** Overrides the common fields of an operation. `asset_balance_changes` become events of Stellar
   *  RPC as well. */
  record: Record<string, unknown>;
  /** Overrides a transaction's fields, including the memo. */
  transaction?: Record<string, unknown>;
  /** Fields of the operation to omit. */
  omit?: string[];
  omitTransaction?: string[];
  isPayment?: boolean;
  /** Whether balances and effects follow the balance changes, if the parties hold the asset. */
  moves?: boolean;
  /** A transfer claimed in an event by a contract other than the asset's; nothing else shows it. */
  forgery?: Forgery;
  /** The authorization of a contract call in newer protocols; none without it. */
  signedBy?: Credentials | undefined;
}

export interface Forgery {
  /** G… or C… */
  from: string;
  to: string;
  asset: { code: string; issuer: string } | null;
  /** Stroops. */
  amount: bigint;
  toMuxedId: string | null;
}

/** A contract call that emits an event of a transfer that never happened. @param source pays
 *  its fee */
export function forgedEvent(
  wanted: {
    to: string;
    from?: string;
    /** Decimal text. */
    amount: string;
    assetCode?: string;
    assetIssuer?: string | null;
    muxedId?: string;
  },
  source: string,
): Injection {
  const { to, from = madeUpContract('forger'), amount, assetCode = 'XLM', assetIssuer, muxedId } = wanted;
  return {
    accounts: [source],
    isPayment: false,
    record: { ...CONTRACT_CALL, source_account: source, asset_balance_changes: null },
    forgery: {
      from,
      to,
      asset: assetIssuer ? { code: assetCode, issuer: assetIssuer } : null,
      amount: fromAmount(amount)!,
      toMuxedId: muxedId ?? null,
    },
  };
}

/** Horizon's fields of every contract call. */
export const CONTRACT_CALL = {
  type: 'invoke_host_function',
  type_i: 24,
  function: 'HostFunctionTypeHostFunctionTypeInvokeContract',
  parameters: [],
  address: '',
  salt: '',
};

export interface Network {
  passphrase: string;
  contractIdOf: ContractIdOf;
}

export const injectedId = (ledger: number, order: number): string => toid(ledger, order, 1).toString();

const changesOf = ({ record }: Injection): BalanceChange[] => readBalanceChanges(record.asset_balance_changes);

/** Entries that the injection changes. */
export const keysOfInjection = (injection: Injection): string[] =>
  injection.moves ? changesOf(injection).flatMap(keysOfChange) : [];

/** Applies the injection's balance changes, and returns what it leaves in the history. */
export function applyInjection(
  injection: Injection,
  view: View,
  at: LedgerMoment,
  order: number,
  network: Network,
): LedgerDocuments {
  const { accounts, isPayment = true, moves = false } = injection;
  const transactionId = toid(at.sequence, order);
  const id = toid(at.sequence, order, 1);
  const successful = injection.record.transaction_successful !== false;
  const changes = successful ? changesOf(injection) : [];
  const told = successful ? eventsOf(injection, changes, network) : [];
  const made = makeTransaction(injection, at, order, network.passphrase, told);
  const record = operationRecord(injection, at, id, made.hash);
  const transaction = transactionRecord(injection, at, transactionId, made);
  if (moves) for (const change of changes) applyChange(view, change, at);
  const payer = String(transaction.fee_account);
  const events = StrKey.isValidEd25519PublicKey(payer)
    ? toEventDocuments(
        {
          at,
          order,
          txHash: made.hash,
          fee: { payer, charged: BASE_FEE },
          operations: [told],
          isClassic: false,
        },
        network.contractIdOf,
      )
    : [];
  return {
    transaction: {
      _id: transactionId,
      ledger: at.sequence,
      hash: made.hash,
      innerHash: null,
      accounts,
      successful,
      resultCodes: { transaction: successful ? 'tx_success' : 'tx_failed' },
      phase: successful && made.envelopeXdr !== '' && isShownAsMade(transaction, made) ? 'call' : null,
      record: transaction,
      ...(made.envelopeJson === undefined ? {} : { envelopeJson: made.envelopeJson }),
    },
    operations: [
      {
        _id: id,
        transaction: transactionId,
        accounts,
        successful,
        isPayment,
        record,
        effects: moves ? changes.flatMap((change) => changeEffects(change, sourceOf(injection))) : [],
      },
    ],
    events,
  };
}

function eventsOf({ forgery }: Injection, changes: BalanceChange[], { contractIdOf }: Network): EventBody[] {
  const told = changes.map((change) => changeEvent(change, contractIdOf));
  if (forgery === undefined) return told;
  const { from, to, asset, amount, toMuxedId } = forgery;
  const contractId = madeUpContract('forger');
  return [...told, contractEvent({ contractId, name: 'transfer', addresses: [from, to], asset, amount, toMuxedId })];
}

/** Makes a contract call if the record has balance changes or a forgery, otherwise only a hash. */
function makeTransaction(
  injection: Injection,
  at: LedgerMoment,
  order: number,
  passphrase: string,
  events: EventBody[],
): MadeTransaction {
  const [change] = changesOf(injection);
  const told = injection.forgery ?? change;
  const source = sourceOf(injection);
  const sequence = toid(at.sequence, order);
  if (told === undefined || !StrKey.isValidEd25519PublicKey(source)) {
    const hash = createHash('sha256').update(`injected:${sequence}:${at.closeTime}`).digest('hex');
    return { hash, envelopeXdr: '', resultXdr: '' };
  }
  const contract = madeUpContract('caller');
  const { from, to, toMuxedId } = { ...told, from: told.from ?? contract, to: told.to ?? contract };
  return makeContractCall(
    {
      contract: injection.forgery === undefined ? contract : madeUpContract('forger'),
      method: 'transfer',
      ...transferArguments(from, { to, toMuxedId }, told.amount),
      source,
      sequence,
      memo: memoOf(injection.transaction ?? {}),
      signedBy: injection.signedBy,
      invocation: invocationOf(events),
    },
    passphrase,
  );
}

/** Whether the fields that a ledger's hashes cover are not overridden. */
const isShownAsMade = (
  transaction: Record<string, unknown>,
  { hash, envelopeXdr, resultXdr }: MadeTransaction,
): boolean =>
  transaction.hash === hash && transaction.envelope_xdr === envelopeXdr && transaction.result_xdr === resultXdr;

const sourceOf = ({ accounts, record }: Injection): string => String(record.source_account ?? accounts[0] ?? '');

/** The memo of the transaction's fields, if the SDK can make it. */
function memoOf({ memo, memo_bytes, memo_type }: Record<string, unknown>): Memo {
  try {
    if (memo_type === 'text')
      return Memo.text(typeof memo_bytes === 'string' ? (Buffer.from(memo_bytes, 'base64') as never) : String(memo));
    if (memo_type === 'id') return Memo.id(String(memo));
    if (memo_type === 'hash') return Memo.hash(Buffer.from(String(memo), 'base64').toString('hex'));
    if (memo_type === 'return') return Memo.return(Buffer.from(String(memo), 'base64').toString('hex'));
  } catch {
    // Made-up fields may be no memo.
  }
  return Memo.none();
}

function operationRecord(injection: Injection, at: LedgerMoment, id: bigint, hash: string): Record<string, unknown> {
  const record: Record<string, unknown> = {
    id: id.toString(),
    paging_token: id.toString(),
    transaction_successful: true,
    source_account: sourceOf(injection),
    type: 'payment',
    type_i: 1,
    created_at: toTimestamp(at.closeTime),
    transaction_hash: hash,
    ...injection.record,
  };
  for (const field of injection.omit ?? []) delete record[field];
  return record;
}

function transactionRecord(
  injection: Injection,
  at: LedgerMoment,
  id: bigint,
  { hash, envelopeXdr, resultXdr }: MadeTransaction,
): Record<string, unknown> {
  const source = sourceOf(injection);
  const transaction: Record<string, unknown> = {
    id: hash,
    paging_token: id.toString(),
    successful: true,
    hash,
    ledger: at.sequence,
    created_at: toTimestamp(at.closeTime),
    source_account: source,
    source_account_sequence: '0',
    fee_account: source,
    fee_charged: BASE_FEE.toString(),
    max_fee: BASE_FEE.toString(),
    operation_count: 1,
    envelope_xdr: envelopeXdr,
    result_xdr: resultXdr,
    fee_meta_xdr: 'AAAAAA==',
    memo_type: 'none',
    signatures: [],
    ...injection.transaction,
  };
  for (const field of injection.omitTransaction ?? []) delete transaction[field];
  return transaction;
}
