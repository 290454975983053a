/** Which rates an account needs: those that its prices are asked by, and those that its books are kept by. */
import type { Network } from '../../contracts/networks.js';
import { NATIVE } from '../domain/asset.js';
import { MAX_PAIRS_PER_ACCOUNT, type Pair, pairKey } from '../domain/rate-pair.js';
import type { NeedRate } from '../rates/sampler.js';
import type { ForAccount } from '../stores/index.js';

export interface Priced {
  /** Null for a price in the asset itself. */
  currency?: string | null | undefined;
  assetCode: string;
  assetIssuer: string | null;
}

export interface RateNeeds {
  /** Has the rate sampled that this is asked by, else the one by which the books value it. Call it before what is priced so is stored.
   *  @returns false where the account has as many sampled as it may */
  ofPriced(accountId: string, priced: Priced, network: Network, until?: Date): Promise<boolean>;
  /** Has all rates sampled that books in this currency need now. */
  ofBooks(accountId: string, currency: string): Promise<void>;
  /** What books in this currency value: lumens, and what products are paid in. */
  pairsOfBooks(accountId: string, currency: string): Promise<Pair[]>;
}

export function createRateNeeds(deps: {
  forAccount: ForAccount<'account' | 'products' | 'wallets'>;
  needRate: NeedRate;
  /** Those that the service watches. */
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
      // Lumens are sampled for as long as there are books.
      const books = issuer === null ? null : (await forAccount(accountId).account.get())?.booksCurrency;
      return books ? need(books) : true;
    },

    async ofBooks(accountId, currency) {
      const pairs = new Map((await pairsOfBooks(accountId, currency)).map((pair) => [pairKey(pair), pair]));
      await Promise.all([...pairs.values()].map((pair) => needRate(pair, accountId)));
    },
  };
}
