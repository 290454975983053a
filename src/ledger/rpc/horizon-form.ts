/** Converts XDR in JSON to the form of Horizon's records: addresses, assets, amounts and memos. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { accountOf } from '../../domain/muxed.js';
import { armOf, bytesOfText, integer } from './xdr-json.js';

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
