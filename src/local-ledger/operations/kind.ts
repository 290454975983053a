/** The definition of a kind of operation. Each kind or family has its own file. */
import { xdr } from '@stellar/stellar-sdk/base';
import type { LedgerAsset } from '../asset.js';
import type { View } from '../entries.js';
import type { Movement } from '../movements.js';
import type { Party } from '../party.js';

export type Level = 'low' | 'medium' | 'high';

export interface Effect {
  type: string;
  type_i: number;
  account: string;
  [field: string]: unknown;
}

export interface Context {
  view: View;
  ledger: { sequence: number; closeTime: number };
  /** The operation's place: its transaction's source account and sequence number, and its index
   *  from 0. */
  origin: { source: string; sequence: bigint; index: number };
  /** A successful operation adds its effects and movements. */
  effects: Effect[];
  movements: Movement[];
  /** Sponsorships in force within the transaction: sponsors by sponsored account. */
  sponsorships: Map<string, string>;
  /** Set by an operation to the sponsor of the entry that it created. */
  sponsor: string | null;
}

/** All offers of a book, or of an account. */
export type OfferSearch = { book: string } | { owner: string };

export interface Outcome {
  successful: boolean;
  result: xdr.OperationResult;
  sponsor: string | null;
}

export interface OperationKind<Body> {
  /** Horizon's `type` and `type_i`. */
  type: string;
  typeIndex: number;
  /** Whether its records are in `/payments`. */
  isPayment: boolean;
  /** The threshold that the source's signers must reach. */
  level(body: Body): Level;
  /** Every entry that `apply` may touch besides the source account. */
  keys(body: Body, source: string): string[];
  /** Every offer that `apply` may touch. */
  offers?(body: Body): OfferSearch[];
  /** Accounts whose history shows the operation, besides its source. */
  participants(body: Body): string[];
  /** The account at the other end, which the operation may name by a muxed address. */
  counterparty?(body: Body): Party;
  /** Checks the operation without the ledger's state. Null if it is valid. */
  check(body: Body, source: string): xdr.OperationResult | null;
  /** Changes `context.view`, which is discarded unless the result is a success. */
  apply(body: Body, source: string, context: Context): xdr.OperationResult;
  /** The record's fields besides the common ones. */
  details(body: Body, source: Party, outcome: Outcome): Record<string, unknown>;
}

export const inner = (result: xdr.OperationResultTr): xdr.OperationResult => xdr.OperationResult.opInner(result);

/** The code of a result: the operation's own if it got that far. */
export const codeOf = (result: xdr.OperationResult): string =>
  result.type === 'opInner' ? result.tr.value.type : result.type;

export const isSuccess = (result: xdr.OperationResult): boolean =>
  result.type === 'opInner' && result.tr.value.toXdrObject().code === 0;

export const effects = {
  accountCreated: (account: string, startingBalance: string): Effect => ({
    type: 'account_created',
    type_i: 0,
    account,
    starting_balance: startingBalance,
  }),
  accountRemoved: (account: string): Effect => ({ type: 'account_removed', type_i: 1, account }),
  credited: (account: string, asset: Record<string, string>, amount: string): Effect => ({
    type: 'account_credited',
    type_i: 2,
    account,
    ...asset,
    amount,
  }),
  debited: (account: string, asset: Record<string, string>, amount: string): Effect => ({
    type: 'account_debited',
    type_i: 3,
    account,
    ...asset,
    amount,
  }),
  contractCredited: (account: string, moved: Record<string, string>): Effect => ({
    type: 'contract_credited',
    type_i: 96,
    account,
    ...moved,
  }),
  contractDebited: (account: string, moved: Record<string, string>): Effect => ({
    type: 'contract_debited',
    type_i: 97,
    account,
    ...moved,
  }),
};

/** Narrows an asset that `check` has accepted. */
export function valid(asset: LedgerAsset | undefined): LedgerAsset {
  if (asset === undefined) throw new Error('an invalid asset passed the check');
  return asset;
}
