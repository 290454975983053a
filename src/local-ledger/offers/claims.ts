/** Taken offers in results, effects and events. */
import { Asset, Keypair, xdr } from '@stellar/stellar-sdk/base';
import { assetFields, type LedgerAsset } from '../asset.js';
import type { OfferEntry } from '../entries.js';
import type { Movement } from '../movements.js';
import type { Effect } from '../operations/kind.js';
import { toAmount } from '../stroops.js';
import type { Claim } from './cross.js';

export const accountIdOf = (address: string): xdr.AccountId => Keypair.fromPublicKey(address).xdrAccountId();

export const assetOf = (asset: LedgerAsset): Asset =>
  asset === null ? Asset.native() : new Asset(asset.code, asset.issuer);

export const toXdrAsset = (asset: LedgerAsset): xdr.Asset => assetOf(asset).toXdrObject();

export const claimAtom = (claim: Claim): xdr.ClaimAtom =>
  xdr.ClaimAtom.claimAtomTypeOrderBook(
    new xdr.ClaimOfferAtom({
      sellerId: accountIdOf(claim.seller),
      offerId: claim.offerId,
      assetSold: toXdrAsset(claim.sold),
      amountSold: claim.soldAmount,
      assetBought: toXdrAsset(claim.bought),
      amountBought: claim.boughtAmount,
    }),
  );

const PASSIVE = 1;

export const toXdrOffer = (offer: Readonly<OfferEntry>): xdr.OfferEntry =>
  new xdr.OfferEntry({
    sellerId: accountIdOf(offer.owner),
    offerId: offer.offerId,
    selling: toXdrAsset(offer.selling),
    buying: toXdrAsset(offer.buying),
    amount: offer.amount,
    price: new xdr.Price(offer.price),
    flags: offer.isPassive ? PASSIVE : 0,
    ext: xdr.OfferEntryExt.v0(),
  });

/** Both sides of each trade, without offers that were only removed because rounding made
 *  them worthless. */
export const tradeEffects = (taker: string, claims: Claim[]): Effect[] =>
  claims
    .filter(({ soldAmount, boughtAmount }) => soldAmount !== 0n || boughtAmount !== 0n)
    .flatMap(({ seller, offerId, sold, soldAmount, bought, boughtAmount }) => [
      trade(taker, seller, offerId, [bought, boughtAmount], [sold, soldAmount]),
      trade(seller, taker, offerId, [sold, soldAmount], [bought, boughtAmount]),
    ]);

type Amount = [asset: LedgerAsset, amount: bigint];

const trade = (
  account: string,
  seller: string,
  offerId: bigint,
  [gave, paid]: Amount,
  [got, received]: Amount,
): Effect => ({
  type: 'trade',
  type_i: 33,
  account,
  seller,
  offer_id: offerId.toString(),
  sold_amount: toAmount(paid),
  ...assetFields(gave, 'sold_'),
  bought_amount: toAmount(received),
  ...assetFields(got, 'bought_'),
});

export const tradeMovements = (taker: string, claims: Claim[]): Movement[] =>
  claims.flatMap(({ seller, sold, soldAmount, bought, boughtAmount }) =>
    [
      { from: taker, to: seller, asset: bought, amount: boughtAmount },
      { from: seller, to: taker, asset: sold, amount: soldAmount },
    ]
      .filter(({ amount }) => amount > 0n)
      .map((moved): Movement => ({ kind: 'transfer', ...moved, toMuxedId: null, showsMemo: false })),
  );
