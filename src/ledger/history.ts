/** The history of an account as an audit reads it: all that moved its balances. Answers are untrusted; all kinds count alike, by TOID. */
import type { BalanceEffect, OperationFacts } from '../domain/books.js';
import type { LedgerRecord } from './records.js';

export interface AccountEffect {
  operationId: string;
  /** Where the next page begins. */
  pagingToken: string;
  closedAt: Date;
  /** The account was created by it; `effect` holds what it began with. */
  isCreation: boolean;
  /** Null when it moved no balance. */
  effect: BalanceEffect | null;
  /** The name of a kind that is not known, which may have moved one. */
  unknownKind: string | null;
}

export interface AccountOperation extends OperationFacts {
  id: string;
  transactionHash: string | null;
  /** Accounts and contracts that it names as paying or paid, its source last. */
  parties: string[];
}

/** A transaction, also a failed one. */
export interface AccountFee {
  ledger: number;
  pagingToken: string;
  closedAt: Date;
  transactionHash: string | null;
  memo: string | null;
  /** Stroops; 0 where another account paid. */
  fee: bigint;
}

export interface HistoryPage<Item> {
  /** Oldest first, each after the cursor. */
  items: Item[];
  /** As many as were asked for: there may be more. */
  full: boolean;
  /** The server says that it has never heard of the account. */
  isUnknown?: true;
}

/** Where a list of an account ends, in one answer of the server. */
export interface ListEnd {
  /** The paging token of its newest item; null when it has none. */
  newest: string | null;
  /** A ledger that the server which gave this answer certainly had; null when the answer does not tell. */
  shownLedger: number | null;
  /** The server has never heard of the account. */
  isUnknown: boolean;
}

/** What a server can tell of an account's history. Every call throws `SourceError`. An account that the server has never seen has empty pages. */
export interface AccountHistory {
  /** @param cursor a paging token of an effect */
  effects(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountEffect>>;
  /** Operations of successful transactions. @param cursor an operation's id, exclusive */
  operations(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountOperation>>;
  /** One operation, also as a record of the payments that it may hold; null when the server no longer has it, or goes on behind it without it.
   *  @throws LedgerUnavailable while the server has not come so far */
  operation(id: string): Promise<{ operation: AccountOperation; record: LedgerRecord } | null>;
  fees(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountFee>>;
  effectsEnd(address: string): Promise<ListEnd>;
  feesEnd(address: string): Promise<ListEnd>;
}
