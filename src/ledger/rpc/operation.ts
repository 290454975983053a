/** One operation of a transaction, from envelope, result and events: the record that Horizon would show of it, so that one code judges both. Only
 *  ScVal, envelope and result are decoded: they hardly change with the protocol. */
import type { xdr } from '@stellar/stellar-sdk/minimal';
import { z } from 'zod';
import { StrKey } from '../../domain/stellar-sdk.js';
import { hash, toid } from '../horizon/fields.js';
import { parseRecord } from '../horizon/record.js';
import type { RecordOutcome } from '../records.js';
import { operationOrderOf } from '../toid.js';
import { type BalanceChangeEvent, changeOf, readBalanceChange } from './balance-change.js';
import { type DecodedTransaction, decodeLazily } from './envelope.js';
import { addressOf, type Fields, memoFields, party, toAmount, transferFields } from './horizon-form.js';
import { type ContractIdOf, receiverOf } from './token-event.js';

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

/** Nothing that it holds makes the parser throw.
 *  @param decoded of its transaction, where several operations of it are parsed */
export function parseOperation(raw: unknown, contractIdOf: ContractIdOf, decoded?: DecodedTransaction): RecordOutcome {
  const { data } = operationSchema.safeParse(raw);
  if (!data) return parked(Object(raw), 'is no operation of Stellar RPC', null);
  const operation = raw as RpcOperation;
  const events = data.eventsXdr.map((event) => readBalanceChange(event, contractIdOf));
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
  events: readonly (BalanceChangeEvent | null)[],
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
  events: readonly (BalanceChangeEvent | null)[],
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
