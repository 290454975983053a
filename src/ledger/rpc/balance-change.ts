/** Events of asset contracts as entries of Horizon's `asset_balance_changes`: what a Soroban operation moved. */
import type { xdr } from '@stellar/stellar-sdk/minimal';
import { StrKey, sdk } from '../../domain/stellar-sdk.js';
import { assetFields, type Fields, toAmount } from './horizon-form.js';
import { type ContractIdOf, readTokenEvent, type TokenEvent } from './token-event.js';

/** An event of an asset's own contract, and the amount that it moved, not decoded yet. */
export interface BalanceChangeEvent {
  event: TokenEvent;
  value: xdr.ScVal;
}

/** Null for anything but an event of an asset's own contract. */
export function readBalanceChange(base64: string, contractIdOf: ContractIdOf): BalanceChangeEvent | null {
  try {
    const emitted = sdk().xdr.ContractEvent.fromXDR(base64, 'base64');
    const id = emitted.contractId();
    if (emitted.type().name !== 'contract' || !id) return null;
    const body = emitted.body().v0();
    const contract = StrKey.encodeContract(id as unknown as Buffer);
    const event = readTokenEvent(contract, body.topics(), contractIdOf);
    return event && { event, value: body.data() };
  } catch {
    return null;
  }
}

/** An entry of Horizon's `asset_balance_changes`. */
export function changeOf(change: BalanceChangeEvent | null): Fields | null {
  if (!change) return null;
  const { type, from, to, asset } = change.event;
  return {
    ...assetFields(asset),
    type,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    ...movedBy(change.value),
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
