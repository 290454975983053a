/** Records of the ledger as understood, whatever kind of source they came from, and their ids. */
import type { xdr } from '@stellar/stellar-sdk/base';
import type { Asset } from '../domain/asset.js';
import type { CreditMemo } from '../domain/memo.js';
import { sdk } from '../domain/stellar-sdk.js';
import { parseStrkey, type StrkeyKind, strkeyOf } from '../domain/strkey.js';
import { parseRecord as parseHorizonRecord } from './horizon/record.js';
import { isRpcOperation, parseOperation } from './rpc/operation.js';
import { parseEvent } from './rpc/page.js';
import { createContractIds, symbol } from './rpc/token-event.js';

// Results of a transaction's operations, in the envelope's order.

/** The results of a transaction's operations; for a fee bump, of the inner transaction. @param
 *  resultXdr base64 of a TransactionResult
 *  @throws when it cannot be decoded or has none */
export function operationResultsIn(resultXdr: string): readonly xdr.OperationResult[] {
  const outer = sdk().xdr.TransactionResult.fromXdr(resultXdr, 'base64').result;
  const result = outer.type === 'txFeeBumpInnerSuccess' ? outer.innerResultPair.result.result : outer;
  if (!('results' in result)) throw new TypeError('a transaction without results of operations');
  return result.results;
}

// Addresses as ledger sources write them (SEP-23). Money belongs to base accounts, whatever the
// form of their address.

/** The contract (C…) of a C… or W… address; null for any other text. */
export function contractOf(text: string): string | null {
  const parsed = parseStrkey(text);
  if (parsed?.kind === 'W') return strkeyOf('C', parsed.bytes.subarray(0, CONTRACT_BYTES));
  return parsed?.kind === 'C' ? text : null;
}

const CONTRACT_BYTES = 32;
const OTHER_HOLDERS: readonly (StrkeyKind | undefined)[] = ['C', 'W', 'B', 'L'];

/** Whether the address is a holder other than an account: a contract (C…, or W… with an id), a
 *  claimable balance (B…) or a liquidity pool (L…). */
export const isOtherHolder = (text: string): boolean => OTHER_HOLDERS.includes(parseStrkey(text)?.kind);

// TOIDs (SEP-35): 64-bit ids `ledger << 32 | transaction << 12 | operation`, as decimal text or
// BigInt, because they exceed 2^53.

const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Null for any text but a canonical decimal id greater than 0. */
export function parseToid(text: string): bigint | null {
  if (!/^[1-9]\d{0,18}$/.test(text)) return null;
  const id = BigInt(text);
  return id <= MAX_INT64 ? id : null;
}

export const ledgerOf = (toid: bigint): number => Number(toid >> 32n);

/** The operation's 1-based place within its transaction; 0 is the transaction itself. */
export const operationOrderOf = (toid: bigint): number => Number(toid & 0xfffn);

/** The TOID of an operation's transaction. */
export const transactionOf = (toid: bigint): bigint => toid & ~0xfffn;

/** Ledgers, their transactions and their operations are numbered from 1. */
export const isOperation = (toid: bigint): boolean =>
  ledgerOf(toid) > 0 && ((toid >> 12n) & 0xf_ffffn) > 0n && operationOrderOf(toid) > 0;

/** The cursor after everything in `ledger`; Horizon turns `now` into this cursor of its
 *  newest ledger. */
export const cursorAfter = (ledger: number): string => ((BigInt(ledger) << 32n) | 0xffff_ffffn).toString();

/** The place of a paging token in its list: its TOID, and for effects (`<toid>-<order>`) their
 *  order within the operation. */
export function placeOf(token: string): readonly [toid: bigint, order: bigint] {
  const [toid = '', order = ''] = token.split('-');
  return [BigInt(toid), BigInt(order)];
}

export const isAfter = (place: readonly [bigint, bigint], other: readonly [bigint, bigint]): boolean =>
  place[0] === other[0] ? place[1] > other[1] : place[0] > other[0];

/** The ledger of a cursor or paging token. */
export const ledgerOfCursor = (cursor: string): number => ledgerOf(placeOf(cursor)[0]);

// Parses a raw record of any kind of source.

/** @param passphrase of the record's network */
export function parseRecord(raw: unknown, passphrase: string): RecordOutcome {
  const contractIdOf = createContractIds(passphrase);
  if (isRpcOperation(raw)) return parseOperation(raw, contractIdOf);
  return parseEvent(raw, contractIdOf) ?? parseHorizonRecord(raw);
}

/** Whether a record may pay one of these addresses in an asset of its own, by a payment or a burn.
 *  What an operation of Stellar RPC did is not told by its text.
 *  @param json a raw record of any kind of source */
export function mayPayIssuer(json: string, addresses: readonly string[]): boolean {
  const signs = ['"type":"burn"', symbol('burn'), '"envelopeXdr":'];
  const own = addresses.map((address) => `"asset_issuer":"${address}"`);
  return [...signs, ...own].some((sign) => json.includes(sign));
}

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

/** For logs and metrics. `malformed` covers missing and contradictory fields; `parser_failed` is a
 *  bug of the service. */
type RecordFault = 'not_a_record' | 'unknown_type' | 'malformed' | 'out_of_range' | 'parser_failed';

export interface NotUnderstood {
  fault: RecordFault;
  /** One short line without any of the record's content. */
  reason: string;
  /** Accounts (G…) that it may have paid, or that may have paid a contract; for an `unknown_type`
   *  all that it names. Null when unknown: it may concern any account. */
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
  /** All credits, to any account: the caller selects its own wallets. At least one of the two lists
   *  has items. */
  | ({ kind: 'credits'; credits: Credit[]; parked: ParkedChange[] } & Place)
  | { kind: 'ignored'; reason: IgnoredReason; pagingToken: string }
  /** A second request can fetch the missing part, which is only needed when one of the
   *  receivers matters. */
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
