/** SEP-7 requests: the `web+stellar:pay` URI that a wallet opens or scans. Every value is percent-encoded; a memo never goes without its type. */
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
