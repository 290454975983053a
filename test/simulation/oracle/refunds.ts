/** What must hold of refunds: what a watched wallet sent back with the memo of a refund is booked once, where it belongs, and told once. */
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

/** Everything that a payer got in a transaction that was taken as giving back a payment is booked. */
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
  const moves = told.filter(({ occurrence }) => occurrence.endsWith(' moved')).length;
  if (told.length !== booked.length + moves)
    faults.push(`${booked.length} refunds are booked, ${moves} were moved, and ${told.length} told`);
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

/** Watches every commit of a run. */
export class RefundObserver {
  readonly #booked = new Set<string>();

  /** What was booked by its hash is more than was paid only where nothing else of that payer is left. @returns what is wrong */
  see(stored: Pick<StoredRefunds, 'payments' | 'refunds'>): string[] {
    const fresh = stored.refunds.filter(({ _id, paymentId }) => paymentId !== null && !this.#booked.has(_id));
    for (const { _id } of fresh) this.#booked.add(_id);
    return fresh.flatMap((refund) => {
      const payment = stored.payments.find(({ _id }) => _id === refund.paymentId);
      if (!payment || refund.targetId !== null || leftOf(payment) >= 0n) return [];
      const others = stored.payments.filter((each) => isOfPayer(each, payment) && isBefore(each, refund));
      const other = others.find((each) => leftOf(each) > 0n);
      return other
        ? [
            `refund ${refund.operationId} gives back more than was paid, though ${other._id.slice(-6)} has something left`,
          ]
        : [];
    });
  }
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
