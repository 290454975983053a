/** XDR as JSON (SEP-51). Stellar RPC returns the same on request, decoded by its own definitions:
 *  one reader serves both, and reads arms that the SDK does not know. The form follows the XDR and
 *  is not guaranteed, so it is read leniently. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { sdk } from '../../domain/stellar-sdk.js';
import { accountOf } from '../../domain/strkey.js';

// Converts XDR in JSON to the form of Horizon's records: addresses, assets, amounts and memos.

/** Fields of a Horizon record. */
export type Fields = Record<string, unknown>;

/** An address in Horizon's field, and a muxed one in the field beside it. */
export function party(field: string, address: string): Fields {
  const account = accountOf(address);
  return { [field]: account, ...(account === address ? {} : { [`${field}_muxed`]: address }) };
}

export const transferFields = (from: string, to: string, asset: unknown, amount: bigint): Fields => ({
  ...party('from', from),
  ...party('to', to),
  ...assetFields(assetIn(asset)),
  amount: toAmount(amount),
});

const issuedSchema = z.object({ asset_code: z.string(), issuer: z.string() });

/** @throws for anything but an asset of an account */
function assetIn(json: unknown): Asset {
  const arm = armOf(json);
  if (arm?.name === 'native') return NATIVE;
  const { asset_code, issuer } = issuedSchema.parse(arm?.value);
  return { code: asset_code, issuer };
}

export const assetFields = ({ code, issuer }: Asset): Fields =>
  issuer === null
    ? { asset_type: 'native' }
    : {
        asset_type: code.length > 4 ? 'credit_alphanum12' : 'credit_alphanum4',
        asset_code: code,
        asset_issuer: issuer,
      };

/** Seven decimals, as Horizon writes amounts; contracts may move more than the ledger can hold. */
export function toAmount(stroops: bigint): string {
  const digits = (stroops < 0n ? -stroops : stroops).toString().padStart(8, '0');
  return `${stroops < 0n ? '-' : ''}${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

/** @throws for anything but a memo */
export function memoFields(json: unknown): Fields {
  const arm = armOf(json);
  switch (arm?.name) {
    case 'none':
      return { memo_type: 'none' };
    case 'text':
      return textMemo(bytesOfText(z.string().parse(arm.value)));
    case 'id':
      return { memo_type: 'id', memo: integer.parse(arm.value).toString() };
    case 'hash':
    case 'return':
      return { memo_type: arm.name, memo: Buffer.from(z.hex().parse(arm.value), 'hex').toString('base64') };
    default:
      throw new TypeError('no memo');
  }
}

const textMemo = (bytes: Buffer): Fields => ({
  memo_type: 'text',
  memo: textAsShown(bytes),
  memo_bytes: bytes.toString('base64'),
});

/** The memo in an event's `to_muxed_id` when it is not a number: a text, or the bytes of a hash. */
export function memoOfEvent(value: unknown): Fields {
  const arm = armOf(value);
  if (arm?.name === 'string') return textMemo(bytesOfText(z.string().parse(arm.value)));
  return arm?.name === 'bytes' ? memoFields({ hash: arm.value }) : memoFields('none');
}

/** A text memo as Horizon shows it: U+FFFD for each byte that is not UTF-8, and no NUL. */
function textAsShown(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)));
    text += size ? bytes.toString('utf8', at, at + size) : '\u{FFFD}';
    at += size ?? 1;
  }
  return text.replaceAll('\0', '');
}

/** @throws when the SDK does not know an arm */
export const envelopeAsJson = (base64: string): unknown =>
  sdk().xdr.TransactionEnvelope.fromXdr(base64, 'base64').toJson();
/** @throws when the SDK does not know an arm */
export const resultAsJson = (base64: string): unknown => sdk().xdr.TransactionResult.fromXdr(base64, 'base64').toJson();

/** Null when the SDK does not know an arm. */
export function eventAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ContractEvent.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** Null when the SDK does not know an arm. */
export function scValAsJson(base64: string): unknown {
  try {
    return sdk().xdr.ScVal.fromXdr(base64, 'base64').toJson();
  } catch {
    return null;
  }
}

/** A union's arm and its value; an arm without a value is a string. Null for anything but
 *  a union. */
export function armOf(union: unknown): { name: string; value: unknown } | null {
  if (typeof union === 'string') return { name: union, value: null };
  if (typeof union !== 'object' || union === null) return null;
  const [entry, ...others] = Object.entries(union);
  return entry && others.length === 0 ? { name: entry[0], value: entry[1] } : null;
}

/** The union's value if it is in this arm, otherwise undefined. */
export function inArm(union: unknown, name: string): unknown {
  const arm = armOf(union);
  return arm?.name === name ? arm.value : undefined;
}

const MAX_DIGITS = 40;

/** An integer of any size. Older servers write small ones as numbers. */
export const integer = z
  .union([
    z
      .string()
      .regex(/^-?\d+$/)
      .max(MAX_DIGITS),
    z.int(),
  ])
  .transform((value) => BigInt(value));

/** 128 bits: a text from current servers, two halves from older ones. */
export const integer128 = z.union([
  integer,
  z.object({ hi: integer, lo: integer }).transform(({ hi, lo }) => (hi << 64n) + lo),
]);

/** The bytes of a text in which all but printable ASCII is escaped. @throws for invalid text */
const bytesOfText = (escaped: string): Buffer => Buffer.from(sdk().xdr.XdrString.fromJson(escaped).bytes);
