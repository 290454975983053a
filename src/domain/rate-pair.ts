/** What a rate is of: an asset on a network, in a currency. */
import type { Network } from '../../contracts/networks.js';
import type { Asset } from './asset.js';

export interface Pair {
  currency: string;
  asset: Asset;
  network: Network;
}

/** Pairs that one account may be the first to need: opening one is cheap, and each costs requests. */
export const MAX_PAIRS_PER_ACCOUNT = 100;

/** By which its samples are stored. */
export const pairKey = ({ currency, asset, network }: Pair): string =>
  [network, currency, asset.code, ...(asset.issuer === null ? [] : [asset.issuer])].join(' ');
