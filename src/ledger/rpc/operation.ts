/** Turns one operation of a transaction into Horizon's record of it, so that one parser judges
 *  both. It reads envelope, result and events; what the SDK cannot decode is read from the server's
 *  JSON, or else from the events alone. */
import { z } from 'zod';
import { hash, toid } from '../horizon/fields.js';
import { parseRecord } from '../horizon/record.js';
import { operationOrderOf, type RecordOutcome } from '../records.js';
import { type ContractIdOf, readTokenEvent, receiverOf, type TokenEvent } from './token-event.js';
import { type DecodedTransaction, decodeLazily, type TransactionParts } from './transaction.js';
import {
  armOf,
  assetFields,
  eventAsJson,
  type Fields,
  inArm,
  integer,
  integer128,
  memoOfEvent,
  party,
  toAmount,
  transferFields,
} from './xdr-json.js';

// Turns events of asset contracts into entries of Horizon's `asset_balance_changes`, in
// Horizon's order.

/** An event of an asset's own contract. */
interface BalanceChangeEvent {
  event: TokenEvent;
  /** Stroops; null if unreadable. */
  amount: bigint | null;
  /** The value of `to_muxed_id`: an ScVal as JSON. */
  toMuxedId: unknown;
}

const contractEventSchema = z.object({
  contract_id: z.string().nullish(),
  // Older servers keep the escape of Rust's keyword.
  type: z.string().optional(),
  type_: z.string().optional(),
  body: z.object({ v0: z.object({ topics: z.array(z.unknown()), data: z.unknown() }) }),
});

/** Null for an event that is not of an asset's own contract; `unreadable` when neither the XDR nor
 *  the server's JSON can be read. */
function readBalanceChange(
  base64: string,
  json: unknown,
  contractIdOf: ContractIdOf,
): BalanceChangeEvent | 'unreadable' | null {
  const { data } = contractEventSchema.safeParse(eventAsJson(base64) ?? json);
  if (!data) return 'unreadable';
  if ((data.type ?? data.type_) !== 'contract') return null;
  const { topics, data: value } = data.body.v0;
  const event = readTokenEvent(data.contract_id ?? null, topics, contractIdOf);
  return event && { event, ...movedBy(value) };
}

const entriesSchema = z.array(z.object({ key: z.unknown(), val: z.unknown() }));

/** Reads the amount, which stands alone or in a map with the muxed id. */
function movedBy(value: unknown): Pick<BalanceChangeEvent, 'amount' | 'toMuxedId'> {
  const entries = entriesSchema.safeParse(inArm(value, 'map')).data ?? [];
  const byKey = new Map(entries.map(({ key, val }) => [inArm(key, 'symbol'), val]));
  const amount = integer128.safeParse(inArm(byKey.get('amount') ?? value, 'i128')).data ?? null;
  return { amount, toMuxedId: byKey.get('to_muxed_id') };
}

/** An entry of Horizon's `asset_balance_changes`. Without an amount it will be parked
 *  as malformed. */
function changeOf({ event, amount, toMuxedId }: BalanceChangeEvent): Fields {
  const { type, from, to, asset } = event;
  const muxedId = integer.safeParse(inArm(toMuxedId, 'u64')).data;
  return {
    ...assetFields(asset),
    type,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    ...(amount === null ? {} : { amount: toAmount(amount) }),
    ...(muxedId === undefined ? {} : { destination_muxed_id: muxedId.toString() }),
  };
}

/** What is kept of a transaction for one of its operations: everything that parsing needs, as the
 *  server gave it. */
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
  /** The same as XDR in JSON, decoded by the server, if the SDK cannot decode it. */
  json?: OperationJson | undefined;
}

interface OperationJson {
  envelope?: unknown;
  result?: unknown;
  events?: unknown[] | undefined;
}

const operationSchema = z.object({
  operationId: toid,
  transactionHash: hash,
  closedAt: z.iso.datetime(),
  envelopeXdr: z.string(),
  resultXdr: z.string(),
  eventsXdr: z.array(z.string()),
  json: z
    .object({
      envelope: z.unknown().optional(),
      result: z.unknown().optional(),
      events: z.array(z.unknown()).optional(),
    })
    .optional()
    .catch(undefined),
});

/** Whether a raw record came from Stellar RPC. */
export const isRpcOperation = (raw: unknown): boolean =>
  typeof raw === 'object' && raw !== null && 'envelopeXdr' in raw;

/** Events of an operation; null for those that move nothing. */
type Told = readonly (BalanceChangeEvent | 'unreadable' | null)[];

const toldBy = ({ eventsXdr, json }: Pick<RpcOperation, 'eventsXdr' | 'json'>, contractIdOf: ContractIdOf): Told =>
  eventsXdr.map((event, index) => readBalanceChange(event, json?.events?.[index], contractIdOf));

/** Whether the SDK can decode every part of the operation. */
export function isReadable(
  operation: Pick<RpcOperation, 'eventsXdr'>,
  decoded: DecodedTransaction,
  contractIdOf: ContractIdOf,
): boolean {
  try {
    decoded.envelope();
    decoded.results();
  } catch {
    return false;
  }
  return !toldBy(operation, contractIdOf).includes('unreadable');
}

/** No content makes it throw.
 *  @param decoded the transaction, if several of its operations are parsed */
export function parseOperation(raw: unknown, contractIdOf: ContractIdOf, decoded?: DecodedTransaction): RecordOutcome {
  const { data } = operationSchema.safeParse(raw);
  if (!data) return parked(Object(raw), 'is not an operation of Stellar RPC', null);
  const told = toldBy(data, contractIdOf);
  const known = told.flatMap((each) => (each && each !== 'unreadable' ? [each] : []));
  const receivers = known.flatMap(({ event }) => receiverOf(event) ?? []);
  const index = operationOrderOf(data.operationId) - 1;
  const parts = decoded ?? decodeLazily(data);
  let fields: Fields | null;
  try {
    fields = toFields(data, parts, index, told);
  } catch {
    return parked(raw as RpcOperation, 'cannot be decoded', receivers.length > 0 ? receivers : null);
  }
  const operationId = data.operationId.toString();
  // Trades, claims and the like move money but are not payments.
  if (fields === null) return { kind: 'ignored', reason: 'no_account_credited', pagingToken: operationId };
  const record = {
    id: operationId,
    paging_token: operationId,
    transaction_hash: data.transactionHash,
    transaction_successful: true,
    created_at: data.closedAt,
    ...fields,
  };
  if (fields.type !== 'account_merge') return parseRecord(record);
  const merged = mergedBy(readOr(() => parts.results()[index]));
  const credited = merged === null ? creditsIn(known) : [{ to: String(fields.into), amount: merged }];
  return parseRecord(record, { effects: effectsOf(credited) });
}

/** Stroops that a merge moved; null when the result does not tell. */
const mergedBy = (result: unknown): bigint | null =>
  integer.safeParse(inArm(inArm(inArm(result, 'op_inner'), 'account_merge'), 'success')).data ?? null;

const creditsIn = (changes: readonly BalanceChangeEvent[]) =>
  changes.flatMap(({ event: { to, asset }, amount }) =>
    asset.issuer === null && to !== null && amount !== null ? [{ to, amount }] : [],
  );

/** Horizon's effects of a merge, for a result that cannot be decoded. */
const effectsOf = (credited: readonly { to: string; amount: bigint }[]): unknown => ({
  _embedded: {
    records: credited.map(({ to, amount }) => ({
      ...{ type: 'account_credited', asset_type: 'native', account: to, amount: toAmount(amount) },
    })),
  },
});

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

/** Horizon's fields of the operation and its transaction; null for a kind of operation that pays no
 *  account. @throws when neither envelope nor events tell them */
function toFields(
  operation: Pick<RpcOperation, 'transactionHash' | 'resultXdr'>,
  decoded: DecodedTransaction,
  index: number,
  told: Told,
): Fields | null {
  const parts = readOr(() => decoded.envelope());
  const moved = parts
    ? byEnvelope(parts, index, () => decoded.results()[index], told)
    : byEvents(kindIn(decoded, index), told);
  if (moved === null) return null;
  const { memo, ...fields } = moved;
  return {
    ...fields,
    transaction: {
      hash: operation.transactionHash,
      successful: true,
      result_xdr: operation.resultXdr,
      ...memo,
    },
  };
}

type Moved = Fields & { memo: Fields };

function readOr<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The kind of operation in the result; null if unreadable. */
const kindIn = (decoded: DecodedTransaction, index: number): string | null =>
  armOf(
    inArm(
      readOr(() => decoded.results()[index]),
      'op_inner',
    ),
  )?.name ?? null;

/** What the events alone tell. Only in a contract call do they count as Horizon counts; elsewhere a
 *  single event is the payment, and several cannot be told apart. */
function byEvents(kind: string | null, told: Told): Moved {
  const changes = changesIn(told);
  const [change] = changes;
  if (kind !== HOST_FUNCTION && changes.length !== 1) throw new TypeError('cannot be read from its events');
  return { ...hostFunction(changes), memo: memoOfEvent(change?.toMuxedId) };
}

/** @throws for an unreadable event, which would shift the index of those after it */
function changesIn(told: Told): BalanceChangeEvent[] {
  return told.flatMap((each) => {
    if (each === 'unreadable') throw new TypeError('an event that cannot be read');
    return each ?? [];
  });
}

const HOST_FUNCTION = 'invoke_host_function';

const hostFunction = (changes: readonly BalanceChangeEvent[]): Fields => ({
  type: HOST_FUNCTION,
  asset_balance_changes: changes.map(changeOf),
});

function byEnvelope(
  { source, memo, operations }: TransactionParts,
  index: number,
  result: () => unknown,
  told: Told,
): Moved | null {
  const found = operations[index];
  if (!found) throw new RangeError('the transaction has no such operation');
  const moved = operationFields(found.body, found.source ?? source, result, told);
  return moved && { ...moved, memo };
}

const paymentSchema = z.object({ destination: z.string(), asset: z.unknown(), amount: integer });
const receiveSchema = z.object({ destination: z.string(), dest_asset: z.unknown(), dest_amount: integer });
const sendSchema = receiveSchema.omit({ dest_amount: true });
const creationSchema = z.object({ destination: z.string(), starting_balance: integer });
const mergeSchema = z.string();

/** Kinds of operations that pay no account. */
const PAY_NOBODY = new Set([
  'manage_sell_offer',
  'create_passive_sell_offer',
  'manage_buy_offer',
  'set_options',
  'change_trust',
  'allow_trust',
  'set_trust_line_flags',
  'inflation',
  'manage_data',
  'bump_sequence',
  'create_claimable_balance',
  'claim_claimable_balance',
  'begin_sponsoring_future_reserves',
  'end_sponsoring_future_reserves',
  'revoke_sponsorship',
  'clawback',
  'clawback_claimable_balance',
  'liquidity_pool_deposit',
  'liquidity_pool_withdraw',
  'extend_footprint_ttl',
  'restore_footprint',
]);

function operationFields(body: unknown, source: string, result: () => unknown, told: Told): Fields | null {
  const arm = armOf(body);
  switch (arm?.name) {
    case 'payment': {
      const { destination, asset, amount } = paymentSchema.parse(arm.value);
      return { type: 'payment', ...transferFields(source, destination, asset, amount) };
    }
    case 'path_payment_strict_receive': {
      const { destination, dest_asset, dest_amount } = receiveSchema.parse(arm.value);
      return { type: arm.name, ...transferFields(source, destination, dest_asset, dest_amount) };
    }
    case 'path_payment_strict_send': {
      const { destination, dest_asset } = sendSchema.parse(arm.value);
      return { type: arm.name, ...transferFields(source, destination, dest_asset, arrivedBy(result())) };
    }
    case 'create_account': {
      const { destination: account, starting_balance } = creationSchema.parse(arm.value);
      return {
        type: 'create_account',
        ...party('funder', source),
        account,
        starting_balance: toAmount(starting_balance),
      };
    }
    case 'account_merge':
      return { type: 'account_merge', ...party('account', source), ...party('into', mergeSchema.parse(arm.value)) };
    default:
      // An unknown kind shows its movements by its events, as a contract call does.
      return arm && PAY_NOBODY.has(arm.name) ? null : hostFunction(changesIn(told));
  }
}

const arrivedSchema = z.object({ last: z.object({ amount: integer }) });

/** The amount that a path payment with a fixed sent amount delivered. @throws for any
 *  other result */
function arrivedBy(result: unknown): bigint {
  const outcome = inArm(inArm(result, 'op_inner'), 'path_payment_strict_send');
  return arrivedSchema.parse(inArm(outcome, 'success')).last.amount;
}
