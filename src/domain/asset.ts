/** An asset is its code and its issuer: two assets of one code and different issuers have nothing to do with each other. */

export interface Asset {
  code: string;
  /** G… address; null only for the native asset, XLM. */
  issuer: string | null;
}

export const NATIVE: Asset = { code: 'XLM', issuer: null };

export const sameAsset = (a: Asset, b: Asset): boolean => a.code === b.code && a.issuer === b.issuer;

/** `XLM`, or `CODE:ISSUER` as SEP-11 writes it. */
export const assetName = ({ code, issuer }: Asset): string => (issuer === null ? code : `${code}:${issuer}`);
