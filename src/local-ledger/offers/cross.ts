/** Takes offers from a book, the best price first and the oldest at equal price, until the taker
 *  has enough. */
import { bookName, type LedgerAsset } from '../asset.js';
import type { OfferEntry, View } from '../entries.js';
import { countEntry, release } from '../operations/sponsorship.js';
import { comparePrices, exchange, least, type Price, type Rounding, sellable } from './exchange.js';
import { addBalance, canReceive, canSend, reserveFor } from './holdings.js';

/** Core's limit of offers taken by one operation. */
export const MAX_CLAIMS = 1000;

/** What a taken offer gave and got. */
export interface Claim {
  seller: string;
  offerId: bigint;
  sold: LedgerAsset;
  soldAmount: bigint;
  bought: LedgerAsset;
  boughtAmount: bigint;
}

export interface Taking {
  taker: string;
  pays: LedgerAsset;
  /** The most stroops to pay. */
  canPay: bigint;
  gets: LedgerAsset;
  wanted: bigint;
  rounding: Rounding;
  maxClaims: number;
  /** Given if the taker has a price limit. */
  isTooDear?(price: Price): boolean;
}

export interface Taken {
  /** Why it ended; `short` means that the book has no more. */
  end: 'done' | 'short' | 'too_dear' | 'own_offer' | 'too_many';
  paid: bigint;
  received: bigint;
  claims: Claim[];
}

/** The best price first, then the oldest. */
export const byPrice = (a: Readonly<OfferEntry>, b: Readonly<OfferEntry>): number =>
  comparePrices(a.price, b.price) || (a.offerId < b.offerId ? -1 : 1);

export function takeOffers(view: View, taking: Taking): Taken {
  const { taker, pays, gets, rounding, maxClaims, isTooDear } = taking;
  let { canPay, wanted } = taking;
  const claims: Claim[] = [];
  const ended = (end: Taken['end']): Taken => ({
    end,
    paid: taking.canPay - canPay,
    received: taking.wanted - wanted,
    claims,
  });
  if (wanted === 0n || canPay === 0n) return ended('done');
  if (maxClaims === 0) return ended('too_many');
  const book = bookName(gets, pays);
  for (const offer of view.offers((each) => each.book === book).sort(byPrice)) {
    if (isTooDear?.(offer.price)) return ended('too_dear');
    if (offer.owner === taker) return ended('own_offer');
    if (claims.length >= maxClaims) return ended('too_many');
    const { received, paid, stands } = crossOffer(view, offer, { canPay, wanted, rounding });
    canPay -= paid;
    wanted -= received;
    const { owner: seller, offerId } = offer;
    claims.push({ seller, offerId, sold: gets, soldAmount: received, bought: pays, boughtAmount: paid });
    if (stands || wanted === 0n || canPay === 0n) return ended('done');
  }
  return ended('short');
}

function crossOffer(
  view: View,
  offer: Readonly<OfferEntry>,
  taker: { canPay: bigint; wanted: bigint; rounding: Rounding },
) {
  const { owner, selling, buying, price } = offer;
  reserveFor(view, offer, -1n);
  // The reserved amount is always there, unless a made-up record took it away.
  const left = (amount: bigint) => sellable(price, least(amount, canSend(view, owner, selling)), canReceives());
  const canReceives = () => canReceive(view, owner, buying);
  const amount = left(offer.amount);
  const bounds = { canGive: amount, canTake: canReceives(), wanted: taker.wanted, canPay: taker.canPay };
  const exchanged = exchange(price, bounds, taker.rounding);
  addBalance(view, owner, buying, exchanged.paid);
  addBalance(view, owner, selling, -exchanged.received);
  const remaining = exchanged.stands ? left(amount - exchanged.received) : 0n;
  if (remaining === 0n) forget(view, offer);
  else {
    view.update(offer, (copy) => {
      copy.amount = remaining;
    });
    reserveFor(view, { ...offer, amount: remaining }, 1n);
  }
  return exchanged;
}

/** Removes an offer for which nothing is reserved any more. */
export function forget(view: View, { _id, owner, sponsor }: Readonly<OfferEntry>): void {
  view.remove(_id);
  release(view, sponsor, 1);
  view.update(view.account(owner)!, (copy) => countEntry(copy, -1, sponsor));
}

/** Frees an offer's reservation and removes it. */
export function withdraw(view: View, offer: Readonly<OfferEntry>): void {
  reserveFor(view, offer, -1n);
  forget(view, offer);
}
