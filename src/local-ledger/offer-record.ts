/** Horizon's records of offers, books and paths, without links. */
import { assetFields, type LedgerAsset } from './asset.js';
import type { OfferEntry } from './entries.js';
import { toTimestamp } from './headers.js';
import { byPrice } from './offers/cross.js';
import { comparePrices, inverse, type Price, priceText } from './offers/exchange.js';
import type { Path } from './offers/paths.js';
import { toAmount } from './stroops.js';

export function offerRecord(offer: Readonly<OfferEntry>): { paging_token: string } & Record<string, unknown> {
  const id = offer.offerId.toString();
  return {
    id,
    paging_token: id,
    seller: offer.owner,
    selling: assetFields(offer.selling),
    buying: assetFields(offer.buying),
    amount: toAmount(offer.amount),
    price_r: { n: offer.price.n, d: offer.price.d },
    price: priceText(offer.price),
    last_modified_ledger: offer.modified.ledger,
    last_modified_time: toTimestamp(offer.modified.time),
    ...(offer.sponsor ? { sponsor: offer.sponsor } : {}),
  };
}

/** One line for each price, the best first. */
function priceLevels(offers: Readonly<OfferEntry>[], shown: (price: Price) => Price, limit: number) {
  const levels: { price: Price; amount: bigint }[] = [];
  for (const { price, amount } of [...offers].sort(byPrice)) {
    const last = levels.at(-1);
    if (last !== undefined && comparePrices(last.price, price) === 0) last.amount += amount;
    else levels.push({ price, amount });
  }
  return levels.slice(0, limit).map(({ price, amount }) => {
    const { n, d } = shown(price);
    return { price_r: { n, d }, price: priceText({ n, d }), amount: toAmount(amount) };
  });
}

/** @param asks offers of the base for the counter asset. @param bids offers of the counter asset
 *  for the base */
export const bookRecord = (
  [base, counter]: [LedgerAsset, LedgerAsset],
  [asks, bids]: [Readonly<OfferEntry>[], Readonly<OfferEntry>[]],
  limit: number,
) => ({
  bids: priceLevels(bids, inverse, limit),
  asks: priceLevels(asks, (price) => price, limit),
  base: assetFields(base),
  counter: assetFields(counter),
});

export const pathRecord = ({ assets, sent, arrives }: Path) => ({
  ...assetFields(assets[0]!, 'source_'),
  source_amount: toAmount(sent),
  ...assetFields(assets.at(-1)!, 'destination_'),
  destination_amount: toAmount(arrives),
  path: assets.slice(1, -1).map((asset) => assetFields(asset)),
});
