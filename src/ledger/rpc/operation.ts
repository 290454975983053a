/** One operation of a transaction, from envelope, result and events: the record that Horizon would show of it, so that one code judges both. Only
 *  ScVal, envelope and result are decoded: they hardly change with the protocol. */
import { isUtf8 } from 'node:buffer';
import type { xdr } from '@stellar/stellar-sdk/minimal';
import { z } from 'zod';
import type { Asset } from '../../domain/asset.js';
import { StrKey, sdk } from '../../domain/stellar-sdk.js';
import { accountOf } from '../address.js';
import { hash, toid } from '../horizon/fields.js';
import { parseRecord } from '../horizon/record.js';
import { operationResultsIn } from '../operation-results.js';
import type { RecordOutcome } from '../records.js';
import { operationOrderOf } from '../toid.js';
import { type ContractIdOf, readTokenEvent, receiverOf, type TokenEvent } from './token-event.js';

/** What is kept of a transaction for one of its operations: all that judging needs, as the server gave it. */
export interface RpcOperation {
  /** Horizon's id. */
  operationId: string;
  transactionHash: string;
  /** ISO 8601. */
  closedAt: string;
  envelopeXdr: string;
  resultXdr: string;
  /** ContractEvents of this operation. */
  eventsXdr: string[];
}

const operationSchema = z.object({
  operationId: toid,
  transactionHash: hash,
  closedAt: z.iso.datetime(),
  envelopeXdr: z.string(),
  resultXdr: z.string(),
  eventsXdr: z.array(z.string()),
});

/** Whether a raw record came from Stellar RPC. */
export const isRpcOperation = (raw: unknown): boolean =>
  typeof raw === 'object' && raw !== null && 'envelopeXdr' in raw;

type Fields = Record<string, unknown>;

/** Envelope and result of a transaction, which its operations share: each is decoded once, when it is first asked for. Both throw where they cannot be
 *  decoded. */
export interface DecodedTransaction {
  envelope(): TransactionParts;
  /** A result for each operation. */
  results(): xdr.OperationResult[];
}

export function decodeLazily({
  envelopeXdr,
  resultXdr,
}: Pick<RpcOperation, 'envelopeXdr' | 'resultXdr'>): DecodedTransaction {
  let envelope: TransactionParts | undefined;
  let results: xdr.OperationResult[] | undefined;
  return {
    envelope: () => (envelope ??= transactionIn(sdk().xdr.TransactionEnvelope.fromXDR(envelopeXdr, 'base64'))),
    results: () => (results ??= operationResultsIn(resultXdr)),
  };
}

/** Nothing that it holds makes the parser throw.
 *  @param decoded of its transaction, where several operations of it are parsed */
export function parseOperation(raw: unknown, contractIdOf: ContractIdOf, decoded?: DecodedTransaction): RecordOutcome {
  const { data } = operationSchema.safeParse(raw);
  if (!data) return parked(Object(raw), 'is no operation of Stellar RPC', null);
  const operation = raw as RpcOperation;
  const events = data.eventsXdr.map((event) => readContractEvent(event, contractIdOf));
  let fields: Fields | null;
  try {
    const index = operationOrderOf(data.operationId) - 1;
    fields = toFields(operation, decoded ?? decodeLazily(operation), index, events);
  } catch {
    const receivers = events.flatMap((each) => (each ? (receiverOf(each.event) ?? []) : []));
    return parked(operation, 'envelope or result cannot be decoded', receivers.length > 0 ? receivers : null);
  }
  // Trades, claims and the like move money and are no payments.
  if (fields === null) return { kind: 'ignored', reason: 'no_account_credited', pagingToken: operation.operationId };
  return parseRecord({
    id: operation.operationId,
    paging_token: operation.operationId,
    transaction_hash: operation.transactionHash,
    transaction_successful: true,
    created_at: operation.closedAt,
    ...fields,
  });
}

const parked = (
  { operationId, transactionHash }: Partial<RpcOperation>,
  reason: string,
  receivers: readonly string[] | null,
): RecordOutcome => ({
  kind: 'parked',
  operationId: operationId ?? null,
  pagingToken: operationId ?? null,
  transactionHash: transactionHash ?? null,
  fault: 'malformed',
  reason,
  receivers,
});

/** Horizon's fields of the operation and its transaction; null for a kind of operation that pays nobody. */
function toFields(
  operation: RpcOperation,
  decoded: DecodedTransaction,
  index: number,
  events: readonly (ContractEvent | null)[],
): Fields | null {
  const { source, memo, operations } = decoded.envelope();
  const found = operations[index];
  if (!found) throw new RangeError('the transaction has no such operation');
  const ownSource = found.sourceAccount();
  const by = ownSource ? addressOf(ownSource) : source;
  const moved = operationFields(found.body(), by, () => decoded.results()[index]!.tr(), events);
  if (moved === null) return null;
  return {
    ...moved,
    transaction: {
      hash: operation.transactionHash,
      successful: true,
      result_xdr: operation.resultXdr,
      ...memoFields(memo),
    },
  };
}

function operationFields(
  body: xdr.OperationBody,
  source: string,
  result: () => xdr.OperationResultTr,
  events: readonly (ContractEvent | null)[],
): Fields | null {
  switch (body.switch().name) {
    case 'payment': {
      const payment = body.paymentOp();
      return { type: 'payment', ...transferFields(source, payment.destination(), payment.asset(), payment.amount()) };
    }
    case 'pathPaymentStrictReceive': {
      const path = body.pathPaymentStrictReceiveOp();
      const moved = transferFields(source, path.destination(), path.destAsset(), path.destAmount());
      return { type: 'path_payment_strict_receive', ...moved };
    }
    case 'pathPaymentStrictSend': {
      const path = body.pathPaymentStrictSendOp();
      const amount = result().pathPaymentStrictSendResult().success().last().amount();
      return {
        type: 'path_payment_strict_send',
        ...transferFields(source, path.destination(), path.destAsset(), amount),
      };
    }
    case 'createAccount': {
      const creation = body.createAccountOp();
      return {
        type: 'create_account',
        ...party('funder', source),
        account: StrKey.encodeEd25519PublicKey(creation.destination().ed25519()),
        starting_balance: toAmount(BigInt(creation.startingBalance().toString())),
      };
    }
    case 'accountMerge':
      return {
        type: 'account_merge',
        ...party('account', source),
        ...party('into', addressOf(body.destination())),
      };
    case 'invokeHostFunction':
      return { type: 'invoke_host_function', asset_balance_changes: events.flatMap((each) => changeOf(each) ?? []) };
    default:
      return null;
  }
}

interface TransactionParts {
  /** G…, or M… where it is muxed. */
  source: string;
  memo: xdr.Memo;
  operations: xdr.Operation[];
}

function transactionIn(envelope: xdr.TransactionEnvelope): TransactionParts {
  switch (envelope.switch().name) {
    case 'envelopeTypeTxV0': {
      const tx = envelope.v0().tx();
      return {
        source: StrKey.encodeEd25519PublicKey(tx.sourceAccountEd25519()),
        memo: tx.memo(),
        operations: tx.operations(),
      };
    }
    case 'envelopeTypeTxFeeBump':
      return partsOf(envelope.feeBump().tx().innerTx().v1().tx());
    default:
      return partsOf(envelope.v1().tx());
  }
}

/** G…, or M… where it is muxed. */
const addressOf = (account: xdr.MuxedAccount): string => sdk().encodeMuxedAccountToAddress(account, true);

const partsOf = (tx: xdr.Transaction): TransactionParts => ({
  source: addressOf(tx.sourceAccount()),
  memo: tx.memo(),
  operations: tx.operations(),
});

/** An address under Horizon's name of the field, and the muxed address beside it where there is one. */
function party(field: string, address: string): Fields {
  const account = accountOf(address);
  return { [field]: account, ...(account === address ? {} : { [`${field}_muxed`]: address }) };
}

const transferFields = (from: string, to: xdr.MuxedAccount, asset: xdr.Asset, amount: xdr.Int64): Fields => ({
  ...party('from', from),
  ...party('to', addressOf(to)),
  ...assetFields(fromXdr(asset)),
  amount: toAmount(BigInt(amount.toString())),
});

function fromXdr(asset: xdr.Asset): Asset {
  const { code, issuer } = sdk().Asset.fromOperation(asset);
  return { code, issuer: issuer ?? null };
}

const assetFields = ({ code, issuer }: Asset): Fields =>
  issuer === null
    ? { asset_type: 'native' }
    : {
        asset_type: code.length > 4 ? 'credit_alphanum12' : 'credit_alphanum4',
        asset_code: code,
        asset_issuer: issuer,
      };

/** Seven decimals, as Horizon writes it; what a contract moves may be more than the ledger can hold. */
function toAmount(stroops: bigint): string {
  const digits = (stroops < 0n ? -stroops : stroops).toString().padStart(8, '0');
  return `${stroops < 0n ? '-' : ''}${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

function memoFields(memo: xdr.Memo): Fields {
  switch (memo.switch().name) {
    case 'memoNone':
      return { memo_type: 'none' };
    case 'memoText': {
      const bytes = Buffer.from(memo.text());
      return { memo_type: 'text', memo: textAsShown(bytes), memo_bytes: bytes.toString('base64') };
    }
    case 'memoId':
      return { memo_type: 'id', memo: memo.id().toString() };
    case 'memoHash':
      return { memo_type: 'hash', memo: memo.hash().toString('base64') };
    default:
      return { memo_type: 'return', memo: memo.retHash().toString('base64') };
  }
}

/** As Horizon shows a text memo: U+FFFD for each byte that is no UTF-8, and no NUL. */
export function textAsShown(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)));
    text += size ? bytes.toString('utf8', at, at + size) : '\u{FFFD}';
    at += size ?? 1;
  }
  return text.replaceAll('\0', '');
}

interface ContractEvent {
  event: TokenEvent;
  value: xdr.ScVal;
}

/** Null for anything but an event of an asset's own contract. */
function readContractEvent(base64: string, contractIdOf: ContractIdOf): ContractEvent | null {
  try {
    const told = sdk().xdr.ContractEvent.fromXDR(base64, 'base64');
    const id = told.contractId();
    if (told.type().name !== 'contract' || !id) return null;
    const body = told.body().v0();
    const contract = StrKey.encodeContract(id as unknown as Buffer);
    const event = readTokenEvent(contract, body.topics(), contractIdOf);
    return event && { event, value: body.data() };
  } catch {
    return null;
  }
}

/** An entry of Horizon's `asset_balance_changes`. */
function changeOf(told: ContractEvent | null): Fields | null {
  if (!told) return null;
  const { type, from, to, asset } = told.event;
  return {
    ...assetFields(asset),
    type,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    ...movedBy(told.value),
  };
}

/** The amount alone, or a map with the id of a muxed destination. Without an amount the change is set aside as malformed. */
function movedBy(value: xdr.ScVal): Fields {
  try {
    if (value.switch().name !== 'scvMap') return { amount: toAmount(sdk().scValToBigInt(value)) };
    const entries = new Map((value.map() ?? []).map((entry) => [entry.key().sym().toString(), entry.val()]));
    const muxedId = entries.get('to_muxed_id');
    return {
      amount: toAmount(sdk().scValToBigInt(entries.get('amount')!)),
      ...(muxedId?.switch().name === 'scvU64' ? { destination_muxed_id: muxedId.u64().toString() } : {}),
    };
  } catch {
    return {};
  }
}
