/** Core's order of checks, and the application of a transaction to a view of the ledger: all
 *  or nothing. */
import { xdr } from '@stellar/stellar-sdk/base';
import { type AccountEntry, accountKey, availableBalance, type View } from './entries.js';
import type { Envelope, InnerTransaction, Preconditions } from './envelope.js';
import type { Movement } from './movements.js';
import type { BoundOperation } from './operations/index.js';
import { type Context, type Effect, isSuccess, type OfferSearch } from './operations/kind.js';
import type { TransactionOutcome, Verdict } from './results.js';
import { checkSignatures, type SignatureCheck } from './signatures.js';
import { BASE_FEE } from './stroops.js';
import { ledgerStart } from './toid.js';

export interface LedgerMoment {
  sequence: number;
  /** Seconds since the epoch. */
  closeTime: number;
}

export interface Applied extends TransactionOutcome {
  successful: boolean;
  /** One list for each operation; no lists if the transaction failed. */
  effects: Effect[][];
  movements: Movement[][];
  /** For each operation the sponsor of the entry that it created, or null. */
  sponsors: (string | null)[];
}

type Accounts = (id: string) => Readonly<AccountEntry> | null;

/** Accounts that `check` reads. */
export function checkedAccounts({ inner, feeBump }: Envelope): string[] {
  const sources = inner.operations.flatMap(({ source }) => (source === null ? [] : [source.id]));
  return [...new Set([inner.source.id, ...(feeBump === null ? [] : [feeBump.source.id]), ...sources])];
}

/** Every entry that the transaction may read or change. Only for an envelope that
 *  passed `check`. */
export function touchedKeys(envelope: Envelope): string[] {
  const { inner } = envelope;
  const touched = inner.operations.flatMap((operation) => operation.keys((operation.source ?? inner.source).id));
  return [...new Set([...checkedAccounts(envelope).map(accountKey), ...touched])];
}

/** Every offer that the transaction may read or change. Only for an envelope that
 *  passed `check`. */
export const touchedOffers = ({ inner }: Envelope): OfferSearch[] =>
  inner.operations.flatMap((operation) => operation.offers());

/** What a check reads besides the transaction itself. */
interface CheckContext {
  account: Accounts;
  at: LedgerMoment;
  sequenceOf(source: Readonly<AccountEntry>): bigint;
}

/** Null if the transaction may enter the ledger that closes at `at`, otherwise the reason.
 *  `sequenceOf` may count waiting transactions. */
export function check(
  envelope: Envelope,
  account: Accounts,
  at: LedgerMoment,
  sequenceOf = (source: Readonly<AccountEntry>): bigint => source.sequence,
): TransactionOutcome | null {
  const { inner, feeBump } = envelope;
  const context: CheckContext = { account, at, sequenceOf };
  const operationCount = BigInt(inner.operations.length);
  if (feeBump === null) {
    const verdict = checkInner(inner, context, true);
    const feeCharged = verdict?.code === 'txFailed' ? BASE_FEE * operationCount : 0n;
    return verdict && { verdict, feeCharged, innerHash: null };
  }
  const outer = checkFeeBump(envelope, feeBump, account);
  if (outer !== null) return { verdict: outer, feeCharged: 0n, innerHash: null };
  const verdict = checkInner(inner, context, false);
  const feeCharged = verdict?.code === 'txFailed' ? BASE_FEE * (operationCount + 1n) : 0n;
  return verdict && { verdict, feeCharged, innerHash: inner.hash };
}

function checkFeeBump(
  { inner, hash }: Envelope,
  { source, fee, signatures }: NonNullable<Envelope['feeBump']>,
  account: Accounts,
): Verdict | null {
  const operationCount = BigInt(inner.operations.length);
  const minimum = BASE_FEE * (operationCount + 1n);
  const isRateLower = fee * (BASE_FEE * operationCount) < inner.fee * minimum;
  if (fee < minimum || isRateLower) return { code: 'txInsufficientFee' };
  const payer = account(source.id);
  if (payer === null) return { code: 'txNoAccount' };
  const signed = checkSignatures(hash, signatures);
  if (!signed.reaches(payer, 'low')) return { code: 'txBadAuth' };
  if (availableBalance(payer) < fee) return { code: 'txInsufficientBalance' };
  return signed.areAllUsed() ? null : { code: 'txBadAuthExtra' };
}

function checkInner(inner: InnerTransaction, context: CheckContext, paysFee: boolean): Verdict | null {
  const { preconditions, operations } = inner;
  if (inner.version === 0) return { code: 'txNotSupported' };
  if (operations.length === 0) return { code: 'txMissingOperation' };
  const early = checkBounds(preconditions, context.at);
  if (early !== null) return early;
  if (paysFee && inner.fee < BASE_FEE * BigInt(operations.length)) return { code: 'txInsufficientFee' };
  const source = context.account(inner.source.id);
  if (source === null) return { code: 'txNoAccount' };
  if (!isNextSequence(inner, source, context)) return { code: 'txBadSeq' };
  if (!isOldEnough(preconditions, source, context.at)) return { code: 'txBadMinSeqAgeOrGap' };
  const signed = checkSignatures(inner.hash, inner.signatures);
  if (!signed.reaches(source, 'low')) return { code: 'txBadAuth' };
  if (!preconditions.extraSigners.every((signer) => signed.hasExtraSigner(signer))) return { code: 'txBadAuth' };
  if (paysFee && availableBalance(source) < inner.fee) return { code: 'txInsufficientBalance' };
  for (const [index, operation] of operations.entries()) {
    const failure = checkOperation(operation, inner, context.account, signed);
    if (failure === null) continue;
    // Core stops at the first failure; other results keep their initial value, a success.
    const untouched = () => xdr.OperationResult.opInner(UNTOUCHED);
    return { code: 'txFailed', operations: operations.map((_, other) => (other === index ? failure : untouched())) };
  }
  return signed.areAllUsed() ? null : { code: 'txBadAuthExtra' };
}

function checkBounds({ time, ledgers }: Preconditions, at: LedgerMoment): Verdict | null {
  const [now, sequence] = [BigInt(at.closeTime), BigInt(at.sequence)];
  if ((time && time.min > now) || (ledgers && ledgers.min > sequence)) return { code: 'txTooEarly' };
  if ((time && time.max !== 0n && time.max < now) || (ledgers && ledgers.max !== 0n && ledgers.max <= sequence)) {
    return { code: 'txTooLate' };
  }
  return null;
}

function checkOperation(
  operation: BoundOperation,
  inner: InnerTransaction,
  account: Accounts,
  signed: SignatureCheck,
): xdr.OperationResult | null {
  const id = (operation.source ?? inner.source).id;
  const owner = account(id);
  if (owner === null) {
    // An earlier operation may create this source, which then needs a signature by the key of
    // its address.
    if (operation.source === null) return xdr.OperationResult.opNoAccount();
    if (!signed.isSignedBy(id)) return xdr.OperationResult.opBadAuth();
  } else if (!signed.reaches(owner, operation.level)) {
    return xdr.OperationResult.opBadAuth();
  }
  return operation.check(id);
}

function isNextSequence(inner: InnerTransaction, source: Readonly<AccountEntry>, context: CheckContext): boolean {
  const { sequence, preconditions } = inner;
  const current = context.sequenceOf(source);
  if (sequence === ledgerStart(context.at.sequence)) return false;
  if (preconditions.minimumSequence === null) return sequence === current + 1n;
  return current >= preconditions.minimumSequence && current < sequence;
}

function isOldEnough(
  { minimumSequenceAge, minimumSequenceLedgerGap }: Preconditions,
  source: Readonly<AccountEntry>,
  at: LedgerMoment,
): boolean {
  return (
    BigInt(at.closeTime - (source.sequenceTime ?? 0)) >= minimumSequenceAge &&
    at.sequence - (source.sequenceLedger ?? 0) >= minimumSequenceLedgerGap
  );
}

/** Takes fee and sequence number, then applies the operations. If one fails, `view` keeps only fee
 *  and sequence number. */
export function apply(envelope: Envelope, view: View, at: LedgerMoment): Applied {
  const { inner, feeBump } = envelope;
  const feeCharged = BASE_FEE * BigInt(inner.operations.length + (feeBump === null ? 0 : 1));
  view.update(view.account((feeBump?.source ?? inner.source).id)!, (payer) => {
    payer.balance -= feeCharged;
  });
  view.update(view.account(inner.source.id)!, (source) => {
    source.sequence = inner.sequence;
    source.sequenceLedger = at.sequence;
    source.sequenceTime = at.closeTime;
  });
  const attempt = view.child();
  const done: Effect[][] = [];
  const movements: Movement[][] = [];
  const sponsors: (string | null)[] = [];
  const sponsorships = new Map<string, string>();
  const operations = inner.operations.map((operation, index) => {
    const id = (operation.source ?? inner.source).id;
    const layer = attempt.child();
    const effects: Effect[] = [];
    const origin = { source: inner.source.id, sequence: inner.sequence, index };
    const context: Context = {
      view: layer,
      ledger: at,
      origin,
      effects,
      movements: [],
      sponsorships,
      sponsor: null,
    };
    const result = layer.account(id) === null ? xdr.OperationResult.opNoAccount() : operation.apply(id, context);
    // Core continues after a failure on a discarded state, so that every operation gets its
    // own code.
    if (isSuccess(result)) layer.commit();
    done.push(effects);
    movements.push(context.movements);
    sponsors.push(isSuccess(result) ? context.sponsor : null);
    return result;
  });
  const haveSucceeded = operations.every(isSuccess);
  // Every sponsorship must have been ended.
  const successful = haveSucceeded && sponsorships.size === 0;
  if (successful) attempt.commit();
  const verdict: Verdict =
    haveSucceeded && !successful
      ? { code: 'txBadSponsorship' }
      : { code: successful ? 'txSuccess' : 'txFailed', operations };
  return {
    successful,
    verdict,
    sponsors,
    feeCharged,
    innerHash: feeBump === null ? null : inner.hash,
    effects: successful ? done : [],
    movements: successful ? movements : [],
  };
}

const UNTOUCHED = xdr.OperationResultTr.payment(xdr.PaymentResult.paymentSuccess());
