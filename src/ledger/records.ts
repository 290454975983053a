/** What a record of the ledger comes to, whichever kind of source it was read from. */
import type { Asset } from '../domain/asset.js';
import type { CreditMemo } from '../domain/memo.js';

/** Money that came to an account, or left one for a contract. */
export interface Credit {
  /** TOID in decimal text, the same as the paging token. */
  operationId: string;
  /** Which balance change of a Soroban operation; 0 for all others. */
  changeIndex: number;
  /** Hash of the outer transaction where there is a fee bump; lower-case hex. */
  transactionHash: string;
  ledger: number;
  closedAt: Date;
  /** Base account, G…, also where a muxed account of it was paid; or contract, C…. */
  receiver: string;
  /** Base account, G…, or contract, C…. Of a mint the issuer. */
  sender: string;
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
  memo: CreditMemo;
  /** Id of the muxed account that was paid, decimal text; null when the destination is not muxed. */
  destinationMuxedId: string | null;
  /** M…, where the sender is muxed. */
  senderMuxedAddress: string | null;
}

/** For logs and metrics; `malformed` covers missing fields and fields that contradict each other, `parser_failed` is a bug of ours. */
type RecordFault = 'not_a_record' | 'unknown_type' | 'malformed' | 'out_of_range' | 'parser_failed';

export interface NotUnderstood {
  fault: RecordFault;
  /** One short line, without any of the record's content. */
  reason: string;
  /** G addresses that it may have paid, or that may have paid a contract; for an `unknown_type` all that it names. Null when that cannot be told: it may concern any account. */
  receivers: readonly string[] | null;
}

/** A balance change of a Soroban operation that cannot be understood; those beside it are. */
type ParkedChange = NotUnderstood & { changeIndex: number };

/** Known of every record that has been understood so far. */
export interface Place {
  operationId: string;
  pagingToken: string;
  transactionHash: string;
  ledger: number;
}

export type RecordOutcome =
  /** All credits, to any account: the caller picks its own wallets. At least one of the two lists has items. */
  | ({ kind: 'credits'; credits: Credit[]; parked: ParkedChange[] } & Place)
  | { kind: 'ignored'; reason: IgnoredReason; pagingToken: string }
  /** Something is missing that a second request can fetch. When none of the receivers matters, there is nothing to fetch. */
  | ({
      kind: 'incomplete';
      needs: 'transaction' | 'effects';
      receivers: readonly string[];
      /** The sender, where the memo may make it a refund. */
      senders?: readonly string[];
      /** It was found, and is too large ever to be read: asking again does not help. */
      isTooLarge?: true;
    } & Place)
  | ({ kind: 'parked' } & { [Key in Exclude<keyof Place, 'ledger'>]: string | null } & NotUnderstood);

type Incomplete = Extract<RecordOutcome, { kind: 'incomplete' }>;

/** Everybody whom an incomplete record may concern. */
export const partiesOf = ({ receivers, senders = [] }: Incomplete): string[] => [...receivers, ...senders];

export type IgnoredReason = 'failed' | 'to_itself' | 'nothing_moved' | 'no_account_credited';

/** A record as the source gave it, which is what gets parked, and what was understood of it. */
export interface LedgerRecord {
  raw: unknown;
  outcome: RecordOutcome;
}
