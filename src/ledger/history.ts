/** An account's history as an audit reads it: everything that moved its balances. Answers are
 *  untrusted; all kinds of servers order by TOID. */
import type { BalanceEffect, OperationFacts } from '../domain/books.js';
import type { LedgerRecord } from './records.js';

export interface AccountEffect {
  operationId: string;
  /** The cursor of the next page. */
  pagingToken: string;
  closedAt: Date;
  /** Whether it created the account; `effect` then holds the starting balance. */
  isCreation: boolean;
  /** Null when it moved no balance. */
  effect: BalanceEffect | null;
  /** The name of an unknown kind, which may have moved a balance. */
  unknownKind: string | null;
}

export interface AccountOperation extends OperationFacts {
  id: string;
  transactionHash: string | null;
  /** Accounts and contracts named as paying or paid; the operation's source comes last. */
  parties: string[];
}

/** A transaction, perhaps a failed one. */
export interface AccountFee {
  ledger: number;
  pagingToken: string;
  closedAt: Date;
  transactionHash: string | null;
  memo: string | null;
  /** Stroops; 0 if another account paid. */
  fee: bigint;
}

export interface HistoryPage<Item> {
  /** Oldest first, all after the cursor. */
  items: Item[];
  /** As many items as requested: more may follow. */
  full: boolean;
  /** The server does not know the account. */
  isUnknown?: true;
}

/** The end of an account's list, from one answer. */
export interface ListEnd {
  /** The paging token of the newest item; null for an empty list. */
  newest: string | null;
  /** A ledger that the answering server certainly had; null when the answer does not show it. */
  shownLedger: number | null;
  /** The server does not know the account. */
  isUnknown: boolean;
}

/** A server's history of accounts. Every call throws `SourceError`. An unknown account has
 *  empty pages. */
export interface AccountHistory {
  /** @param cursor paging token of an effect */
  effects(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountEffect>>;
  /** Operations of successful transactions. @param cursor id of an operation, exclusive */
  operations(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountOperation>>;
  /** One operation, also as a record of its possible payments; null when the server no longer keeps
   *  it, or continues after it without it.
   *  @throws LedgerUnavailable while the server has not reached it */
  operation(id: string): Promise<{ operation: AccountOperation; record: LedgerRecord } | null>;
  fees(address: string, cursor: string, limit: number): Promise<HistoryPage<AccountFee>>;
  effectsEnd(address: string): Promise<ListEnd>;
  feesEnd(address: string): Promise<ListEnd>;
}
