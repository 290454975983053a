/** SEP-7 requests: the `web+stellar:pay` URI that a wallet opens or scans, and its signature. Every
 *  value is percent-encoded, and a memo always has its type. */
import { type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Asset } from './asset.js';

export type PayMemo =
  /** `value` is decimal text for an id, and base64 of 32 bytes for a hash or return. */
  { type: 'text' | 'id' | 'hash' | 'return'; value: string };

export interface PayRequest {
  destination: string;
  /** Canonical decimal text; null lets the payer choose. */
  amount: string | null;
  asset: Asset;
  /** Plain text is a text memo. */
  memo: PayMemo | string | null;
  network: Network;
}

const MEMO_TYPES = { text: 'MEMO_TEXT', id: 'MEMO_ID', hash: 'MEMO_HASH', return: 'MEMO_RETURN' } as const;

/** Whether a payment request can pay this address: an account (G… or M…), but not a contract. */
export const isPayable = (address: string): boolean => /^[GM]/.test(address);

export type PayUri = (request: PayRequest) => string;

/** There is no `callback`: the wallet signs and submits by itself. */
export function payUri({ destination, amount, asset, memo, network }: PayRequest): string {
  const { type, value } = typeof memo === 'string' ? { type: 'text' as const, value: memo } : (memo ?? {});
  const parameters: [string, string | null | undefined][] = [
    ['destination', destination],
    ['amount', amount],
    // Absent, both mean XLM.
    ['asset_code', asset.issuer === null ? null : asset.code],
    ['asset_issuer', asset.issuer],
    ['memo', value],
    ['memo_type', type && MEMO_TYPES[type]],
    // Absent, it means the public network.
    ['network_passphrase', network === 'PUBLIC' ? null : networkInfo[network].passphrase],
  ];
  const query = parameters.flatMap(([name, text]) => (text == null ? [] : `${name}=${percentEncode(text)}`));
  return `web+stellar:pay?${query.join('&')}`;
}

/** Like `encodeURIComponent`, and also encodes the five other marks that RFC 3986 reserves. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** 36 bytes, the last of them a 4, distinguish the signature of a request from any other. */
const SIGNED_HEAD = Buffer.concat([Buffer.alloc(35), Buffer.from([4]), Buffer.from('stellar.sep.7 - URI Scheme')]);

/** The signed bytes of a request. @param uri without `signature` */
export const signedBytes = (uri: string): Buffer => Buffer.concat([SIGNED_HEAD, Buffer.from(uri)]);

/** Adds the domain that vouches for the request and, last, its signature. @param key Ed25519 */
export function signedUri(uri: string, domain: string, key: KeyObject): string {
  const unsigned = `${uri}&origin_domain=${percentEncode(domain)}`;
  return `${unsigned}&signature=${percentEncode(sign(null, signedBytes(unsigned), key).toString('base64'))}`;
}

/** The domain whose `/.well-known/stellar.toml` this service serves; null unless the URL is https
 *  on a plain name, without port and path. Wallets refuse a request whose domain does not vouch for
 *  it, so no domain is better than one that they cannot reach. */
export function originDomainOf(publicUrl: string): string | null {
  const { protocol, hostname, host, pathname } = new URL(publicUrl);
  const isName = hostname.includes('.') && !hostname.endsWith('.') && isIP(hostname) === 0 && !hostname.startsWith('[');
  return protocol === 'https:' && host === hostname && pathname === '/' && isName ? hostname : null;
}
