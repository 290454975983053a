/** An asset is its code and its issuer: assets with the same code and different issuers
 *  are unrelated. */

export interface Asset {
  code: string;
  /** G… address; null only for the native asset, XLM. */
  issuer: string | null;
}

export const NATIVE: Asset = { code: 'XLM', issuer: null };

export const sameAsset = (a: Asset, b: Asset): boolean => a.code === b.code && a.issuer === b.issuer;

/** `XLM`, or `CODE:ISSUER` as SEP-11 writes it. */
export const assetName = ({ code, issuer }: Asset): string => (issuer === null ? code : `${code}:${issuer}`);

/** The asset of a document's two fields. */
export const assetOf = ({ assetCode, assetIssuer }: { assetCode: string; assetIssuer: string | null }): Asset => ({
  code: assetCode,
  issuer: assetIssuer,
});
