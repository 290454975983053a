/** This ledger's operations by their XDR name, and a stand-in that refuses all others. */
import { xdr } from '@stellar/stellar-sdk/base';
import { type Party, toParty } from '../party.js';
import { accountMerge } from './account-merge.js';
import { changeTrust } from './change-trust.js';
import { claimClaimableBalance, createClaimableBalance } from './claimable-balance.js';
import { clawback } from './clawback.js';
import { createAccount } from './create-account.js';
import type { Context, OfferSearch, OperationKind, Outcome } from './kind.js';
import { manageData } from './manage-data.js';
import { createPassiveSellOffer, manageBuyOffer, manageSellOffer } from './manage-offer.js';
import { pathPaymentStrictReceive, pathPaymentStrictSend } from './path-payment.js';
import { payment } from './payment.js';
import { setOptions } from './set-options.js';
import { beginSponsoring, endSponsoring } from './sponsorship.js';
import { setTrustLineFlags } from './trust-line-flags.js';

const kinds: Partial<Record<string, OperationKind<never>>> = {
  createAccount,
  payment,
  pathPaymentStrictReceive,
  pathPaymentStrictSend,
  manageSellOffer,
  manageBuyOffer,
  createPassiveSellOffer,
  setOptions,
  changeTrust,
  accountMerge,
  manageData,
  setTrustLineFlags,
  clawback,
  createClaimableBalance,
  claimClaimableBalance,
  beginSponsoringFutureReserves: beginSponsoring,
  endSponsoringFutureReserves: endSponsoring as OperationKind<never>,
};

/** An operation of a transaction: a kind bound to its body. */
export interface BoundOperation {
  type: string;
  typeIndex: number;
  isPayment: boolean;
  level: ReturnType<OperationKind<never>['level']>;
  /** Null for the transaction's source. */
  source: Party | null;
  keys(source: string): string[];
  offers(): OfferSearch[];
  participants(): string[];
  /** The account at the other end, which the operation may name by a muxed address; null
   *  without one. */
  counterparty: Party | null;
  check(source: string): xdr.OperationResult | null;
  apply(source: string, context: Context): xdr.OperationResult;
  details(source: Party, outcome: Outcome): Record<string, unknown>;
}

export function bindOperation(operation: xdr.Operation): BoundOperation {
  const body = operation.body;
  const kind = kinds[body.type];
  const source = operation.sourceAccount;
  const party = source ? toParty(source) : null;
  if (kind === undefined) return unsupported(party);
  const value = body.value as never;
  return {
    type: kind.type,
    typeIndex: kind.typeIndex,
    isPayment: kind.isPayment,
    level: kind.level(value),
    source: party,
    keys: (from) => kind.keys(value, from),
    offers: () => kind.offers?.(value) ?? [],
    participants: () => kind.participants(value),
    counterparty: kind.counterparty?.(value) ?? null,
    check: (from) => kind.check(value, from),
    apply: (from, context) => kind.apply(value, from, context),
    details: (from, outcome) => kind.details(value, from, outcome),
  };
}

function unsupported(source: Party | null): BoundOperation {
  const refuse = () => xdr.OperationResult.opNotSupported();
  return {
    type: 'unsupported',
    typeIndex: -1,
    isPayment: false,
    level: 'low',
    source,
    keys: () => [],
    offers: () => [],
    participants: () => [],
    counterparty: null,
    check: refuse,
    apply: refuse,
    details: () => ({}),
  };
}
