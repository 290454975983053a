/** Adds quotes to the resources that the API shows. A quote holds only briefly, so it is part
 *  neither of a stored resource nor of an event. */

import { parseAmount } from '../domain/amount.js';
import { MAX_PAIRS_PER_ACCOUNT, type Pair } from '../domain/rate.js';
import { conflict } from '../kit/api-error.js';
import { type CurrentRate, type Priced, quoteOf, type RateBook } from '../rates/index.js';
import type { WalletDoc } from '../watching/index.js';
import type { Checkout, PaymentLink, Product } from './checkout-resource.js';
import type { ProductDoc } from './product-document.js';

type Quote = NonNullable<Product['quote']>;
type Network = WalletDoc['network'];

const BEYOND_AMOUNTS =
  'No payment could pay this price: at the rate it asks for more than the greatest amount of an asset.';
const NO_RATE = 'There is no fresh rate for this currency and asset at the moment.';
const TOO_MANY_PAIRS = `This account uses ${MAX_PAIRS_PER_ACCOUNT} pairs of a currency and an asset already, the maximum: set your own rate for this one, or use fewer. An unused pair is freed within an hour.`;

/** Why there is none. @param isSampled the result of `NeedRate` */
export function noQuote(current: CurrentRate | null, isSampled: boolean): string {
  if (current && !current.stale) return BEYOND_AMOUNTS;
  return isSampled ? NO_RATE : TOO_MANY_PAIRS;
}

type PricedInCurrency = Priced & { currency: string };

export type Quotes = ReturnType<typeof createQuotes>;

interface QuoteDeps {
  rateBook: Pick<RateBook, 'current'>;
}

export function createQuotes(deps: QuoteDeps) {
  return {
    one: (accountId: string, priced: PricedInCurrency, network: Network, price: string, isSampled: boolean) =>
      one(deps, accountId, priced, network, price, isSampled),

    /** A price in the asset, canonical; without a currency, the price itself.
     *  @throws ApiError `conflict` when it has a currency without a fresh rate */
    async asked(accountId: string, { currency, ...asset }: Priced, network: Network, price: string): Promise<string> {
      return currency ? (await one(deps, accountId, { currency, ...asset }, network, price)).amount! : price;
    },

    products: async (accountId: string, products: readonly Product[]): Promise<Product[]> => {
      const quote = quotesFor(deps, accountId);
      return Promise.all(
        products.map(async (product) => {
          const { currency, wallet, price, minAmount } = product;
          if (!currency) return product;
          return { ...product, quote: await quote({ ...product, currency }, wallet.network, price ?? minAmount) };
        }),
      );
    },

    /** @param sold what each link sells, with the wallet that is paid */
    links: async (
      accountId: string,
      links: readonly PaymentLink[],
      sold: (link: PaymentLink) => { product: ProductDoc; network: Network } | undefined,
    ): Promise<PaymentLink[]> => {
      const quote = quotesFor(deps, accountId);
      return Promise.all(
        links.map(async (link) => {
          const found = link.product.currency ? sold(link) : undefined;
          if (!found?.product.currency) return link;
          const { product, network } = found;
          const priced = { ...product, currency: product.currency! };
          const shown = await quote(priced, network, product.price ?? product.minAmount);
          return { ...link, product: { ...link.product, quote: shown } };
        }),
      );
    },

    checkouts: async (accountId: string, checkouts: readonly Checkout[]): Promise<Checkout[]> => {
      const quote = quotesFor(deps, accountId);
      return Promise.all(
        checkouts.map(async (checkout) => {
          const { currency, status, wallet, remainingValue } = checkout;
          if (!currency || status !== 'OPEN') return checkout;
          return withQuote(checkout, await quote({ ...checkout, currency }, wallet.network, remainingValue));
        }),
      );
    },
  };
}

/** Looks each pair up once for all resources shown together. */
function quotesFor({ rateBook }: QuoteDeps, accountId: string) {
  const known = new Map<string, Promise<CurrentRate | null>>();
  return async (priced: PricedInCurrency, network: Network, price: string | null): Promise<Quote | null> => {
    const asset = { code: priced.assetCode, issuer: priced.assetIssuer };
    const pair: Pair = { currency: priced.currency, asset, network };
    const key = JSON.stringify(pair);
    const current = known.get(key) ?? rateBook.current(accountId, pair);
    known.set(key, current);
    const rate = await current;
    return rate && quoteOf(rate, price === null ? null : parseAmount(price)!);
  };
}

/** The quote for a price. @throws ApiError `conflict` without a fresh rate */
async function one(
  deps: QuoteDeps,
  accountId: string,
  priced: PricedInCurrency,
  network: Network,
  price: string,
  isSampled = true,
): Promise<Quote> {
  const { currency, assetCode: code, assetIssuer: issuer } = priced;
  const current = await deps.rateBook.current(accountId, { currency, asset: { code, issuer }, network });
  const quote = current && quoteOf(current, parseAmount(price)!);
  if (!quote) throw conflict(noQuote(current, isSampled));
  return quote;
}

/** @param quote of what remains */
export const withQuote = (checkout: Checkout, quote: Quote | null): Checkout => ({
  ...checkout,
  quote,
  remainingAmount: quote?.amount ?? checkout.remainingAmount,
});
