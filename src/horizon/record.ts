/** One payment-class record of Horizon, which is untrusted JSON, becomes exactly one outcome. Nothing that it holds makes the parser throw. */
import type { Asset } from '../domain/asset.js';
import type { CreditMemo } from '../domain/memo.js';

/** Money that came to an account. */
export interface Credit {
  /** TOID in decimal text, the same as the paging token. */
  operationId: string;
  /** Which balance change of a Soroban operation; 0 for all others. */
  changeIndex: number;
  /** Of the outer transaction where there is a fee bump; lower-case hex. */
  transactionHash: string;
  ledger: number;
  closedAt: Date;
  /** Base account, G…, also where a muxed account of it was paid. */
  receiver: string;
  /** Base account, G…, or contract, C…. Of a mint the issuer. */
  sender: string;
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
  memo: CreditMemo;
}

/** For logs and metrics; `malformed` covers missing fields and fields that contradict each other. */
export type RecordFault = 'not_a_record' | 'unknown_type' | 'malformed' | 'out_of_range';

interface NotUnderstood {
  fault: RecordFault;
  /** One short line, without any of the record's content. */
  reason: string;
  /** Whom it may have paid: G addresses. Null when that cannot be told, so that it may concern anybody. */
  receivers: readonly string[] | null;
}

/** A balance change of a Soroban operation that cannot be understood; those beside it are. */
export interface ParkedChange extends NotUnderstood {
  changeIndex: number;
}

export type RecordOutcome =
  | {
      kind: 'credits';
      operationId: string;
      pagingToken: string;
      ledger: number;
      /** Whoever received them: the caller looks for its own wallets. */
      credits: Credit[];
      parked: ParkedChange[];
    }
  | { kind: 'ignored'; reason: IgnoredReason; pagingToken: string }
  | {
      /** Something is missing that a second request can fetch: call `parseRecord` again with it. */
      kind: 'incomplete';
      needs: 'transaction' | 'effects';
      operationId: string;
      pagingToken: string;
      transactionHash: string;
      ledger: number;
      /** Whom it paid; when none of them matters, there is nothing to fetch. */
      receivers: readonly string[];
    }
  | ({
      kind: 'parked';
      pagingToken: string | null;
      operationId: string | null;
      transactionHash: string | null;
    } & NotUnderstood);

export type IgnoredReason = 'failed' | 'to_itself' | 'nothing_moved' | 'no_account_credited';

/** What a second request fetched for an incomplete record: the raw answers. */
export interface Supplement {
  transaction?: unknown;
  effects?: unknown;
}

export declare function parseRecord(raw: unknown, supplement?: Supplement): RecordOutcome;
