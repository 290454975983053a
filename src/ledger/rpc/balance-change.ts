/** Turns events of asset contracts into entries of Horizon's `asset_balance_changes`, in Horizon's order. */
import { z } from 'zod';
import { assetFields, type Fields, toAmount } from './horizon-form.js';
import { type ContractIdOf, readTokenEvent, type TokenEvent } from './token-event.js';
import { eventAsJson, inArm, integer, integer128 } from './xdr-json.js';

/** An event of an asset's own contract. */
export interface BalanceChangeEvent {
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

/** Null for an event that is not of an asset's own contract; `unreadable` when neither the XDR nor the server's JSON can be read. */
export function readBalanceChange(
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

/** An entry of Horizon's `asset_balance_changes`. Without an amount it will be parked as malformed. */
export function changeOf({ event, amount, toMuxedId }: BalanceChangeEvent): Fields {
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
