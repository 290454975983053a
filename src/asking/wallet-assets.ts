/** Reads from the ledger what a wallet holds and can receive now. */

import type { Network } from '../../contracts/networks.js';
import type { Asset } from '../domain/asset.js';
import { rateLimited, unavailable } from '../kit/api-error.js';
import { BudgetUsedUp, LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import { type Holding, MOST_ASSETS } from '../ledger/source.js';
import type { WalletDoc } from '../watching/index.js';

export type ReadWalletAssets = (wallet: WalletDoc, likely: readonly Asset[]) => Promise<readonly Holding[]>;

/** @param likely assets to look for on a server that cannot list an account's assets
 *  @throws ApiError `unavailable`, or `rate_limited` when the account's share of the request budget is used up */
export const createReadWalletAssets =
  ({ ledgers }: { ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>> }): ReadWalletAssets =>
  async ({ network, address, accountId }, likely) => {
    const session = ledgers.get(network)?.session({ purpose: 'tenants', by: accountId });
    if (!session) throw unavailable('The wallet’s network is not watched.');
    try {
      return (await session.holdings(address, likely.slice(0, MOST_ASSETS))).balances;
    } catch (error) {
      if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer)
        throw unavailable('The ledger cannot be reached now: try again later.');
      throw error;
    }
  };
