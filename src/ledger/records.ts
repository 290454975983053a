/** Records of the ledger as understood, whatever kind of source they came from. */
import type { Asset } from '../domain/asset.js';
import type { CreditMemo } from '../domain/memo.js';

/** Money that came to an account, or that an account paid to a contract. */
export interface Credit {
  /** Decimal text of a TOID; also the paging token. */
  operationId: string;
  /** The index of a Soroban operation's balance change; 0 for other operations. */
  changeIndex: number;
  /** Lower-case hex; the outer transaction's hash for a fee bump. */
  transactionHash: string;
  ledger: number;
  closedAt: Date;
  /** A base account (G…), also when one of its muxed accounts was paid, or a contract (C…). */
  receiver: string;
  /** A base account (G…) or a contract (C…); the issuer for a mint. */
  sender: string;
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
  memo: CreditMemo;
  /** The paid muxed account's id in decimal text; null when the destination is not muxed. */
  destinationMuxedId: string | null;
  /** M…; null when the sender is not muxed. */
  senderMuxedAddress: string | null;
}

/** For logs and metrics. `malformed` covers missing and contradictory fields; `parser_failed` is a bug of the service. */
type RecordFault = 'not_a_record' | 'unknown_type' | 'malformed' | 'out_of_range' | 'parser_failed';

export interface NotUnderstood {
  fault: RecordFault;
  /** One short line without any of the record's content. */
  reason: string;
  /** Accounts (G…) that it may have paid, or that may have paid a contract; for an `unknown_type` all that it names. Null when unknown: it may
   *  concern any account. */
  receivers: readonly string[] | null;
}

/** An unreadable balance change of a Soroban operation; its other changes may be readable. */
type ParkedChange = NotUnderstood & { changeIndex: number };

/** Known for every record that could be read so far. */
export interface Place {
  operationId: string;
  pagingToken: string;
  transactionHash: string;
  ledger: number;
}

export type RecordOutcome =
  /** All credits, to any account: the caller selects its own wallets. At least one of the two lists has items. */
  | ({ kind: 'credits'; credits: Credit[]; parked: ParkedChange[] } & Place)
  | { kind: 'ignored'; reason: IgnoredReason; pagingToken: string }
  /** A second request can fetch the missing part, which is only needed when one of the receivers matters. */
  | ({
      kind: 'incomplete';
      needs: 'transaction' | 'effects';
      receivers: readonly string[];
      /** Given when the memo may make the payment a refund. */
      senders?: readonly string[];
      /** The missing part is too large ever to be read: retrying does not help. */
      isTooLarge?: true;
    } & Place)
  | ({ kind: 'parked' } & { [Key in Exclude<keyof Place, 'ledger'>]: string | null } & NotUnderstood);

type Incomplete = Extract<RecordOutcome, { kind: 'incomplete' }>;

/** All accounts that an incomplete record may concern. */
export const partiesOf = ({ receivers, senders = [] }: Incomplete): string[] => [...receivers, ...senders];

export type IgnoredReason = 'failed' | 'to_itself' | 'nothing_moved' | 'no_account_credited';

/** A record as the source gave it, which is what gets parked, and its outcome. */
export interface LedgerRecord {
  raw: unknown;
  outcome: RecordOutcome;
}
