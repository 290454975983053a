/** What a source of the ledger is: the calls that every kind of server (Horizon, Stellar RPC) fills, and the shapes of their answers.
 *
 *  All kinds count alike, by ledger, transaction and operation, so that a cursor of one kind continues on another. */
import type { Asset } from '../domain/asset.js';
import type { Amount } from '../domain/books.js';
import type { AccountHistory } from './history.js';
import type { LedgerRecord } from './records.js';

/** The newest ledger of a server and the oldest one that it keeps. */
export interface LedgerTip {
  latestLedger: number;
  latestClosedAt: Date;
  oldestLedger: number;
  passphrase: string;
  /** Version of the server's software, such as `28.0.0`; null when the server does not say. */
  version: string | null;
  /** The network's, as the server knows it; null when it does not say. */
  protocol: number | null;
  /** The server says itself that it is behind the network. */
  isBehind: boolean;
}

export interface Ledger {
  sequence: number;
  hash: string;
  closedAt: Date;
}

/** Payment records after a cursor, oldest first. */
export interface Page {
  records: LedgerRecord[];
  /** The cursor of the last readable record; null when there is none. */
  cursor: string | null;
  /** As many records as were asked for: there may be more. */
  full: boolean;
  /** The server no longer keeps what lies behind the cursor. */
  gone: boolean;
  /** The newest ledger that this very answer shows its server to have; null when it shows none. Several servers may stand behind one URL, so
   *  nothing else says how far the server was that gave this page. Meaningless for a full page. */
  shownLedger: number | null;
  /** The addresses that it was narrowed to: payments of others may be missing. Null when it was not. */
  among: readonly string[] | null;
}

/** A page can be narrowed to so many addresses: what one request of Stellar RPC can name. */
export const MOST_AMONG = 12;

/** Ledger entries of one request of Stellar RPC, without the account's own. */
export const MOST_ASSETS = 199;

/** How to read on behind a cursor. */
interface PageOptions {
  /** Leaves out what `complete` can fetch. */
  lean?: boolean;
  /** Everything up to this ledger has been dealt with, also where the cursor lies before it: a source may begin behind it. */
  shownLedger?: number;
  /** Records of the address were shown in ledgers that are kept. Default false. */
  hasRecords?: boolean;
  /** The only addresses that matter, where they are few; null when they are many. A source that can read less for them asks, just before it reads. */
  among?(): Promise<readonly string[] | null>;
}

interface QuietCheck {
  /** The server has no payment after the cursor. */
  isQuiet: boolean;
  /** A ledger that the server certainly had; null when its answer does not tell. */
  shownLedger: number | null;
}

/** An account on the ledger. */
interface LedgerAccount {
  /** It has a trustline to the asset that was asked for. */
  trusts: boolean;
}

export interface Holding extends Amount {
  /** The issuer lets the account receive it. */
  authorized: boolean;
}

/** What an account holds. */
export interface Holdings {
  /** Empty for an account that is not on the ledger. */
  balances: Holding[];
  /** The newest ledger in which the account or one of its trustlines changed; 0 for an account that is not on the ledger. */
  changedLedger: number;
  /** A ledger that the answer was certainly made after; null when the answer does not tell. */
  latestLedger: number | null;
}

/** Assets of one question for ways to pay. */
export const MOST_WAYS = 15;

/** A way to pay an amount in another asset, by the network's market. */
export interface Way {
  asset: Asset;
  /** What it costs in that asset, in stroops. */
  cost: bigint;
  /** The assets between, from the payer on. */
  path: readonly Asset[];
}

/** What a server says of a transaction that it was handed. */
export type Submission =
  /** It is in a ledger. */
  | { state: 'applied' }
  /** Taken, or perhaps taken: whether it gets into a ledger is not known yet. */
  | { state: 'pending' }
  /** The codes are Horizon's, such as `tx_failed` with `op_underfunded`, or `tx_bad_seq` with null. */
  | { state: 'refused'; transactionCode: string; operationCode: string | null };

/** One server. Every call throws `SourceError`, an `UnfitServer` when the server must not be read, or `UnsureHistory`. */
export interface LedgerSource {
  tip(): Promise<LedgerTip>;
  /** The payments of one address; an account that the server has never seen has an empty page.
   *  @param cursor exclusive. @param limit at most 200. */
  accountPayments(address: string, cursor: string, limit: number, options?: PageOptions): Promise<Page>;
  /** The payments of the whole network. */
  payments(cursor: string, limit: number, options?: PageOptions): Promise<Page>;
  /** Whether nothing came after the cursor, in one answer that shows how far its server is. @param address null for the whole network. */
  quietCheck(address: string | null, cursor: string, options?: PageOptions): Promise<QuietCheck>;
  /** Fetches what a record lacks, when the record concerns a watched wallet. @returns the record with it, still `incomplete` when it cannot be had. */
  complete(record: LedgerRecord, concernsUs: (receivers: readonly string[]) => boolean): Promise<LedgerRecord>;
  /** The payments of one transaction; null for a transaction that the server does not know (any more). @param transactionHash 64 hex digits */
  transactionRecords(transactionHash: string): Promise<LedgerRecord[] | null>;
  /** `gone` before the oldest ledger that is kept; null for one that the server does not know (yet). */
  ledger(sequence: number): Promise<Ledger | 'gone' | null>;
  /** The newest ledger that closed at or before the time; null when none that old is kept. */
  ledgerAtOrBefore(time: Date): Promise<Pick<Ledger, 'sequence' | 'closedAt'> | null>;
  /** Null for an account that is not on the ledger. @param asset not the native one. */
  account(address: string, asset: Asset | null): Promise<LedgerAccount | null>;
  /** @param assets besides lumens: a kind of server that cannot list what an account holds tells of these, at most `MOST_ASSETS`, and of no others */
  holdings(address: string, assets: readonly Asset[]): Promise<Holdings>;
  /** The sequence number of an account's newest transaction, decimal text; null for an account that is not on the ledger. */
  sequenceOf(address: string): Promise<string | null>;
  /** Hands a signed transaction to the network and waits some seconds for what becomes of it. Handing the same one over again does no harm.
   *  @param envelope base64 of a TransactionEnvelope */
  submit(envelope: string): Promise<Submission>;
  /** The cheapest way from each of the assets that leads to the amount. Missing for a kind of server that sees no market.
   *  @param from at most `MOST_WAYS`, without the asset itself */
  waysTo?(due: Amount, from: readonly Asset[]): Promise<Way[]>;
  /** What an audit reads. Missing for a kind of server that keeps no histories of accounts. */
  history?: AccountHistory;
}
