/** Balances of accounts, claimable balances and offers, as of the newest visible ledger. */
import type { Filter } from 'mongodb';
import { bookName, isSameAsset, type LedgerAsset } from './asset.js';
import {
  type AccountEntry,
  type ClaimableBalanceEntry,
  claimableBalanceKey,
  type Entry,
  type OfferEntry,
  type OwnedEntry,
  offerKey,
} from './entries.js';
import type { Api } from './faults.js';
import type { Visible } from './history.js';
import type { Past } from './past.js';
import type { Store } from './store.js';

export interface ClaimableBalanceFilter {
  claimant?: string;
  sponsor?: string;
  asset?: LedgerAsset;
}

function matchesBalance(entry: Readonly<Entry>, { claimant, sponsor, asset }: ClaimableBalanceFilter): boolean {
  if (entry.kind !== 'claimable_balance') return false;
  if (claimant !== undefined && !entry.claimants.some(({ destination }) => destination === claimant)) return false;
  if (sponsor !== undefined && entry.sponsor !== sponsor) return false;
  return asset === undefined || isSameAsset(entry.asset, asset);
}

export interface OfferFilter {
  offerId?: bigint;
  seller?: string;
  sponsor?: string;
  selling?: LedgerAsset;
  buying?: LedgerAsset;
}

const matchesOffer = (entry: Readonly<Entry>, filter: OfferFilter): boolean =>
  entry.kind === 'offer' &&
  (filter.offerId === undefined || entry.offerId === filter.offerId) &&
  (filter.seller === undefined || entry.owner === filter.seller) &&
  (filter.sponsor === undefined || entry.sponsor === filter.sponsor) &&
  (filter.selling === undefined || isSameAsset(entry.selling, filter.selling)) &&
  (filter.buying === undefined || isSameAsset(entry.buying, filter.buying));

/** The indexed part of the filter. */
function offerQuery({ offerId, seller, selling, buying }: OfferFilter): Filter<Entry> {
  if (offerId !== undefined) return { _id: offerKey(offerId) };
  if (seller !== undefined) return { kind: 'offer', owner: seller };
  const isBook = selling !== undefined && buying !== undefined;
  return { kind: 'offer', book: isBook ? bookName(selling, buying) : { $gt: '' } };
}

const byChange = (a: ClaimableBalanceEntry, b: ClaimableBalanceEntry): number =>
  a.modified.ledger - b.modified.ledger || (a.owner < b.owner ? -1 : 1);

export function createState(deps: { store: Store; past: Past; visible(api?: Api): Visible }) {
  const { store, past, visible } = deps;
  return {
    /** The account with everything that it owns, as of the newest visible ledger. */
    async account(id: string, api?: Api): Promise<{ account: AccountEntry; owned: OwnedEntry[] } | null> {
      const newest = await store.entries.find({ owner: id }).sort({ _id: 1 }).toArray();
      const found = past.asOf(visible(api).latest, ({ owner }) => owner === id, newest) as OwnedEntry[];
      const account = found.find((entry) => entry.kind === 'account');
      return account === undefined ? null : { account, owned: found.filter((entry) => entry !== account) };
    },

    /** The claimable balance with this hexadecimal id, as of the newest visible ledger. */
    async claimableBalance(id: string, api?: Api): Promise<ClaimableBalanceEntry | null> {
      const newest = await store.entries.find({ _id: claimableBalanceKey(id) }).toArray();
      const [found] = past.asOf(visible(api).latest, ({ _id }) => _id === claimableBalanceKey(id), newest);
      return found?.kind === 'claimable_balance' ? found : null;
    },

    /** Claimable balances as of the newest visible ledger, ordered by creation or last change. */
    async claimableBalances(filter: ClaimableBalanceFilter): Promise<ClaimableBalanceEntry[]> {
      const { claimant, ...fields } = filter;
      const wanted = { kind: 'claimable_balance', ...fields, ...(claimant && { 'claimants.destination': claimant }) };
      const newest = await store.entries.find(wanted as Filter<Entry>).toArray();
      const found = past.asOf(visible().latest, (entry) => matchesBalance(entry, filter), newest);
      return (found as ClaimableBalanceEntry[]).sort(byChange);
    },

    /** Offers as of the newest visible ledger, the oldest first. */
    async offers(filter: OfferFilter): Promise<OfferEntry[]> {
      const newest = await store.entries.find(offerQuery(filter)).toArray();
      const found = past.asOf(visible().latest, (entry) => entry.kind === 'offer', newest) as OfferEntry[];
      return found.filter((entry) => matchesOffer(entry, filter)).sort((a, b) => (a.offerId < b.offerId ? -1 : 1));
    },
  };
}
