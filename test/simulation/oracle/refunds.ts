/** What must hold of refunds: what a watched wallet sent back with the memo of a refund is booked
 *  once, where it belongs, and told once. */
import type { Chain, Paid } from '../chain.js';
import { type Doc, type Knowledge, possible } from '../knowledge.js';
import { stroops } from './verdicts.js';
import { isExcused } from './watching.js';

export interface StoredRefunds {
  payments: readonly Doc[];
  refunds: readonly Doc[];
  events: readonly Doc[];
  links: readonly Doc[];
  checkouts: readonly Doc[];
}

const placeOf = ({
  operationId,
  changeIndex,
  transactionHash,
}: Pick<Paid, 'operationId' | 'changeIndex' | 'transactionHash'>) => `${operationId}:${changeIndex}:${transactionHash}`;

/** What a memo `refund <memo>` names within an account; null for another memo. */
function targetOf({ memo }: Paid, accountId: string, { links, checkouts }: StoredRefunds): string | null {
  const named = /^refund (\S+)$/.exec(memo.text?.trim().toLowerCase() ?? '')?.[1]?.toUpperCase();
  return [...links, ...checkouts].find((each) => each.memo === named && each.accountId === accountId)?._id ?? null;
}

/** Payments of a link or checkout that this gives back. */
const givenBack = (sent: Paid, accountId: string, { payments }: StoredRefunds, targetId: string | null): Doc[] =>
  payments.filter(
    (payment) =>
      payment.accountId === accountId &&
      (targetId === null || payment.paymentLinkId === targetId || payment.checkoutId === targetId) &&
      payment.senderAddress === sent.receiver &&
      (sent.receiverMuxed === null || payment.senderMuxedAddress === sent.receiverMuxed) &&
      payment.assetCode === sent.asset.code &&
      payment.assetIssuer === sent.asset.issuer &&
      (payment.ledgerClosedAt.getTime() < sent.closedMs ||
        (payment.ledgerClosedAt.getTime() === sent.closedMs && BigInt(payment.operationId) < BigInt(sent.operationId))),
  );

/** What went to a bare account of which only muxed ones paid, and not one alone. */
const isAnyones = ({ receiverMuxed }: Paid, payments: readonly Doc[]): boolean => {
  const payers = new Set(payments.map(({ senderMuxedAddress }) => senderMuxedAddress ?? null));
  return receiverMuxed === null && !payers.has(null) && payers.size > 1;
};

/** Refunds that must be booked by now and are not. */
export function unbooked(known: Knowledge, chain: Chain, stored: StoredRefunds): string[] {
  const booked = new Set(
    stored.refunds.flatMap((doc) => (doc.paymentId ? [`${doc.accountId}:${placeOf(doc as never)}`] : [])),
  );
  return chain.sent.flatMap((sent) => {
    const owners = [...known.wallets].filter(
      ([id, { address, active }]) =>
        address === sent.sender &&
        !possible(active, sent.closedMs).includes(false) &&
        !isExcused(known, chain, id, sent),
    );
    return [...new Set(owners.map(([, { accountId }]) => accountId))].flatMap((accountId) => {
      const targetId = targetOf(sent, accountId, stored);
      const payments = givenBack(sent, accountId, stored, targetId);
      const isWaiting = targetId === null || payments.length === 0 || isAnyones(sent, payments);
      if (isWaiting || booked.has(`${accountId}:${placeOf(sent)}`)) return [];
      return [`the refund ${sent.operationId} of ledger ${sent.ledger} is not booked for ${accountId}`];
    });
  });
}

/** Everything that a payer got in a transaction that was taken as giving back a payment
 *  is booked. */
function unbookedOfNamed({ named }: Knowledge, chain: Chain, stored: StoredRefunds): string[] {
  return named.flatMap(({ payment, transactionHash }) => {
    const { accountId, _id } = payment;
    const booked = stored.refunds
      .filter((doc) => doc.accountId === accountId && doc.paymentId)
      .map((doc) => placeOf(doc as never));
    const theirs = chain.sent.filter((sent) => {
      const isGivenBack = givenBack(sent, accountId, stored, null).some((each) => each._id === _id);
      return sent.transactionHash === transactionHash && isGivenBack;
    });
    return theirs
      .filter((sent) => !booked.includes(placeOf(sent)))
      .map(({ operationId }) => `the refund ${operationId} was named for ${_id.slice(-6)} and is not booked`);
  });
}

/** Whatever is booked was sent, belongs where it is booked, and is told once. */
export function checkRefunds(known: Knowledge, chain: Chain, stored: StoredRefunds): string[] {
  const faults = [...unbooked(known, chain, stored), ...unbookedOfNamed(known, chain, stored)];
  const sentByPlace = new Map(chain.sent.map((sent) => [placeOf(sent), sent]));
  const told = stored.events.filter(({ type }) => type === 'payment.refunded');
  const booked = stored.refunds.filter(({ paymentId }) => paymentId !== null);
  for (const refund of booked) {
    const sent = sentByPlace.get(placeOf(refund as never));
    const payment = stored.payments.find(({ _id }) => _id === refund.paymentId);
    const name = `refund ${refund.operationId}`;
    // One that gives back several payments is booked in parts.
    const parts = booked.filter(
      (each) => each.accountId === refund.accountId && placeOf(each as never) === placeOf(refund as never),
    );
    const whole = parts.reduce((sum, { amount }) => sum + stroops(amount)!, 0n);
    if (!sent || !payment || whole !== sent.stroops) {
      faults.push(`${name} is invented`);
      continue;
    }
    if (!givenBack(sent, refund.accountId, stored, refund.targetId).includes(payment))
      faults.push(`${name} is booked where it does not belong`);
    const events = told.filter((event) => event.occurrence === refund._id && event.subjectId === payment._id);
    if (events.length !== 1) faults.push(`${name} has ${events.length} payment.refunded`);
  }
  faults.push(...movedFaults(told, booked));
  for (const { _id, refundedAmount, refunds } of stored.payments) {
    const own = booked.filter(({ paymentId }) => paymentId === _id);
    const sum = own.reduce((total, { amount }) => total + stroops(amount)!, 0n);
    if (stroops(refundedAmount ?? '0') !== sum || (refunds ?? []).length !== own.length)
      faults.push(
        `payment ${_id.slice(-6)} says that ${refundedAmount} was given back in ${refunds?.length} refunds; ${own.length} are booked`,
      );
  }
  return faults;
}

/** A move is told of both payments: where the refund is now, and where it was. What moved as a
 *  whole keeps its name. */
function movedFaults(told: readonly Doc[], booked: readonly Doc[]): string[] {
  const paymentOf = new Map(booked.map(({ _id, paymentId }) => [_id, paymentId]));
  const [moves, bookings] = [told.filter(isMove), told.filter((event) => !isMove(event))];
  const left = bookings.filter(({ occurrence, subjectId }) => paymentOf.get(occurrence) !== subjectId);
  const isTold = ({ occurrence, subjectId }: Doc) =>
    moves.some((move) => move.subjectId === subjectId && move.occurrence === `${occurrence} moved`);
  return [
    ...left
      .filter((event) => !isTold(event))
      .map(({ occurrence, subjectId }) => `refund ${occurrence} left ${subjectId}, which was not told`),
    ...moves
      .filter(({ occurrence, subjectId }) => [undefined, subjectId].includes(paymentOf.get(occurrence.split(' ')[0])))
      .map(({ occurrence, subjectId }) => `${occurrence} is told of ${subjectId}, and it is not elsewhere`),
  ];
}

const isMove = ({ occurrence }: Doc): boolean => occurrence.endsWith(' moved');

/** Watches every commit of a run. */
export class RefundObserver {
  readonly #booked = new Set<string>();
  #payments = new Map<string, Doc>();
  #refunds = '';

  /** @param by the process that has committed. @returns what is wrong */
  see(known: Knowledge, stored: Pick<StoredRefunds, 'payments' | 'refunds'>, by: string): string[] {
    const fresh = stored.refunds.filter(({ _id, paymentId }) => paymentId !== null && !this.#booked.has(_id));
    for (const { _id } of fresh) this.#booked.add(_id);
    const before = this.#payments;
    this.#payments = new Map(stored.payments.map((payment) => [payment._id, payment]));
    const refunds = JSON.stringify(stored.refunds.map(({ _id, paymentId, amount }) => [_id, paymentId, amount]));
    if (refunds !== this.#refunds && by.startsWith('api')) known.refundsChanged += 1;
    this.#refunds = refunds;
    return [
      ...fresh.flatMap((refund) => tooMuchOf(refund, stored)),
      ...outOfTurn(fresh, before, stored),
      ...completedByNothing(before, stored),
    ];
  }
}

/** What was booked by its hash is more than was paid only where nothing else of that payer
 *  is left. */
function tooMuchOf(refund: Doc, { payments }: Pick<StoredRefunds, 'payments'>): string[] {
  const payment = payments.find(({ _id }) => _id === refund.paymentId);
  if (!payment || refund.targetId !== null || leftOf(payment) >= 0n) return [];
  const others = payments.filter((each) => isOfPayer(each, payment) && isBefore(each, refund));
  const other = others.find((each) => leftOf(each) > 0n);
  return other
    ? [`refund ${refund.operationId} gives back more than was paid, though ${other._id.slice(-6)} has something left`]
    : [];
}

/** Money that was sent back completes nothing. */
const completedByNothing = (before: ReadonlyMap<string, Doc>, { payments }: Pick<StoredRefunds, 'payments'>) =>
  payments
    .filter((after) => {
      const had = before.get(after._id);
      return had && had.status !== 'COMPLETED' && after.status === 'COMPLETED' && leftOf(after) <= 0n;
    })
    .map(({ _id }) => `payment ${_id} became COMPLETED, though all of it had been sent back`);

/** A refund by memo goes to what needs a decision, then to what was paid too much, of these to what
 *  has exactly as much left, else to the newest; then to the oldest. More than any one has left is
 *  spread in that order. Commits that change more than one refund's payments are left out. */
function outOfTurn(
  fresh: readonly Doc[],
  before: ReadonlyMap<string, Doc>,
  { payments, refunds }: Pick<StoredRefunds, 'payments' | 'refunds'>,
): string[] {
  const [first] = fresh;
  if (!first || first.targetId === null || fresh.some(({ operationId }) => operationId !== first.operationId))
    return [];
  const place = ({ operationId, changeIndex }: Doc) => `${operationId}:${changeIndex}`;
  const parts = refunds.filter((each) => each.accountId === first.accountId && place(each) === place(first));
  // A part of what was booked before moved.
  if (parts.length !== fresh.length) return [];
  const amount = fresh.reduce((sum, each) => sum + stroops(each.amount)!, 0n);
  const theirs = payments.filter(
    (each) =>
      isPaidFor(each, first) &&
      each.senderAddress === first.receiver &&
      (each.senderMuxedAddress ?? null) === (first.receiverMuxedAddress ?? null) &&
      each.assetCode === first.assetCode &&
      each.assetIssuer === first.assetIssuer &&
      isBefore(each, first),
  );
  const had = theirs.flatMap((each) => before.get(each._id) ?? []);
  const isClear = had.length === theirs.length && had.every((each, index) => each.status === theirs[index]!.status);
  if (!isClear || had.length === 0) return [];
  const turns = new Map(had.map((each) => [each, turnOf(each, amount)]));
  const inTurn = had.toSorted((a, b) => compareTurns(turns.get(a)!, turns.get(b)!) || orderOf(a, b, turns.get(a)![0]));
  const whole = inTurn.find((each) => leftOf(each) >= amount);
  let rest = amount;
  const spread = inTurn.filter((each) => {
    const isNeeded = rest > 0n && leftOf(each) > 0n;
    rest -= leftOf(each);
    return isNeeded;
  });
  const expected = whole ? [whole] : spread;
  if (expected.length === 0) return [];
  const [booked, wanted] = [fresh.map(({ paymentId }) => paymentId), expected.map(({ _id }) => _id)];
  return JSON.stringify(booked.toSorted()) === JSON.stringify(wanted.toSorted())
    ? []
    : [`refund ${first.operationId} of ${amount} is booked at ${booked}, though it is the turn of ${wanted}`];
}

const isPaidFor = ({ accountId, paymentLinkId, checkoutId }: Doc, refund: Doc): boolean =>
  accountId === refund.accountId && (paymentLinkId === refund.targetId || checkoutId === refund.targetId);

/** Its turn, and 0 where it has exactly as much left. */
function turnOf(payment: Doc, amount: bigint): [turn: number, inexact: number] {
  const excess = payment.status === 'COMPLETED' ? stroops(payment.excessAmount ?? '0')! : 0n;
  const excessLeft = excess - stroops(payment.refundedAmount ?? '0')!;
  const isExact = leftOf(payment) === amount || (excessLeft > 0n && excessLeft === amount);
  const turn = payment.needsDecision ? 0 : excessLeft > 0n ? 1 : 2;
  return [turn, turn < 2 && isExact ? 0 : 1];
}

const compareTurns = ([a, inexactA]: [number, number], [b, inexactB]: [number, number]) => a - b || inexactA - inexactB;

/** Less than 0 where the first comes first: the newest, and in the last turn the oldest. */
function orderOf(a: Doc, b: Doc, turn: number): number {
  const older = a.ledgerClosedAt.getTime() - b.ledgerClosedAt.getTime() || a.ledger - b.ledger;
  const order = older || Number(BigInt(a.operationId) - BigInt(b.operationId));
  return turn === 2 ? order : -order;
}

const leftOf = ({ amount, refundedAmount }: Doc): bigint => stroops(amount)! - stroops(refundedAmount ?? '0')!;

const isOfPayer = (a: Doc, b: Doc): boolean =>
  (['accountId', 'senderAddress', 'senderMuxedAddress', 'assetCode', 'assetIssuer'] as const).every(
    (field) => (a[field] ?? null) === (b[field] ?? null),
  );

const isBefore = (payment: Doc, refund: Doc): boolean => {
  const ms = refund.ledgerClosedAt.getTime() - payment.ledgerClosedAt.getTime();
  return ms > 0 || (ms === 0 && BigInt(payment.operationId) < BigInt(refund.operationId));
};
