/** manage_sell_offer, manage_buy_offer and create_passive_sell_offer. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, bookName, fromXdrAsset, isSameAsset } from '../asset.js';
import { ID_POOL_KEY, offerKey, trustlineKey } from '../entries.js';
import { inverse, type Price, priceText } from '../offers/exchange.js';
import { manage, type OfferFailure, type Outcome } from '../offers/manage.js';
import { toAmount } from '../stroops.js';
import { inner, type OperationKind, valid } from './kind.js';

const { ManageSellOfferResult: Sell, ManageBuyOfferResult: Buy } = xdr;

const sellFailures: Record<OfferFailure, () => xdr.ManageSellOfferResult> = {
  malformed: Sell.manageSellOfferMalformed,
  sellNoTrust: Sell.manageSellOfferSellNoTrust,
  buyNoTrust: Sell.manageSellOfferBuyNoTrust,
  sellNotAuthorized: Sell.manageSellOfferSellNotAuthorized,
  buyNotAuthorized: Sell.manageSellOfferBuyNotAuthorized,
  lineFull: Sell.manageSellOfferLineFull,
  underfunded: Sell.manageSellOfferUnderfunded,
  crossSelf: Sell.manageSellOfferCrossSelf,
  notFound: Sell.manageSellOfferNotFound,
  lowReserve: Sell.manageSellOfferLowReserve,
};

const buyFailures: Record<OfferFailure, () => xdr.ManageBuyOfferResult> = {
  malformed: Buy.manageBuyOfferMalformed,
  sellNoTrust: Buy.manageBuyOfferSellNoTrust,
  buyNoTrust: Buy.manageBuyOfferBuyNoTrust,
  sellNotAuthorized: Buy.manageBuyOfferSellNotAuthorized,
  buyNotAuthorized: Buy.manageBuyOfferBuyNotAuthorized,
  lineFull: Buy.manageBuyOfferLineFull,
  underfunded: Buy.manageBuyOfferUnderfunded,
  crossSelf: Buy.manageBuyOfferCrossSelf,
  notFound: Buy.manageBuyOfferNotFound,
  lowReserve: Buy.manageBuyOfferLowReserve,
};

interface Body {
  selling: xdr.Asset;
  buying: xdr.Asset;
  price: xdr.Price;
}

const assetsOf = ({ selling, buying }: Body) => ({
  selling: valid(fromXdrAsset(selling)),
  buying: valid(fromXdrAsset(buying)),
});

function isSound({ selling, buying, price }: Body, amount: bigint, offerId: bigint): boolean {
  const [sold, bought] = [fromXdrAsset(selling), fromXdrAsset(buying)];
  return (
    sold !== undefined &&
    bought !== undefined &&
    !isSameAsset(sold, bought) &&
    price.n > 0 &&
    price.d > 0 &&
    (offerId > 0n ? amount >= 0n : offerId === 0n && amount > 0n)
  );
}

const shared = {
  isPayment: false,
  level: () => 'medium' as const,
  offers: (body: Body) => {
    const { selling, buying } = assetsOf(body);
    return [{ book: bookName(buying, selling) }];
  },
  participants: () => [],
};

function keys(body: Body & { offerId?: bigint }, source: string): string[] {
  const lines = Object.values(assetsOf(body)).flatMap((asset) => (asset === null ? [] : [trustlineKey(source, asset)]));
  return [ID_POOL_KEY, ...lines, ...(body.offerId ? [offerKey(body.offerId)] : [])];
}

const details = (body: Body, amount: bigint, offerId?: bigint) => ({
  ...(offerId === undefined ? {} : { offer_id: offerId.toString() }),
  amount: toAmount(amount),
  price: priceText(body.price),
  price_r: { n: body.price.n, d: body.price.d },
  ...assetFields(valid(fromXdrAsset(body.buying)), 'buying_'),
  ...assetFields(valid(fromXdrAsset(body.selling)), 'selling_'),
});

const priceOf = ({ n, d }: xdr.Price): Price => ({ n, d });

/** Wraps an outcome of `manage` in the operation's own result. */
function resultOf<R>(
  outcome: Outcome,
  failures: Record<OfferFailure, () => R>,
  success: (of: xdr.ManageOfferSuccessResult) => R,
  wrap: (of: R) => xdr.OperationResultTr,
): xdr.OperationResult {
  if (typeof outcome === 'string') return inner(wrap(failures[outcome]()));
  return outcome instanceof xdr.ManageOfferSuccessResult ? inner(wrap(success(outcome))) : outcome;
}

const { OperationResultTr: Tr } = xdr;
const sellResult = (of: Outcome) => resultOf(of, sellFailures, Sell.manageSellOfferSuccess, Tr.manageSellOffer);
const passiveResult = (of: Outcome) =>
  resultOf(of, sellFailures, Sell.manageSellOfferSuccess, Tr.createPassiveSellOffer);
const buyResult = (of: Outcome) => resultOf(of, buyFailures, Buy.manageBuyOfferSuccess, Tr.manageBuyOffer);

export const manageSellOffer: OperationKind<xdr.ManageSellOfferOp> = {
  ...shared,
  type: 'manage_sell_offer',
  typeIndex: 3,
  keys,
  check: (body) => (isSound(body, body.amount, body.offerId) ? null : sellResult('malformed')),
  apply(body, source, context) {
    const { amount, offerId, price } = body;
    const how = { price: priceOf(price), isPassive: false, isAmountBought: false };
    return sellResult(manage({ ...assetsOf(body), ...how, amount, offerId }, source, context));
  },
  details: (body) => details(body, body.amount, body.offerId),
};

export const manageBuyOffer: OperationKind<xdr.ManageBuyOfferOp> = {
  ...shared,
  type: 'manage_buy_offer',
  typeIndex: 12,
  keys,
  check: (body) => (isSound(body, body.buyAmount, body.offerId) ? null : buyResult('malformed')),
  apply(body, source, context) {
    const { buyAmount: amount, offerId, price } = body;
    // Its price is per unit bought.
    const how = { price: inverse(priceOf(price)), isPassive: false, isAmountBought: true };
    return buyResult(manage({ ...assetsOf(body), ...how, amount, offerId }, source, context));
  },
  details: (body) => details(body, body.buyAmount, body.offerId),
};

export const createPassiveSellOffer: OperationKind<xdr.CreatePassiveSellOfferOp> = {
  ...shared,
  type: 'create_passive_sell_offer',
  typeIndex: 4,
  keys,
  check: (body) => (isSound(body, body.amount, 0n) ? null : passiveResult('malformed')),
  apply(body, source, context) {
    const { amount, price } = body;
    const how = { price: priceOf(price), isPassive: true, isAmountBought: false };
    return passiveResult(manage({ ...assetsOf(body), ...how, amount, offerId: 0n }, source, context));
  },
  details: (body) => details(body, body.amount),
};
