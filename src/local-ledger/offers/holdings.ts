/** What an account holds of an asset. An issuer has an unlimited amount of its own asset, without
 *  a trustline. */
import type { LedgerAsset } from '../asset.js';
import {
  type AccountEntry,
  availableBalance,
  availableOnLine,
  LINE_AUTHORIZED,
  LINE_MAINTAIN,
  liabilitiesOf,
  type OfferEntry,
  roomOf,
  type TrustlineEntry,
  type View,
} from '../entries.js';
import { MAX_INT64 } from '../stroops.js';
import { owedBy } from './exchange.js';

const isIssuer = (owner: string, asset: LedgerAsset): boolean => asset?.issuer === owner;

const entryOf = (view: View, owner: string, asset: LedgerAsset): Readonly<AccountEntry | TrustlineEntry> | null =>
  asset === null ? view.account(owner) : view.trustline(owner, asset);

const atLeastZero = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

/** What it can pay without what its offers reserve. */
export function canSend(view: View, owner: string, asset: LedgerAsset): bigint {
  if (isIssuer(owner, asset)) return MAX_INT64;
  const entry = entryOf(view, owner, asset);
  if (entry === null) return 0n;
  if (entry.kind === 'account') return atLeastZero(availableBalance(entry));
  return (entry.flags & (LINE_AUTHORIZED | LINE_MAINTAIN)) === 0 ? 0n : atLeastZero(availableOnLine(entry));
}

export function canReceive(view: View, owner: string, asset: LedgerAsset): bigint {
  if (isIssuer(owner, asset)) return MAX_INT64;
  const entry = entryOf(view, owner, asset);
  return entry === null ? 0n : atLeastZero(roomOf(entry));
}

/** The caller checks the bounds. */
export function addBalance(view: View, owner: string, asset: LedgerAsset, change: bigint): void {
  const entry = isIssuer(owner, asset) ? null : entryOf(view, owner, asset);
  if (entry === null || change === 0n) return;
  view.update<AccountEntry | TrustlineEntry>(entry, (copy) => {
    copy.balance += change;
  });
}

export type CreditFailure = 'noTrust' | 'notAuthorized' | 'lineFull';
export type DebitFailure = 'srcNoTrust' | 'srcNotAuthorized' | 'underfunded';

/** Pays an amount to an existing account, or returns the reason for not doing so. */
export function creditTo(view: View, to: string, asset: LedgerAsset, amount: bigint): CreditFailure | null {
  if (isIssuer(to, asset)) return null;
  const entry = entryOf(view, to, asset);
  if (entry === null) return 'noTrust';
  if (entry.kind === 'trustline' && (entry.flags & LINE_AUTHORIZED) === 0) return 'notAuthorized';
  if (roomOf(entry) < amount) return 'lineFull';
  addBalance(view, to, asset, amount);
  return null;
}

export function debitFrom(view: View, from: string, asset: LedgerAsset, amount: bigint): DebitFailure | null {
  if (isIssuer(from, asset)) return null;
  const entry = entryOf(view, from, asset);
  if (entry === null) return 'srcNoTrust';
  if (entry.kind === 'trustline' && (entry.flags & LINE_AUTHORIZED) === 0) return 'srcNotAuthorized';
  const available = entry.kind === 'account' ? availableBalance(entry) : availableOnLine(entry);
  if (available < amount) return 'underfunded';
  addBalance(view, from, asset, -amount);
  return null;
}

/** Reserves what an offer may take and bring, or (−1n) frees it. */
export function reserveFor(view: View, { owner, selling, buying, price, amount }: OfferEntry, sign: 1n | -1n): void {
  const owed = owedBy(price, { canGive: amount });
  add(selling, { selling: owed.selling, buying: 0n });
  add(buying, { selling: 0n, buying: owed.buying });

  function add(asset: LedgerAsset, more: { selling: bigint; buying: bigint }): void {
    const entry = isIssuer(owner, asset) ? null : entryOf(view, owner, asset);
    if (entry === null) return;
    const before = liabilitiesOf(entry);
    view.update<AccountEntry | TrustlineEntry>(entry, (copy) => {
      copy.liabilities = {
        selling: before.selling + sign * more.selling,
        buying: before.buying + sign * more.buying,
      };
    });
  }
}
