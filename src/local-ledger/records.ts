/** Stored transactions and operations: Horizon's records without links, and the fields
 *  for queries. */
import { StrKey, type xdr } from '@stellar/stellar-sdk/base';
import type { Applied, LedgerMoment } from './apply.js';
import type { Envelope, Preconditions, Signature } from './envelope.js';
import { toTimestamp } from './headers.js';
import { memoFields } from './memo.js';
import type { Effect } from './operations/kind.js';
import { isSuccess } from './operations/kind.js';
import { type Party, partyFields } from './party.js';
import { type ResultCodes, resultCodes, resultXdr } from './results.js';
import { type ContractIdOf, type EventDocument, toEvent, toEventDocuments } from './rpc/events.js';
import { toid } from './toid.js';

export interface TransactionDocument {
  /** TOID. */
  _id: bigint;
  ledger: number;
  hash: string;
  /** Hash of the transaction inside a fee bump. */
  innerHash: string | null;
  accounts: string[];
  successful: boolean;
  resultCodes: ResultCodes;
  /** Where the transaction stands in its ledger's set; null for a made-up record that is
   *  in none. */
  phase: 'classic' | 'call' | null;
  record: Record<string, unknown>;
  /** The JSON that a server of their protocol shows, if the SDK cannot decode them. */
  envelopeJson?: unknown;
  resultJson?: unknown;
  /** The server cannot decode them either. */
  isServerLost?: true;
}

export interface OperationDocument {
  /** TOID. */
  _id: bigint;
  transaction: bigint;
  accounts: string[];
  /** Sellers of the offers taken: only their effects and transactions show the operation. */
  traders?: string[];
  successful: boolean;
  isPayment: boolean;
  record: Record<string, unknown>;
  effects: Effect[];
}

export interface LedgerDocuments {
  transaction: TransactionDocument;
  operations: OperationDocument[];
  events: EventDocument[];
}

/** An empty LedgerEntryChanges: this ledger does not reproduce the changes by the fee. */
const NO_CHANGES = 'AAAAAA==';

/** What a transaction leaves in the history; `order` counts from 1 in each ledger. */
export function toDocuments(
  envelope: Envelope,
  applied: Applied,
  at: LedgerMoment,
  order: number,
  contractIdOf: ContractIdOf,
): LedgerDocuments {
  const { inner, feeBump } = envelope;
  const hash = envelope.hash.toString('hex');
  const payer = feeBump?.source ?? inner.source;
  const operations = inner.operations.map((_, index) => toOperation(envelope, applied, at, order, index));
  return {
    transaction: {
      _id: toid(at.sequence, order),
      ledger: at.sequence,
      hash,
      innerHash: feeBump === null ? null : inner.hash.toString('hex'),
      accounts: [...new Set([inner.source.id, payer.id, ...operations.flatMap(partiesOf)])],
      successful: applied.successful,
      resultCodes: resultCodes(applied),
      phase: 'classic',
      record: transactionRecord(envelope, applied, at, order),
    },
    operations,
    events: toEventDocuments(
      {
        at,
        order,
        txHash: hash,
        fee: { payer: payer.id, charged: applied.feeCharged },
        operations: applied.movements.map((moved) =>
          moved.map((movement) => toEvent(movement, inner.memo, contractIdOf)),
        ),
        isClassic: true,
      },
      contractIdOf,
    ),
  };
}

const partiesOf = ({ accounts, traders = [] }: OperationDocument): string[] => [...accounts, ...traders];

/** The operation at `index`, from 0. */
function toOperation(
  { inner, hash }: Envelope,
  applied: Applied,
  at: LedgerMoment,
  order: number,
  index: number,
): OperationDocument {
  const operation = inner.operations[index]!;
  const results = 'operations' in applied.verdict ? applied.verdict.operations : [];
  const result = results[index]!;
  const source = operation.source ?? inner.source;
  const id = toid(at.sequence, order, index + 1);
  const sponsor = applied.successful ? applied.sponsors[index]! : null;
  const paidBy = operation.type === 'end_sponsoring_future_reserves' ? null : sponsor;
  const accounts = new Set([source.id, ...operation.participants(), ...(paidBy === null ? [] : [paidBy])]);
  const effects = applied.effects[index] ?? [];
  const traders = effects.flatMap(({ type, account }) => (type === 'trade' && !accounts.has(account) ? [account] : []));
  return {
    _id: id,
    transaction: toid(at.sequence, order),
    accounts: [...accounts],
    ...(traders.length === 0 ? {} : { traders: [...new Set(traders)] }),
    successful: applied.successful,
    isPayment: operation.isPayment,
    record: {
      id: id.toString(),
      paging_token: id.toString(),
      transaction_successful: applied.successful,
      ...partyFields('source_account', source),
      type: operation.type,
      type_i: operation.typeIndex,
      created_at: toTimestamp(at.closeTime),
      transaction_hash: hash.toString('hex'),
      ...(paidBy === null ? {} : { sponsor: paidBy }),
      ...operation.details(source, { successful: applied.successful && isSuccess(result), result, sponsor }),
    },
    effects: effects.map((effect) => withMuxed(effect, source, operation.counterparty)),
  };
}

const toSignatures = (of: Signature[]): string[] => of.map(({ bytes }) => bytes.toString('base64'));

function transactionRecord(envelope: Envelope, applied: Applied, at: LedgerMoment, order: number) {
  const { inner, feeBump } = envelope;
  const { memo_type, ...memo } = memoFields(inner.memo);
  const hash = envelope.hash.toString('hex');
  return {
    ...memo,
    id: hash,
    paging_token: toid(at.sequence, order).toString(),
    successful: applied.successful,
    hash,
    ledger: at.sequence,
    created_at: toTimestamp(at.closeTime),
    ...partyFields('source_account', inner.source, 'account'),
    source_account_sequence: inner.sequence.toString(),
    ...partyFields('fee_account', feeBump?.source ?? inner.source),
    fee_charged: applied.feeCharged.toString(),
    max_fee: (feeBump?.fee ?? inner.fee).toString(),
    operation_count: inner.operations.length,
    envelope_xdr: envelope.xdr,
    result_xdr: resultXdr(applied),
    fee_meta_xdr: NO_CHANGES,
    memo_type,
    signatures: toSignatures(feeBump?.signatures ?? inner.signatures),
    ...preconditionFields(inner.preconditions),
    ...(feeBump === null
      ? {}
      : {
          fee_bump_transaction: { hash, signatures: toSignatures(feeBump.signatures) },
          inner_transaction: {
            hash: inner.hash.toString('hex'),
            signatures: toSignatures(inner.signatures),
            max_fee: inner.fee.toString(),
          },
        }),
  };
}

/** Names the effect's account by the muxed address under which the operation named it, if
 *  it did. */
function withMuxed(effect: Effect, source: Party, counterparty: Party | null): Effect {
  // A seller is known by the account alone.
  const others = effect.type === 'trade' ? [] : [counterparty];
  const candidates = effect.type === 'account_credited' ? [...others, source] : [source, ...others];
  const party = candidates.find((candidate) => candidate?.id === effect.account);
  if (!party?.muxed) return effect;
  const { type, type_i, account, ...details } = effect;
  return { type, type_i, ...partyFields('account', party), account, ...details };
}

/** A fee bump's record as Horizon shows it under the inner transaction's hash. */
export function asInner(record: Record<string, unknown>): Record<string, unknown> {
  const inner = record.inner_transaction as { hash: string; signatures: string[] };
  return { ...record, id: inner.hash, hash: inner.hash, signatures: inner.signatures };
}

function preconditionFields(conditions: Preconditions): Record<string, unknown> {
  const { time, ledgers, minimumSequence, minimumSequenceAge, minimumSequenceLedgerGap, extraSigners } = conditions;
  const fields = {
    ...(time && {
      timebounds: {
        min_time: time.min.toString(),
        ...(time.max === 0n ? {} : { max_time: time.max.toString() }),
      },
    }),
    ...(ledgers && {
      ledgerbounds: {
        min_ledger: Number(ledgers.min),
        ...(ledgers.max === 0n ? {} : { max_ledger: Number(ledgers.max) }),
      },
    }),
    ...(minimumSequence !== null && { min_account_sequence: minimumSequence.toString() }),
    ...(minimumSequenceAge !== 0n && { min_account_sequence_age: minimumSequenceAge.toString() }),
    ...(minimumSequenceLedgerGap !== 0 && { min_account_sequence_ledger_gap: minimumSequenceLedgerGap }),
    ...(extraSigners.length !== 0 && { extra_signers: extraSigners.map(signerAddress) }),
  };
  return Object.keys(fields).length === 0 ? {} : { preconditions: fields };
}

function signerAddress(key: xdr.SignerKey): string {
  switch (key.type) {
    case 'signerKeyTypeEd25519':
      return StrKey.encodeEd25519PublicKey(key.ed25519.value);
    case 'signerKeyTypeHashX':
      return StrKey.encodeSha256Hash(key.hashX.value);
    case 'signerKeyTypePreAuthTx':
      return StrKey.encodePreAuthTx(key.preAuthTx.value);
    default:
      return StrKey.encodeSignedPayload(key.ed25519SignedPayload.toXdr());
  }
}
