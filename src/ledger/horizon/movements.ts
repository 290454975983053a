/** Movements of Horizon's payment records, by type of operation: the table of all ways in which
 *  money comes to an account, or from an account to a contract. */
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { accountOf, type Muxed } from '../../domain/strkey.js';
import { contractOf } from '../records.js';
import { account, amount, asset, type FieldFault, faultOf, holder, muxedAddress, uint64 } from './fields.js';

export interface Movement {
  /** The index of a Soroban operation's balance change; 0 for other operations. */
  changeIndex: number;
  /** G…, or C… if an account paid a contract. */
  receiver: string;
  /** G… or another holder's address. */
  sender: string;
  asset: Asset;
  /** Stroops, perhaps 0. Null for account_merge, whose record has no amount. */
  amount: bigint | null;
  /** Decimal text of an unsigned 64-bit integer; null when the destination is not muxed. */
  destinationMuxedId: string | null;
  /** M…; null when the sender is not muxed. */
  senderMuxedAddress: string | null;
}

/** An unreadable balance change. */
interface ChangeFault {
  changeIndex: number;
  fault: FieldFault['fault'] | 'unknown_type';
  reason: string;
  /** Accounts that it may have paid; null when unknown. */
  receivers: readonly string[] | null;
}

interface Movements {
  movements: Movement[];
  faults: ChangeFault[];
}

type Fields = Record<string, unknown>;

interface OperationType {
  read(fields: Fields): Movements | FieldFault;
  /** Accounts that a record with broken fields may have paid; null when unknown. */
  receivers(fields: Fields): readonly string[] | null;
}

const transferSchema = z.object({
  from: account,
  to: account,
  amount,
  from_muxed: muxedAddress,
  to_muxed: muxedAddress,
});
const creationSchema = z.object({ funder: account, account, starting_balance: amount, funder_muxed: muxedAddress });
const mergeSchema = z.object({ account, into: account, account_muxed: muxedAddress, into_muxed: muxedAddress });
const hostFunctionSchema = z.object({ asset_balance_changes: z.array(z.unknown()).nullable() });

const namedIn =
  (field: string) =>
  (fields: Fields): readonly string[] | null => {
    const text = fields[field];
    const receiver = typeof text === 'string' ? accountOf(text) : null;
    return receiver === null ? null : [receiver];
  };

const one = (movement: Omit<Movement, 'changeIndex'>): Movements => ({
  movements: [{ ...movement, changeIndex: 0 }],
  faults: [],
});

const transfer: OperationType = {
  receivers: namedIn('to'),
  read(fields) {
    const parsed = transferSchema.safeParse(fields);
    const what = asset.safeParse(fields);
    if (!parsed.success) return faultOf(parsed.error);
    if (!what.success) return faultOf(what.error);
    const { from, to, amount, from_muxed, to_muxed } = parsed.data;
    return one({ receiver: to, sender: from, asset: what.data, amount, ...muxedParts(to, to_muxed, from, from_muxed) });
  },
};

const creation: OperationType = {
  receivers: namedIn('account'),
  read(fields) {
    const { data, error } = creationSchema.safeParse(fields);
    if (error) return faultOf(error);
    const { account: receiver, funder: sender, starting_balance, funder_muxed } = data;
    const muxed = muxedParts(receiver, undefined, sender, funder_muxed);
    return one({ receiver, sender, asset: NATIVE, amount: starting_balance, ...muxed });
  },
};

const merge: OperationType = {
  receivers: namedIn('into'),
  read(fields) {
    const { data, error } = mergeSchema.safeParse(fields);
    if (error) return faultOf(error);
    const { into: receiver, account: sender, into_muxed, account_muxed } = data;
    return one({
      receiver,
      sender,
      asset: NATIVE,
      amount: null,
      ...muxedParts(receiver, into_muxed, sender, account_muxed),
    });
  },
};

const hostFunction: OperationType = {
  receivers({ asset_balance_changes: changes }) {
    return Array.isArray(changes) || changes === null ? accountsNamedBy(changes) : null;
  },
  read(fields) {
    const { data, error } = hostFunctionSchema.safeParse(fields);
    if (error) return faultOf(error);
    const all: Movements = { movements: [], faults: [] };
    for (const [changeIndex, raw] of (data.asset_balance_changes ?? []).entries()) {
      const read = readChange(raw);
      if (read === null) continue;
      if ('fault' in read) all.faults.push({ ...read, changeIndex });
      else all.movements.push({ ...read, changeIndex });
    }
    return all;
  },
};

const changeTypeSchema = z.object({ type: z.string() });
const receiverSchema = z.object({ to: holder });
const sentSchema = z.object({
  type: z.literal('transfer'),
  from: holder,
  amount,
  destination_muxed_id: uint64.optional(),
});
const burntSchema = z.object({ type: z.literal('burn'), from: holder, amount });
const senderSchema = z.object({ from: z.string() });
const amountSchema = z.object({ amount });
const mintedSchema = z.object({ type: z.literal('mint'), amount, destination_muxed_id: uint64.optional() });

/** One entry of `asset_balance_changes`; null when it neither credits an account nor moves money
 *  from an account to a contract. */
function readChange(raw: unknown): Change | null {
  const kind = changeTypeSchema.safeParse(raw);
  if (!kind.success) return { ...faultOf(kind.error), receivers: null };
  const { type } = kind.data;
  if (type === 'clawback') return null;
  if (type === 'burn') return readBurn(raw);

  const whom = receiverSchema.safeParse(raw);
  if (!whom.success) return { ...faultOf(whom.error), receivers: null };
  const receiver = accountOf(whom.data.to);
  if (receiver === null) return readChangeToContract(whom.data.to, type, raw);
  if (type !== 'transfer' && type !== 'mint') {
    return { fault: 'unknown_type', reason: 'is a balance change of an unknown type', receivers: [receiver] };
  }

  const what = asset.safeParse(raw);
  if (!what.success) return { ...faultOf(what.error), receivers: [receiver] };
  if (type === 'mint') {
    const { data, error } = mintedSchema.safeParse(raw);
    if (error) return { ...faultOf(error), receivers: [receiver] };
    const { issuer } = what.data;
    if (issuer === null) return { fault: 'malformed', reason: 'mints the native asset', receivers: [receiver] };
    return { receiver, sender: issuer, asset: what.data, amount: data.amount, ...contractMuxed(data) };
  }
  const { data, error } = sentSchema.safeParse(raw);
  if (error) return { ...faultOf(error), receivers: [receiver] };
  return { receiver, sender: data.from, asset: what.data, amount: data.amount, ...contractMuxed(data) };
}

/** Money from an account to a contract, perhaps a refund. A contract's holdings may exceed int64,
 *  but an account cannot have been paid such an amount. */
function readChangeToContract(to: string, type: string, raw: unknown): Change | null {
  const receiver = contractOf(to);
  if (receiver === null || (type !== 'transfer' && type !== 'mint')) return null;
  const what = asset.safeParse(raw);
  const sender =
    type === 'mint' ? (what.data?.issuer ?? null) : accountOf(senderSchema.safeParse(raw).data?.from ?? '');
  if (sender === null) return null;
  if (!what.success) return { ...faultOf(what.error), receivers: [sender] };
  const { data, error } = amountSchema.safeParse(raw);
  if (data) return { receiver, sender, asset: what.data, amount: data.amount, ...contractMuxed({}) };
  const fault = faultOf(error);
  return fault.fault === 'out_of_range' ? null : { ...fault, receivers: [sender] };
}

type Change = Omit<Movement, 'changeIndex'> | Omit<ChangeFault, 'changeIndex'>;

/** A transfer to the asset's issuer shows as a burn without a receiver: the issuer was paid. */
function readBurn(raw: unknown): Change | null {
  const what = asset.safeParse(raw);
  if (!what.success) return { ...faultOf(what.error), receivers: namedIn('asset_issuer')(raw as Fields) };
  const { issuer } = what.data;
  // The native asset has no issuer to be paid.
  if (issuer === null) return null;
  const { data, error } = burntSchema.safeParse(raw);
  if (error) return { ...faultOf(error), receivers: [issuer] };
  return { receiver: issuer, sender: data.from, asset: what.data, amount: data.amount, ...contractMuxed({}) };
}

type MuxedParts = Pick<Movement, 'destinationMuxedId' | 'senderMuxedAddress'>;

/** A contract's transfer names the id of a muxed destination; its sender is never muxed. */
const contractMuxed = ({ destination_muxed_id: id }: { destination_muxed_id?: string | undefined }): MuxedParts => ({
  destinationMuxedId: id ?? null,
  senderMuxedAddress: null,
});

/** The id comes from the M… address, because Horizon omits `to_muxed_id` when it is 0. An M…
 *  address of another account is ignored. */
function muxedParts(
  receiver: string,
  receiverMuxed: Muxed | undefined,
  sender: string,
  senderMuxed: Muxed | undefined,
): MuxedParts {
  return {
    destinationMuxedId: receiverMuxed?.account === receiver ? receiverMuxed.id : null,
    senderMuxedAddress: senderMuxed?.account === sender ? senderMuxed.address : null,
  };
}

const OPERATION_TYPES: ReadonlyMap<string, OperationType> = new Map([
  ['payment', transfer],
  ['path_payment_strict_receive', transfer],
  ['path_payment_strict_send', transfer],
  // The name of path_payment_strict_receive before Horizon 1.0.
  ['path_payment', transfer],
  ['create_account', creation],
  ['account_merge', merge],
  ['invoke_host_function', hostFunction],
]);

/** Null for an unknown type. */
export const readMovements = (type: string, fields: Fields): Movements | FieldFault | null =>
  OPERATION_TYPES.get(type)?.read(fields) ?? null;

/** Accounts that an unreadable record may have paid; for an unknown type all accounts that it
 *  names. Null when unknown. */
export function possibleReceivers(fields: Fields): readonly string[] | null {
  const type = typeof fields.type === 'string' ? OPERATION_TYPES.get(fields.type) : undefined;
  if (type) return type.receivers(fields);
  const { transaction: _transaction, _links, ...own } = fields;
  const named = accountsNamedBy(own);
  return named.length === 0 ? null : named;
}

const MAX_DEPTH = 4;

function accountsNamedBy(value: unknown, depth = MAX_DEPTH): string[] {
  if (typeof value === 'string') return [accountOf(value)].filter((each) => each !== null);
  if (depth === 0 || typeof value !== 'object' || value === null) return [];
  return [...new Set(Object.values(value).flatMap((each) => accountsNamedBy(each, depth - 1)))];
}
