/** Writes decoded XDR in the form in which Horizon's records show it: addresses, assets, amounts and memos. */
import { isUtf8 } from 'node:buffer';
import type { xdr } from '@stellar/stellar-sdk/minimal';
import type { Asset } from '../../domain/asset.js';
import { sdk } from '../../domain/stellar-sdk.js';
import { accountOf } from '../address.js';

/** Fields of a record of Horizon. */
export type Fields = Record<string, unknown>;

/** G…, or M… where it is muxed. */
export const addressOf = (account: xdr.MuxedAccount): string => sdk().encodeMuxedAccountToAddress(account, true);

/** An address under Horizon's name of the field, and the muxed address beside it where there is one. */
export function party(field: string, address: string): Fields {
  const account = accountOf(address);
  return { [field]: account, ...(account === address ? {} : { [`${field}_muxed`]: address }) };
}

export const transferFields = (from: string, to: xdr.MuxedAccount, asset: xdr.Asset, amount: xdr.Int64): Fields => ({
  ...party('from', from),
  ...party('to', addressOf(to)),
  ...assetFields(fromXdr(asset)),
  amount: toAmount(BigInt(amount.toString())),
});

function fromXdr(asset: xdr.Asset): Asset {
  const { code, issuer } = sdk().Asset.fromOperation(asset);
  return { code, issuer: issuer ?? null };
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

export function memoFields(memo: xdr.Memo): Fields {
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
function textAsShown(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)));
    text += size ? bytes.toString('utf8', at, at + size) : '\u{FFFD}';
    at += size ?? 1;
  }
  return text.replaceAll('\0', '');
}
