/** A pair: an asset on a network, and a currency. */
import type { Network } from '../../contracts/networks.js';
import type { Asset } from './asset.js';

export interface Pair {
  currency: string;
  asset: Asset;
  network: Network;
}

/** The most pairs that one account may be the first to need: opening a pair is cheap, but each one costs requests. */
export const MAX_PAIRS_PER_ACCOUNT = 100;

/** The key of the pair's samples. */
export const pairKey = ({ currency, asset, network }: Pair): string =>
  [network, currency, asset.code, ...(asset.issuer === null ? [] : [asset.issuer])].join(' ');
