/** Writes XDR that was read as JSON in the form in which Horizon's records show it: addresses, assets, amounts and memos. */
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { accountOf } from '../address.js';
import { armOf, bytesOfText, integer } from './xdr-json.js';

/** Fields of a record of Horizon. */
export type Fields = Record<string, unknown>;

/** An address under Horizon's name of the field, and the muxed address beside it where there is one. */
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

/** @throws for what is no asset of an account */
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

/** Seven decimals, as Horizon writes it; what a contract moves may be more than the ledger can hold. */
export function toAmount(stroops: bigint): string {
  const digits = (stroops < 0n ? -stroops : stroops).toString().padStart(8, '0');
  return `${stroops < 0n ? '-' : ''}${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

/** @throws for what is no memo */
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

/** The memo that an event names as `to_muxed_id`, where that is no number: a text, or the bytes of a hash. */
export function memoOfEvent(value: unknown): Fields {
  const arm = armOf(value);
  if (arm?.name === 'string') return textMemo(bytesOfText(z.string().parse(arm.value)));
  return arm?.name === 'bytes' ? memoFields({ hash: arm.value }) : memoFields('none');
}

/** As Horizon shows a text memo: U+FFFD for each byte that is no UTF-8, and no NUL. */
function textAsShown(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)));
    text += size ? bytes.toString('utf8', at, at + size) : '\u{FFFD}';
    at += size ?? 1;
  }
  return text.replaceAll('\0', '');
}
