/** Predicates of claimable balances: when a claimant may claim. */
import { xdr } from '@stellar/stellar-sdk/base';
import { toTimestamp } from '../headers.js';
import { MAX_INT64 } from '../stroops.js';

/** Core's limit of nested predicates. */
const MAX_DEPTH = 4;
/** The last second of an ISO date with a four-digit year; Horizon omits later ones. */
const LAST_SECOND = 253_402_300_799n;

const { ClaimPredicate } = xdr;

export function isSoundPredicate(predicate: xdr.ClaimPredicate, depth = 1): boolean {
  if (depth > MAX_DEPTH) return false;
  const areSound = (parts: xdr.ClaimPredicate[]) =>
    parts.length === 2 && parts.every((part) => isSoundPredicate(part, depth + 1));
  switch (predicate.type) {
    case 'claimPredicateUnconditional':
      return true;
    case 'claimPredicateAnd':
      return areSound(predicate.andPredicates);
    case 'claimPredicateOr':
      return areSound(predicate.orPredicates);
    case 'claimPredicateNot': {
      const negated = predicate.notPredicate;
      return Boolean(negated) && isSoundPredicate(negated!, depth + 1);
    }
    case 'claimPredicateBeforeAbsoluteTime':
      return predicate.absBefore >= 0n;
    default:
      return predicate.relBefore >= 0n;
  }
}

/** Makes times relative to the balance's creation absolute. */
export function toAbsolute(predicate: xdr.ClaimPredicate, closeTime: number): xdr.ClaimPredicate {
  const made = (part: xdr.ClaimPredicate) => toAbsolute(part, closeTime);
  switch (predicate.type) {
    case 'claimPredicateAnd':
      return ClaimPredicate.claimPredicateAnd(predicate.andPredicates.map(made));
    case 'claimPredicateOr':
      return ClaimPredicate.claimPredicateOr(predicate.orPredicates.map(made));
    case 'claimPredicateNot':
      return ClaimPredicate.claimPredicateNot(made(predicate.notPredicate!));
    case 'claimPredicateBeforeRelativeTime': {
      const end = predicate.relBefore + BigInt(closeTime);
      const bounded = end > MAX_INT64 ? MAX_INT64 : end;
      return ClaimPredicate.claimPredicateBeforeAbsoluteTime(bounded);
    }
    default:
      return predicate;
  }
}

/** Whether it allows a claim in a ledger that closes at that second. It must not have
 *  relative times. */
export function holds(predicate: xdr.ClaimPredicate, closeTime: number): boolean {
  switch (predicate.type) {
    case 'claimPredicateUnconditional':
      return true;
    case 'claimPredicateAnd':
      return predicate.andPredicates.every((part) => holds(part, closeTime));
    case 'claimPredicateOr':
      return predicate.orPredicates.some((part) => holds(part, closeTime));
    case 'claimPredicateNot':
      return !holds(predicate.notPredicate!, closeTime);
    case 'claimPredicateBeforeAbsoluteTime':
      return BigInt(closeTime) < predicate.absBefore;
    default:
      throw new TypeError('a predicate with a relative time');
  }
}

/** As Horizon shows it. */
export function predicateRecord(predicate: xdr.ClaimPredicate): Record<string, unknown> {
  switch (predicate.type) {
    case 'claimPredicateUnconditional':
      return { unconditional: true };
    case 'claimPredicateAnd':
      return { and: predicate.andPredicates.map(predicateRecord) };
    case 'claimPredicateOr':
      return { or: predicate.orPredicates.map(predicateRecord) };
    case 'claimPredicateNot':
      return { not: predicateRecord(predicate.notPredicate!) };
    case 'claimPredicateBeforeAbsoluteTime': {
      const end = predicate.absBefore;
      const iso = end <= LAST_SECOND ? { abs_before: toTimestamp(Number(end)) } : {};
      return { ...iso, abs_before_epoch: end.toString() };
    }
    default:
      return { rel_before: predicate.relBefore.toString() };
  }
}
