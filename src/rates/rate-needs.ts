/** The rates that an account needs, for its prices and its books. */
import type { Network } from '../../contracts/networks.js';
import { NATIVE } from '../domain/asset.js';
import { MAX_PAIRS_PER_ACCOUNT, type Pair, pairKey } from '../domain/rate-pair.js';
import type { ForAccount } from '../stores.js';
import type { NeedRate } from './sampler.js';

export interface Priced {
  /** Null for a price in the asset itself. */
  currency?: string | null | undefined;
  assetCode: string;
  assetIssuer: string | null;
}

export interface RateNeeds {
  /** Starts sampling the rate for this price, else the one that the books need for it. Call before storing the price.
   *  @returns false when the account has reached its limit */
  ofPriced(accountId: string, priced: Priced, network: Network, until?: Date): Promise<boolean>;
  /** Starts sampling all rates that books in this currency need now. */
  ofBooks(accountId: string, currency: string): Promise<void>;
  /** The assets valued by books in this currency: lumens, and those of products. */
  pairsOfBooks(accountId: string, currency: string): Promise<Pair[]>;
}

export function createRateNeeds(deps: {
  forAccount: ForAccount<'account' | 'products' | 'wallets'>;
  needRate: NeedRate;
  /** The watched networks. */
  networks: readonly Network[];
}): RateNeeds {
  const { forAccount, needRate, networks } = deps;

  async function pairsOfBooks(accountId: string, currency: string): Promise<Pair[]> {
    const { products, wallets } = forAccount(accountId);
    const sold = await products.assets(MAX_PAIRS_PER_ACCOUNT);
    const paidTo = await wallets.byIds([...new Set(sold.map(({ walletId }) => walletId))]);
    const networkOf = new Map(paidTo.map(({ _id, network }) => [_id, network]));
    return [
      ...networks.map((network) => ({ currency, asset: NATIVE, network })),
      ...sold.flatMap(({ assetCode: code, assetIssuer: issuer, walletId }) => {
        const network = networkOf.get(walletId);
        return network && issuer !== null ? [{ currency, asset: { code, issuer }, network }] : [];
      }),
    ];
  }

  return {
    pairsOfBooks,

    async ofPriced(accountId, { currency, assetCode: code, assetIssuer: issuer }, network, until) {
      const need = (of: string) => needRate({ currency: of, asset: { code, issuer }, network }, accountId, until);
      if (currency) return need(currency);
      // Lumens are sampled as long as there are books.
      const books = issuer === null ? null : (await forAccount(accountId).account.get())?.booksCurrency;
      return books ? need(books) : true;
    },

    async ofBooks(accountId, currency) {
      const pairs = new Map((await pairsOfBooks(accountId, currency)).map((pair) => [pairKey(pair), pair]));
      await Promise.all([...pairs.values()].map((pair) => needRate(pair, accountId)));
    },
  };
}
