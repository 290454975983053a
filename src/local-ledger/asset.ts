/** Assets by code and issuer; the native one is null. */
import { StrKey, type xdr } from '@stellar/stellar-sdk/base';
import { toAddress } from './party.js';

export interface IssuedAsset {
  code: string;
  issuer: string;
}
export type LedgerAsset = IssuedAsset | null;

type XdrAsset = xdr.Asset | xdr.ChangeTrustAsset | xdr.TrustLineAsset;

/** Reads an operation's asset; undefined if core would call it invalid (bad code, pool shares). */
export function fromXdrAsset(asset: XdrAsset): LedgerAsset | undefined {
  switch (asset.type) {
    case 'assetTypeNative':
      return null;
    case 'assetTypeCreditAlphanum4':
      return issued(asset.alphaNum4, /^[A-Za-z0-9]{1,4}$/);
    case 'assetTypeCreditAlphanum12':
      return issued(asset.alphaNum12, /^[A-Za-z0-9]{5,12}$/);
    default:
      return undefined;
  }
}

function issued(asset: xdr.AlphaNum4 | xdr.AlphaNum12, pattern: RegExp): IssuedAsset | undefined {
  const code = Buffer.from(asset.assetCode.value).toString('latin1').replace(/\0+$/, '');
  return pattern.test(code) ? { code, issuer: toAddress(asset.issuer) } : undefined;
}

/** Reads `native` or `CODE:ISSUER`; undefined for any other text. */
export function fromCanonicalAsset(text: string): LedgerAsset | undefined {
  if (text === 'native') return null;
  const [, code, issuer] = /^([A-Za-z0-9]{1,12}):(G[A-Z2-7]{55})$/.exec(text) ?? [];
  return code !== undefined && StrKey.isValidEd25519PublicKey(issuer!) ? { code, issuer: issuer! } : undefined;
}

export const isSameAsset = (a: LedgerAsset, b: LedgerAsset): boolean =>
  a === b || (a !== null && b !== null && a.code === b.code && a.issuer === b.issuer);

export const assetType = (asset: LedgerAsset): string =>
  asset === null ? 'native' : asset.code.length <= 4 ? 'credit_alphanum4' : 'credit_alphanum12';

/** `native` or `CODE:ISSUER` (SEP-11). */
export const canonicalAsset = (asset: LedgerAsset): string =>
  asset === null ? 'native' : `${asset.code}:${asset.issuer}`;

/** Horizon's `asset_type`, `asset_code`, `asset_issuer`, after a prefix such as `source_`. */
export function assetFields(asset: LedgerAsset, prefix = ''): Record<string, string> {
  const type = { [`${prefix}asset_type`]: assetType(asset) };
  return asset === null
    ? type
    : { ...type, [`${prefix}asset_code`]: asset.code, [`${prefix}asset_issuer`]: asset.issuer };
}

/** The name of the list of offers that sell one asset for the other. */
export const bookName = (selling: LedgerAsset, buying: LedgerAsset): string =>
  `${canonicalAsset(selling)}>${canonicalAsset(buying)}`;
