/** SEP-7 requests: the `web+stellar:pay` URI that a wallet opens or scans, and its signature. Every value is percent-encoded; a memo never goes without
 *  its type. */
import { type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Asset } from './asset.js';

export type PayMemo =
  /** `value` of an id is decimal text, of a hash or return the base64 of its 32 bytes. */
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

/** Whether a payment request can pay this address: an account, G… or M…, but no contract. */
export const isPayable = (address: string): boolean => /^[GM]/.test(address);

/** Writes a request. */
export type PayUri = (request: PayRequest) => string;

/** The wallet signs and submits by itself: there is no `callback`. */
export function payUri({ destination, amount, asset, memo, network }: PayRequest): string {
  const { type, value } = typeof memo === 'string' ? { type: 'text' as const, value: memo } : (memo ?? {});
  const parameters: [string, string | null | undefined][] = [
    ['destination', destination],
    ['amount', amount],
    // XLM is what the absence of both means.
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

/** As `encodeURIComponent`, and the five marks that RFC 3986 reserves besides. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** 36 bytes, of which the last is 4, tell the signature of a request from that of anything else. */
const SIGNED_HEAD = Buffer.concat([Buffer.alloc(35), Buffer.from([4]), Buffer.from('stellar.sep.7 - URI Scheme')]);

/** What is signed of a request. @param uri without `signature` */
export const signedBytes = (uri: string): Buffer => Buffer.concat([SIGNED_HEAD, Buffer.from(uri)]);

/** The request with the domain that vouches for it and, last, its signature. @param key Ed25519 */
export function signedUri(uri: string, domain: string, key: KeyObject): string {
  const unsigned = `${uri}&origin_domain=${percentEncode(domain)}`;
  return `${unsigned}&signature=${percentEncode(sign(null, signedBytes(unsigned), key).toString('base64'))}`;
}

/** The domain whose `/.well-known/stellar.toml` is this service's: null unless the URL is https on a plain name, without port and path. Wallets refuse a
 *  request whose domain does not vouch for it, so that no domain is better than one that they cannot ask. */
export function originDomainOf(publicUrl: string): string | null {
  const { protocol, hostname, host, pathname } = new URL(publicUrl);
  const isName = hostname.includes('.') && !hostname.endsWith('.') && isIP(hostname) === 0 && !hostname.startsWith('[');
  return protocol === 'https:' && host === hostname && pathname === '/' && isName ? hostname : null;
}
