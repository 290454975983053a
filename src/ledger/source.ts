/** The interface of a ledger source, which every kind of server (Horizon, Stellar RPC) implements,
 *  and the shapes of its answers. All kinds number by ledger, transaction and operation, so that a
 *  cursor of one kind continues on another. */
import type { Asset } from '../domain/asset.js';
import type { Amount } from '../domain/books.js';
import type { AccountHistory } from './history.js';
import type { LedgerRecord } from './records.js';

// Errors of ledger sources. None names a URL beyond its host: the rest may hold keys.

/** `server`: the whole server is in trouble. `slow`, `too_large` and `missing`: only this answer
 *  took too long, was too large or does not exist. */
type SourceErrorKind = 'server' | 'slow' | 'too_large' | 'missing';

/** A server gave no answer or an invalid one. The reason names neither URL nor content. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  /** The delay that the server asked for; null without one. */
  readonly retryAfterMs: number | null;
  readonly kind: SourceErrorKind;
  constructor(
    readonly reason: string,
    { retryAfterMs = null, kind = 'server' }: { retryAfterMs?: number | null; kind?: SourceErrorKind } = {},
  ) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
    this.kind = kind;
  }
}

/** No source gave a usable answer; retry after `retryAfterMs`. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
  constructor(
    /** One short line. */
    readonly reason: string,
    readonly retryAfterMs: number,
    /** Only this answer is unavailable; others may be fine. */
    readonly isOfOne = false,
  ) {
    super(`the ledger cannot be read: ${reason}`);
  }
}

/** A server does not know an account whose records were read before and must still be kept. Its
 *  answer about the account is not trusted; its other answers are. */
export class UnsureHistory extends LedgerUnavailable {
  constructor() {
    super('it no longer knows the history of an account that has one', 0);
  }
}

/** A share of the request budget, or all of it, is used up. */
export class BudgetUsedUp extends LedgerUnavailable {
  constructor(waitMs: number) {
    super('the request budget is used up', waitMs);
  }
  /** Whole seconds, at least 1. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.retryAfterMs / 1000));
  }
}

/** A server answers but must not be read. Retrying does not help until a setting changes. */
export abstract class UnfitServer extends Error {}

/** A server serves another network than configured. */
export class WrongNetwork extends UnfitServer {
  override readonly name = 'WrongNetwork';
  constructor(
    readonly server: string,
    readonly expected: string,
    readonly found: string,
  ) {
    super(`${server} serves the network "${found}", not "${expected}"`);
  }
}

/** A Stellar RPC server that shows no events of classic payments. */
export class BlindServer extends UnfitServer {
  override readonly name = 'BlindServer';
  constructor(readonly server: string) {
    super(`${server} shows no events of classic payments: its stellar-core has to run with EMIT_CLASSIC_EVENTS=true`);
  }
}

/** A server's newest ledger and its oldest kept one. */
export interface LedgerTip {
  latestLedger: number;
  latestClosedAt: Date;
  oldestLedger: number;
  passphrase: string;
  /** The server's software version, such as `28.0.0`; null if unknown. */
  version: string | null;
  /** The network's protocol version as the server reports it; null if unknown. */
  protocol: number | null;
  /** The server reports that it is behind the network. */
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
  /** The cursor of the last readable record; null without one. */
  cursor: string | null;
  /** As many records as requested: more may follow. */
  full: boolean;
  /** The server no longer keeps the ledgers after the cursor. */
  gone: boolean;
  /** The newest ledger that this answer proves its server to have; null when it proves none.
   *  Several servers may share one URL, so only the answer itself tells how far its server is.
   *  Meaningless for a full page. */
  shownLedger: number | null;
  /** The addresses that the page was narrowed to: payments of others may be missing. Null
   *  for all. */
  among: readonly string[] | null;
}

/** The most addresses that a page can be narrowed to: what one Stellar RPC request can name. */
export const MOST_AMONG = 12;

/** The most trustlines in one Stellar RPC request, besides the account itself. */
export const MOST_ASSETS = 199;

/** Options of reading after a cursor. */
interface PageOptions {
  /** Omits what `complete` can fetch. */
  lean?: boolean;
  /** Everything up to this ledger has been dealt with, even if the cursor is older: the source may
   *  begin after it. */
  shownLedger?: number;
  /** Records of the address were seen in ledgers that are still kept. Default false. */
  hasRecords?: boolean;
  /** The only addresses that matter, if they are few; null when they are many. Called just before
   *  the request, by sources that can read less for few addresses. */
  among?(): Promise<readonly string[] | null>;
}

/** A ledger's bytes, as its hashes cover them. */
export interface LedgerBytes {
  /** `LedgerHeader`. */
  header: Buffer;
  /** In the order of their application, failed ones too; `TransactionEnvelope`
   *  and `TransactionResult`. */
  transactions: { hash: string; envelope: Buffer; result: Buffer }[];
}

/** What one server has told of a ledger's bytes: a call that ends amid its requests leaves it, and
 *  the next one goes on from there. */
export interface BytesSoFar {
  header: Buffer | null;
  transactions: LedgerBytes['transactions'];
  /** Where the next page begins; null after the last one. */
  next: string | null;
}

export const noBytes = (): BytesSoFar => ({ header: null, transactions: [], next: '' });

/** More than a ledger of the network holds. */
const MOST_TRANSACTIONS = 20_000;
const MOST_BYTES = 16_777_216;

/** Adds a page. @throws SourceError for a server that shows more than a ledger can hold */
export function addTransactions(soFar: BytesSoFar, page: LedgerBytes['transactions'], next: string | null): void {
  const transactions = [...soFar.transactions, ...page];
  const bytes = transactions.reduce((sum, { envelope, result }) => sum + envelope.length + result.length, 0);
  if (bytes > MOST_BYTES || (next !== null && transactions.length >= MOST_TRANSACTIONS))
    throw new SourceError('a ledger with too many transactions', { kind: 'too_large' });
  Object.assign(soFar, { transactions, next });
}

interface QuietCheck {
  /** The server has no payment after the cursor. */
  isQuiet: boolean;
  /** A ledger that the server certainly had; null when its answer does not show it. */
  shownLedger: number | null;
}

/** An account on the ledger. */
interface LedgerAccount {
  /** It has a trustline to the requested asset. */
  trusts: boolean;
}

export interface Holding extends Amount {
  /** The issuer allows the account to receive it. */
  authorized: boolean;
}

/** An account's balances. */
export interface Holdings {
  /** Empty when the account is not on the ledger. */
  balances: Holding[];
  /** The newest ledger that changed the account or one of its trustlines; 0 when the account is not
   *  on the ledger. */
  changedLedger: number;
  /** A ledger that the answer certainly includes; null when the answer does not show it. */
  latestLedger: number | null;
}

/** The most assets in one request for ways to pay. */
export const MOST_WAYS = 15;

/** A way to pay an amount in another asset on the network's market. */
export interface Way {
  asset: Asset;
  /** Stroops of that asset. */
  cost: bigint;
  /** The assets in between, in order from the payer. */
  path: readonly Asset[];
}

/** A server's answer to a submitted transaction. */
export type Submission =
  /** It is in a ledger. */
  | { state: 'applied' }
  /** Accepted, or perhaps accepted: its inclusion in a ledger is unknown. */
  | { state: 'pending' }
  /** Horizon's codes, such as `tx_failed` with `op_underfunded`, or `tx_bad_seq` with null. */
  | { state: 'refused'; transactionCode: string; operationCode: string | null };

/** One server. Every call throws `SourceError`, an `UnfitServer` when the server must not be read,
 *  or `UnsureHistory`. */
export interface LedgerSource {
  tip(): Promise<LedgerTip>;
  /** The payments of one address; an unknown account has an empty page.
   *  @param cursor exclusive. @param limit at most 200 */
  accountPayments(address: string, cursor: string, limit: number, options?: PageOptions): Promise<Page>;
  /** The payments of the whole network. */
  payments(cursor: string, limit: number, options?: PageOptions): Promise<Page>;
  /** Whether no payment came after the cursor, from one answer that shows how far its server is.
   *  @param address null for the whole network */
  quietCheck(address: string | null, cursor: string, options?: PageOptions): Promise<QuietCheck>;
  /** Fetches the missing part of a record that concerns a watched wallet. @returns the completed
   *  record, still `incomplete` when the part is unavailable */
  complete(record: LedgerRecord, concernsUs: (receivers: readonly string[]) => boolean): Promise<LedgerRecord>;
  /** The payments of one transaction; null when the server does not know it or no longer keeps it.
   *  @param transactionHash 64 hex digits */
  transactionRecords(transactionHash: string): Promise<LedgerRecord[] | null>;
  /** `gone` before the oldest kept ledger; null for one that the server does not know yet. */
  ledger(sequence: number): Promise<Ledger | 'gone' | null>;
  /** For proofs; otherwise as `ledger`.
   *  @param soFar grows as answers come */
  ledgerBytes(sequence: number, soFar: BytesSoFar): Promise<LedgerBytes | 'gone' | null>;
  /** What the success hash of a contract call covers; null when the server does not tell it, or
   *  no longer. */
  invocation(transactionHash: string): Promise<Buffer | null>;
  /** The newest ledger that closed at or before the time; null when none that old is kept. */
  ledgerAtOrBefore(time: Date): Promise<Pick<Ledger, 'sequence' | 'closedAt'> | null>;
  /** Null when the account is not on the ledger. @param asset not the native one */
  account(address: string, asset: Asset | null): Promise<LedgerAccount | null>;
  /** @param assets besides lumens: a kind of server that cannot list balances reports only these,
   *  at most `MOST_ASSETS` */
  holdings(address: string, assets: readonly Asset[]): Promise<Holdings>;
  /** The sequence number of an account's newest transaction, decimal text; null when the account is
   *  not on the ledger. */
  sequenceOf(address: string): Promise<string | null>;
  /** Submits a signed transaction and waits some seconds for its result. Submitting the same one
   *  again is harmless.
   *  @param envelope base64 of a TransactionEnvelope */
  submit(envelope: string): Promise<Submission>;
  /** The cheapest way from each asset that leads to the amount. Missing for a kind of server that
   *  sees no market.
   *  @param from at most `MOST_WAYS`, without the due asset */
  waysTo?(due: Amount, from: readonly Asset[]): Promise<Way[]>;
  /** Read by audits. Missing for a kind of server that keeps no histories of accounts. */
  history?: AccountHistory;
}
