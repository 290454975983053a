/** Sponsorship of reserves: between `begin` and `end` the sponsor pays for all entries that the
 *  sponsored account creates. The entry keeps its sponsor until it is gone; transfers
 *  (revoke_sponsorship) are not supported. */
import { xdr } from '@stellar/stellar-sdk/base';
import { type AccountEntry, accountKey, availableBalance, type View } from '../entries.js';
import { toAddress } from '../party.js';
import { BASE_RESERVE } from '../stroops.js';
import { type Context, inner, type OperationKind } from './kind.js';

const { BeginSponsoringFutureReservesResult: Begin, EndSponsoringFutureReservesResult: End } = xdr;
const beginResult = (of: xdr.BeginSponsoringFutureReservesResult) =>
  inner(xdr.OperationResultTr.beginSponsoringFutureReserves(of));
const endResult = (of: xdr.EndSponsoringFutureReservesResult) =>
  inner(xdr.OperationResultTr.endSponsoringFutureReserves(of));

/** Finds the payer of `units` reserves for a new entry of `owner`, and counts them for a sponsor.
 *  @returns null if the owner pays, undefined if the payer cannot */
export function reserve(context: Context, owner: string, units: number): string | null | undefined {
  const { view, sponsorships } = context;
  const sponsorId = sponsorships.get(owner) ?? null;
  const payer = view.account(sponsorId ?? owner)!;
  if (availableBalance(payer) < BigInt(units) * BASE_RESERVE) return undefined;
  if (sponsorId === null) return null;
  context.sponsor = sponsorId;
  view.update(payer, (copy) => {
    copy.sponsoring = (copy.sponsoring ?? 0) + units;
  });
  return sponsorId;
}

/** Frees the sponsor's reserve of a removed entry. */
export function release(view: View, sponsorId: string | null | undefined, units: number): void {
  if (!sponsorId) return;
  view.update(view.account(sponsorId)!, (copy) => {
    copy.sponsoring = (copy.sponsoring ?? 0) - units;
  });
}

/** Counts an entry that the owner gained or lost, with or without a sponsor. */
export function countEntry(owner: AccountEntry, change: 1 | -1, sponsor: string | null | undefined): void {
  owner.subentries += change;
  if (sponsor) owner.sponsored = (owner.sponsored ?? 0) + change;
}

export const beginSponsoring: OperationKind<xdr.BeginSponsoringFutureReservesOp> = {
  type: 'begin_sponsoring_future_reserves',
  typeIndex: 16,
  isPayment: false,
  level: () => 'medium',
  keys: (body) => [accountKey(toAddress(body.sponsoredId))],
  participants: (body) => [toAddress(body.sponsoredId)],
  check: (body, source) =>
    toAddress(body.sponsoredId) === source ? beginResult(Begin.beginSponsoringFutureReservesMalformed()) : null,
  apply(body, source, { sponsorships }) {
    const sponsored = toAddress(body.sponsoredId);
    if (sponsorships.has(sponsored)) return beginResult(Begin.beginSponsoringFutureReservesAlreadySponsored());
    const isRecursive = sponsorships.has(source) || [...sponsorships.values()].includes(sponsored);
    if (isRecursive) return beginResult(Begin.beginSponsoringFutureReservesRecursive());
    sponsorships.set(sponsored, source);
    return beginResult(Begin.beginSponsoringFutureReservesSuccess());
  },
  details: (body) => ({ sponsored_id: toAddress(body.sponsoredId) }),
};

export const endSponsoring: OperationKind<undefined> = {
  type: 'end_sponsoring_future_reserves',
  typeIndex: 17,
  isPayment: false,
  level: () => 'medium',
  keys: () => [],
  participants: () => [],
  check: () => null,
  apply(_body, source, context) {
    const sponsor = context.sponsorships.get(source);
    if (sponsor === undefined) return endResult(End.endSponsoringFutureReservesNotSponsored());
    context.sponsorships.delete(source);
    context.sponsor = sponsor;
    return endResult(End.endSponsoringFutureReservesSuccess());
  },
  details: (_body, _source, { sponsor }) => (sponsor === null ? {} : { begin_sponsor: sponsor }),
};
