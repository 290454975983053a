/** What accounts and claimable balances hold, as of the newest ledger that shows. */
import type { Filter } from 'mongodb';
import { isSameAsset, type LedgerAsset } from './asset.js';
import { type AccountEntry, type ClaimableBalanceEntry, claimableBalanceKey, type Entry } from './entries.js';
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

const byChange = (a: ClaimableBalanceEntry, b: ClaimableBalanceEntry): number =>
  a.modified.ledger - b.modified.ledger || (a.owner < b.owner ? -1 : 1);

export function createState(deps: { store: Store; past: Past; visible(api?: Api): Visible }) {
  const { store, past, visible } = deps;
  return {
    /** The account as of the newest ledger that shows, with all that it owns. */
    async account(id: string, api?: Api): Promise<{ account: AccountEntry; owned: Entry[] } | null> {
      const newest = await store.entries.find({ owner: id }).sort({ _id: 1 }).toArray();
      const found = past.asOf(visible(api).latest, ({ owner }) => owner === id, newest);
      const account = found.find((entry) => entry.kind === 'account');
      return account === undefined ? null : { account, owned: found.filter((entry) => entry !== account) };
    },

    /** The claimable balance of this id, in hexadecimal, as of the newest ledger that shows. */
    async claimableBalance(id: string, api?: Api): Promise<ClaimableBalanceEntry | null> {
      const newest = await store.entries.find({ _id: claimableBalanceKey(id) }).toArray();
      const [found] = past.asOf(visible(api).latest, ({ _id }) => _id === claimableBalanceKey(id), newest);
      return found?.kind === 'claimable_balance' ? found : null;
    },

    /** Claimable balances as of the newest ledger that shows, in the order of their creation or last change. */
    async claimableBalances(filter: ClaimableBalanceFilter): Promise<ClaimableBalanceEntry[]> {
      const { claimant, ...fields } = filter;
      const wanted = { kind: 'claimable_balance', ...fields, ...(claimant && { 'claimants.destination': claimant }) };
      const newest = await store.entries.find(wanted as Filter<Entry>).toArray();
      const found = past.asOf(visible().latest, (entry) => matchesBalance(entry, filter), newest);
      return (found as ClaimableBalanceEntry[]).sort(byChange);
    },
  };
}
