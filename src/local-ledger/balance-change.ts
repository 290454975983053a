/** Balance changes of a contract call: turns Horizon's `asset_balance_changes` of a made-up record
 *  into events, effects and balances. */
import { StrKey } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import type { LedgerMoment } from './apply.js';
import { assetFields, type LedgerAsset } from './asset.js';
import { type AccountEntry, accountKey, type TrustlineEntry, trustlineKey, type View } from './entries.js';
import { muxedContract, parseMuxedContract } from './muxed-contract.js';
import { newAccount } from './operations/create-account.js';
import { type Effect, effects } from './operations/kind.js';
import { type ContractIdOf, contractEvent, type EventBody } from './rpc/events.js';
import { BASE_RESERVE, MAX_UINT64, toAmount } from './stroops.js';

const address = z.string().refine((text) => isAccount(text) || StrKey.isValidContract(text));
const destination = z.union([address, z.string().refine((text) => parseMuxedContract(text) !== null)]);
const code = z.string().regex(/^[A-Za-z0-9]{1,12}$/);
const change = z.object({
  asset_type: z.enum(['native', 'credit_alphanum4', 'credit_alphanum12']),
  asset_code: code.optional(),
  asset_issuer: z.string().refine(isAccount).optional(),
  type: z.enum(['transfer', 'mint', 'burn', 'clawback']),
  from: address.optional(),
  to: destination.optional(),
  amount: z.string().regex(/^\d{1,32}(\.\d{1,7})?$/),
  destination_muxed_id: z
    .string()
    .regex(/^\d{1,20}$/)
    .refine((id) => BigInt(id) <= MAX_UINT64)
    .optional(),
});

/** Stroops: the reserve of an account itself. */
const LEAST_TO_CREATE = 2n * BASE_RESERVE;

export interface BalanceChange {
  type: 'transfer' | 'mint' | 'burn' | 'clawback';
  asset: LedgerAsset;
  /** G… or C…; null if the type has none. */
  from: string | null;
  /** As above, or W…. The asset's own contract names a contract and its id separately; other
   *  contracts need not. */
  to: string | null;
  /** May exceed 64 bits. */
  amount: bigint;
  toMuxedId: string | null;
}

function isAccount(text: string): boolean {
  return StrKey.isValidEd25519PublicKey(text);
}

/** The readable changes of a record. A test may make up any others, which only Horizon shows. */
export function readBalanceChanges(changes: unknown): BalanceChange[] {
  if (!Array.isArray(changes)) return [];
  return changes.flatMap((one) => {
    const parsed = change.safeParse(one);
    const read = parsed.success ? toChange(parsed.data) : null;
    return read === null ? [] : [read];
  });
}

function toChange(fields: z.output<typeof change>): BalanceChange | null {
  const { type, asset_type, asset_code, asset_issuer, amount, destination_muxed_id } = fields;
  const isNative = asset_type === 'native';
  if (!isNative && (asset_code === undefined || asset_issuer === undefined)) return null;
  const from = type === 'mint' ? null : (fields.from ?? null);
  const to = type === 'transfer' || type === 'mint' ? (fields.to ?? null) : null;
  const isWhole = (type === 'mint' || from !== null) && (to !== null || type === 'burn' || type === 'clawback');
  if (!isWhole) return null;
  const [whole, fraction = ''] = amount.split('.');
  return {
    type,
    asset: isNative ? null : { code: asset_code!, issuer: asset_issuer! },
    from,
    to,
    amount: BigInt(whole + fraction.padEnd(7, '0')),
    toMuxedId: to === null ? null : (destination_muxed_id ?? null),
  };
}

export const changeEvent = ({ type, asset, from, to, amount, toMuxedId }: BalanceChange, of: ContractIdOf): EventBody =>
  contractEvent({ contractId: of(asset), name: type, addresses: [from, to], asset, amount, toMuxedId });

/** Horizon's effects on the parties. A contract has no history of its own: its movements show in
 *  the history of the operation's source. */
export function changeEffects({ asset, from, to, amount, toMuxedId }: BalanceChange, source: string): Effect[] {
  const [fields, moved] = [assetFields(asset), toAmount(amount)];
  const debit = (party: string): Effect =>
    isAccount(party)
      ? effects.debited(party, fields, moved)
      : effects.contractDebited(source, { ...fields, contract: party, amount: moved });
  const credit = (party: string): Effect =>
    isAccount(party)
      ? effects.credited(party, fields, moved)
      : effects.contractCredited(source, { ...fields, ...contractFields(party, toMuxedId), amount: moved });
  return [...(from === null ? [] : [debit(from)]), ...(to === null ? [] : [credit(to)])];
}

/** @param party C… or W… */
function contractFields(party: string, id: string | null): Record<string, string> {
  const muxed = parseMuxedContract(party) ?? (id === null ? null : { contract: party, id });
  if (muxed === null) return { contract: party };
  return { contract: muxed.contract, contract_muxed: muxedContract(muxed), contract_muxed_id: muxed.id };
}

const partiesOf = ({ from, to, asset }: BalanceChange): string[] =>
  [from, to].filter((party): party is string => party !== null && isAccount(party) && party !== asset?.issuer);

/** The entries that hold the moved balances. Contracts and the asset's issuer have none. */
export const keysOfChange = (changed: BalanceChange): string[] =>
  partiesOf(changed).map((party) => (changed.asset === null ? accountKey(party) : trustlineKey(party, changed.asset)));

/** Moves the parties' existing balances. Lumens to a missing account create it (CAP-73). */
export function applyChange(view: View, changed: BalanceChange, at: LedgerMoment): void {
  const { asset, from, amount } = changed;
  for (const party of partiesOf(changed)) {
    const entry = asset === null ? view.account(party) : view.trustline(party, asset);
    if (entry === null) {
      if (asset === null && party === changed.to && amount >= LEAST_TO_CREATE) view.put(newAccount(party, amount, at));
      continue;
    }
    // A change from a party to itself moves nothing.
    const difference = changed.from === changed.to ? 0n : party === from ? -amount : amount;
    view.update<AccountEntry | TrustlineEntry>(entry, (copy) => {
      copy.balance += difference;
    });
  }
}
