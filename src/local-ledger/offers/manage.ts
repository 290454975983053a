/** Carries out an operation's offer: it first takes what it can from the other side of the book,
 *  and the rest becomes a standing offer. */
import { xdr } from '@stellar/stellar-sdk/base';
import { bookName, type LedgerAsset } from '../asset.js';
import {
  accountKey,
  ID_POOL_KEY,
  type IdPoolEntry,
  LINE_AUTHORIZED,
  type OfferEntry,
  offerKey,
  trustlineKey,
  type View,
} from '../entries.js';
import { MAX_SUBENTRIES } from '../operations/change-trust.js';
import type { Context } from '../operations/kind.js';
import { countEntry, release, reserve } from '../operations/sponsorship.js';
import { claimAtom, toXdrOffer, tradeEffects, tradeMovements } from './claims.js';
import { MAX_CLAIMS, type Taken, takeOffers } from './cross.js';
import { comparePrices, inverse, least, owedBy, type Price, sellable } from './exchange.js';
import { addBalance, canReceive, canSend, reserveFor } from './holdings.js';

/** A requested offer. */
export interface Wanted {
  /** 0 for a new one. */
  offerId: bigint;
  selling: LedgerAsset;
  buying: LedgerAsset;
  /** Units bought for one unit sold. */
  price: Price;
  isPassive: boolean;
  /** Amount of the sold asset, or of the bought one; 0 withdraws the offer. */
  amount: bigint;
  isAmountBought: boolean;
}

export type OfferFailure =
  | 'malformed'
  | 'sellNoTrust'
  | 'buyNoTrust'
  | 'sellNotAuthorized'
  | 'buyNotAuthorized'
  | 'lineFull'
  | 'underfunded'
  | 'crossSelf'
  | 'notFound'
  | 'lowReserve';

/** Entries that a trade with the offer may touch, besides the offer itself. */
export const keysOfSeller = ({ owner, selling, buying }: Readonly<OfferEntry>): string[] => [
  accountKey(owner),
  ...[selling, buying].flatMap((asset) => (asset === null ? [] : [trustlineKey(owner, asset)])),
];

export type Outcome = OfferFailure | xdr.OperationResult | xdr.ManageOfferSuccessResult;

export function manage(wanted: Wanted, source: string, context: Context): Outcome {
  const { view } = context;
  const isDeletion = wanted.amount === 0n;
  const trust = isDeletion ? null : checkTrust(view, source, wanted);
  if (trust !== null) return trust;
  const before = wanted.offerId === 0n ? null : findOffer(view, source, wanted.offerId);
  if (wanted.offerId !== 0n && before === null) return 'notFound';
  const opened = before === null ? open(context, source) : putAside(view, before);
  if (typeof opened === 'string' || 'type' in opened) return opened;
  let taken: Taken | null = null;
  let left = 0n;
  if (!isDeletion) {
    const limited = limitsOf(view, source, wanted);
    if (typeof limited === 'string') return limited;
    taken = take(view, source, { ...wanted, isPassive: before?.isPassive ?? wanted.isPassive }, limited);
    if (taken.end === 'own_offer') return 'crossSelf';
    if (taken.end === 'too_many') return xdr.OperationResult.opExceededWorkLimit();
    addBalance(view, source, wanted.buying, taken.received);
    addBalance(view, source, wanted.selling, -taken.paid);
    if (taken.end !== 'done') left = amountLeft(view, source, wanted, taken);
  }
  const claims = taken?.claims ?? [];
  context.effects.push(...tradeEffects(source, claims));
  context.movements.push(...tradeMovements(source, claims));
  const offersClaimed = claims.map(claimAtom);
  const offer = settle(context, source, wanted, { before, left, sponsor: opened.sponsor });
  return new xdr.ManageOfferSuccessResult({ offersClaimed, offer });
}

function findOffer(view: View, source: string, id: bigint): Readonly<OfferEntry> | null {
  const offer = view.read(offerKey(id));
  return offer?.kind === 'offer' && offer.owner === source ? offer : null;
}

function checkTrust(view: View, source: string, { selling, buying }: Wanted): OfferFailure | null {
  const lineOf = (asset: LedgerAsset) =>
    asset === null || asset.issuer === source ? undefined : view.trustline(source, asset);
  const [sold, bought] = [lineOf(selling), lineOf(buying)];
  if (sold === null) return 'sellNoTrust';
  if (sold?.balance === 0n) return 'underfunded';
  if (sold && (sold.flags & LINE_AUTHORIZED) === 0) return 'sellNotAuthorized';
  if (bought === null) return 'buyNoTrust';
  return bought && (bought.flags & LINE_AUTHORIZED) === 0 ? 'buyNotAuthorized' : null;
}

/** The reserve of an offer is needed even if none remains standing. */
function open(context: Context, source: string): { sponsor: string | null } | OfferFailure | xdr.OperationResult {
  const { view } = context;
  if (view.account(source)!.subentries >= MAX_SUBENTRIES) return xdr.OperationResult.opTooManySubentries();
  const sponsor = reserve(context, source, 1);
  if (sponsor === undefined) return 'lowReserve';
  view.update(view.account(source)!, (copy) => countEntry(copy, 1, sponsor));
  return { sponsor };
}

/** Removes the offer, but keeps its place among the account's entries. */
function putAside(view: View, offer: Readonly<OfferEntry>): { sponsor: string | null } {
  reserveFor(view, offer, -1n);
  view.remove(offer._id);
  return { sponsor: offer.sponsor ?? null };
}

interface Limits {
  canPay: bigint;
  wanted: bigint;
}

/** What the account may pay and receive, within the offer's terms. */
function limitsOf(view: View, source: string, wanted: Wanted): Limits | OfferFailure {
  const { selling, buying, price, amount, isAmountBought } = wanted;
  const owed = owedBy(price, isAmountBought ? { canTake: amount } : { canGive: amount });
  const [canPay, room] = [canSend(view, source, selling), canReceive(view, source, buying)];
  if (room < owed.buying) return 'lineFull';
  if (canPay < owed.selling) return 'underfunded';
  const limits = within(wanted, { canPay, wanted: room }, { paid: 0n, received: 0n });
  return limits.wanted === 0n ? 'lineFull' : limits;
}

const within = (
  { amount, isAmountBought }: Wanted,
  { canPay, wanted }: Limits,
  { paid, received }: { paid: bigint; received: bigint },
): Limits =>
  isAmountBought
    ? { canPay, wanted: least(amount - received, wanted) }
    : { canPay: least(amount - paid, canPay), wanted };

function take(view: View, source: string, { selling, buying, price, isPassive }: Wanted, limits: Limits): Taken {
  const dearest = inverse(price);
  return takeOffers(view, {
    taker: source,
    pays: selling,
    gets: buying,
    ...limits,
    rounding: 'normal',
    maxClaims: MAX_CLAIMS,
    isTooDear: (asked) => comparePrices(asked, dearest) > (isPassive ? -1 : 0),
  });
}

function amountLeft(view: View, source: string, wanted: Wanted, taken: Taken): bigint {
  const can = { canPay: canSend(view, source, wanted.selling), wanted: canReceive(view, source, wanted.buying) };
  const limits = within(wanted, can, taken);
  return sellable(wanted.price, limits.canPay, limits.wanted);
}

/** Lets the rest of the offer stand, or gives up its place. */
function settle(
  context: Context,
  source: string,
  { offerId, selling, buying, price, isPassive }: Wanted,
  { before, left, sponsor }: { before: Readonly<OfferEntry> | null; left: bigint; sponsor: string | null },
): xdr.ManageOfferSuccessResultOffer {
  const { view, ledger } = context;
  const { ManageOfferSuccessResultOffer: Result } = xdr;
  if (left === 0n) {
    release(view, sponsor, 1);
    view.update(view.account(source)!, (copy) => countEntry(copy, -1, sponsor));
    if (before === null) context.sponsor = null;
    return Result.manageOfferDeleted();
  }
  const id = before === null ? nextId(view, ledger) : offerId;
  const offer: OfferEntry = {
    _id: offerKey(id),
    kind: 'offer',
    owner: source,
    offerId: id,
    selling,
    buying,
    book: bookName(selling, buying),
    amount: left,
    price,
    isPassive: before?.isPassive ?? isPassive,
    ...(sponsor && { sponsor }),
    modified: { ledger: ledger.sequence, time: ledger.closeTime },
  };
  view.put(offer);
  reserveFor(view, offer, 1n);
  const made = toXdrOffer(offer);
  return before === null ? Result.manageOfferCreated(made) : Result.manageOfferUpdated(made);
}

function nextId(view: View, ledger: Context['ledger']): bigint {
  const pool = view.read(ID_POOL_KEY) as IdPoolEntry | null;
  const last = (pool?.last ?? 0n) + 1n;
  const modified = { ledger: ledger.sequence, time: ledger.closeTime };
  view.put({ _id: ID_POOL_KEY, kind: 'id_pool', owner: '', last, modified });
  return last;
}
