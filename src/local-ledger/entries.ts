/** Entries of the ledger (accounts, trustlines, data, claimable balances, offers), and the layers
 *  in which a transaction changes them. Only a commit passes changes to the layer below, so a
 *  failed operation or transaction leaves no trace. */
import type { IssuedAsset, LedgerAsset } from './asset.js';
import type { Price } from './offers/exchange.js';
import { BASE_RESERVE, MAX_INT64 } from './stroops.js';

export const AUTH_REQUIRED = 1;
export const AUTH_REVOCABLE = 2;
export const AUTH_IMMUTABLE = 4;
export const AUTH_CLAWBACK = 8;

export const LINE_AUTHORIZED = 1;
export const LINE_MAINTAIN = 2;
export const LINE_CLAWBACK = 4;

export interface Signer {
  /** G… or X… (a hash whose preimage signs). */
  key: string;
  weight: number;
  /** The sponsor that pays the signer's reserve; null for the account itself. */
  sponsor?: string | null;
}

/** What an account's offers may still bring to it and take from it. */
export interface Liabilities {
  buying: bigint;
  selling: bigint;
}

export interface AccountEntry {
  _id: string;
  kind: 'account';
  owner: string;
  balance: bigint;
  sequence: bigint;
  /** Ledger and close time (seconds) of the last change of `sequence`; null while the account has
   *  not used it. */
  sequenceLedger: number | null;
  sequenceTime: number | null;
  subentries: number;
  flags: number;
  homeDomain: string;
  inflationDestination: string | null;
  thresholds: { master: number; low: number; medium: number; high: number };
  signers: Signer[];
  /** Reserves that the account pays for others, and that others pay for it. Absent means 0. */
  sponsoring?: number;
  sponsored?: number;
  sponsor?: string | null;
  /** Liabilities of its lumens. Absent means none. */
  liabilities?: Liabilities;
  modified: { ledger: number; time: number };
}

export interface TrustlineEntry {
  _id: string;
  kind: 'trustline';
  owner: string;
  code: string;
  issuer: string;
  balance: bigint;
  limit: bigint;
  flags: number;
  sponsor?: string | null;
  liabilities?: Liabilities;
  modified: { ledger: number; time: number };
}

export interface DataEntry {
  _id: string;
  kind: 'data';
  owner: string;
  name: string;
  /** Base64. */
  value: string;
  sponsor?: string | null;
  modified: { ledger: number; time: number };
}

export interface ClaimableBalanceEntry {
  _id: string;
  kind: 'claimable_balance';
  /** A claimable balance has no owner: this is its own id, in hexadecimal. */
  owner: string;
  asset: LedgerAsset;
  amount: bigint;
  /** Predicates in base64 XDR, with absolute times. */
  claimants: { destination: string; predicate: string }[];
  isClawbackEnabled: boolean;
  sponsor?: string | null;
  modified: { ledger: number; time: number };
}

export interface OfferEntry {
  _id: string;
  kind: 'offer';
  /** The seller. */
  owner: string;
  offerId: bigint;
  selling: LedgerAsset;
  buying: LedgerAsset;
  /** Both assets by name (see `bookName`): the offer's list. */
  book: string;
  /** Amount of the sold asset. */
  amount: bigint;
  /** Units bought for one unit sold. */
  price: Price;
  /** It does not take offers at its own price. */
  isPassive: boolean;
  sponsor?: string | null;
  modified: { ledger: number; time: number };
}

/** Counts the ids of offers. */
export interface IdPoolEntry {
  _id: string;
  kind: 'id_pool';
  owner: '';
  last: bigint;
  sponsor?: null;
  modified: { ledger: number; time: number };
}

export type OwnedEntry = AccountEntry | TrustlineEntry | DataEntry | ClaimableBalanceEntry | OfferEntry;
export type Entry = OwnedEntry | IdPoolEntry;

export const accountKey = (id: string): string => `account:${id}`;
export const trustlineKey = (owner: string, { code, issuer }: IssuedAsset): string =>
  `trust:${owner}:${code}:${issuer}`;
export const dataKey = (owner: string, name: string): string => `data:${owner}:${name}`;

export const claimableBalanceKey = (id: string): string => `claimable:${id}`;
export const offerKey = (id: bigint): string => `offer:${id}`;
export const ID_POOL_KEY = 'id_pool';

export const minimumBalance = ({ subentries, sponsoring = 0, sponsored = 0 }: AccountEntry): bigint =>
  BigInt(2 + subentries + sponsoring - sponsored) * BASE_RESERVE;

/** The accounts that sponsor an entry's reserves. */
export const sponsorsOf = (entry: Entry): string[] =>
  [entry.sponsor, ...(entry.kind === 'account' ? entry.signers.map(({ sponsor }) => sponsor) : [])].flatMap(
    (sponsor) => sponsor ?? [],
  );

const NO_LIABILITIES: Liabilities = { buying: 0n, selling: 0n };

export const liabilitiesOf = ({ liabilities = NO_LIABILITIES }: { liabilities?: Liabilities }): Liabilities =>
  liabilities;

export const availableBalance = (account: AccountEntry): bigint =>
  account.balance - minimumBalance(account) - liabilitiesOf(account).selling;

export const availableOnLine = (line: TrustlineEntry): bigint => line.balance - liabilitiesOf(line).selling;

/** How much more it can hold. */
export const roomOf = (entry: AccountEntry | TrustlineEntry): bigint =>
  (entry.kind === 'account' ? MAX_INT64 : entry.limit) - entry.balance - liabilitiesOf(entry).buying;

export interface View {
  account(id: string): Readonly<AccountEntry> | null;
  trustline(owner: string, asset: IssuedAsset): Readonly<TrustlineEntry> | null;
  data(owner: string, name: string): Readonly<DataEntry> | null;
  claimableBalance(id: string): Readonly<ClaimableBalanceEntry> | null;
  /** Offers in no particular order. */
  offers(matches: (offer: Readonly<OfferEntry>) => boolean): Readonly<OfferEntry>[];
  read(key: string): Readonly<Entry> | null;
  /** Replaces the entry by a changed copy. */
  update<E extends Entry>(entry: Readonly<E>, change: (copy: E) => void): void;
  put(entry: Entry): void;
  remove(key: string): void;
  child(): View;
  /** Passes this layer's changes to the layer below. */
  commit(): void;
  /** This layer's own changes; null for a removed entry. */
  changes(): ReadonlyMap<string, Entry | null>;
}

/** The lowest layer: entries as loaded from the store. A key that was not loaded throws, which is
 *  the caller's bug. */
export function createView(loaded: ReadonlyMap<string, Entry | null>): View {
  const read = (key: string) => {
    const entry = loaded.get(key);
    if (entry === undefined) throw new Error(`ledger entry was not loaded: ${key}`);
    return entry;
  };
  return createLayer({ read, offers: () => offersIn(new Map(), loaded) });
}

type Offers = Map<string, Readonly<OfferEntry>>;

interface Below {
  read(key: string): Readonly<Entry> | null;
  offers(): Offers;
}

/** Lays the offers among `entries` over those of `below`. */
function offersIn(below: Offers, entries: ReadonlyMap<string, Entry | null>): Offers {
  for (const [key, entry] of entries) {
    if (entry === null) below.delete(key);
    else if (entry.kind === 'offer') below.set(key, entry);
  }
  return below;
}

function createLayer(below: Below, commitTo?: (key: string, entry: Entry | null) => void): View {
  const own = new Map<string, Entry | null>();
  const read = (key: string) => {
    const entry = own.get(key);
    return entry === undefined ? below.read(key) : entry;
  };
  const offers = () => offersIn(below.offers(), own);
  return {
    read,
    account: (id) => read(accountKey(id)) as AccountEntry | null,
    trustline: (owner, asset) => read(trustlineKey(owner, asset)) as TrustlineEntry | null,
    data: (owner, name) => read(dataKey(owner, name)) as DataEntry | null,
    claimableBalance: (id) => read(claimableBalanceKey(id)) as ClaimableBalanceEntry | null,
    offers: (matches) => [...offers().values()].filter(matches),
    update(entry, change) {
      const copy = copyOf(entry);
      change(copy);
      own.set(copy._id, copy);
    },
    put: (entry) => void own.set(entry._id, entry),
    remove: (key) => void own.set(key, null),
    child: () => createLayer({ read, offers }, (key, entry) => own.set(key, entry)),
    commit() {
      if (commitTo === undefined) throw new Error('the lowest layer has nothing below');
      for (const [key, entry] of own) commitTo(key, entry);
      own.clear();
    },
    changes: () => own,
  };
}

function copyOf<E extends Entry>(entry: Readonly<E>): E {
  const copy: E = { ...entry, modified: { ...entry.modified } };
  if (copy.kind === 'account') {
    copy.thresholds = { ...copy.thresholds };
    copy.signers = copy.signers.map((signer) => ({ ...signer }));
  }
  return copy;
}
