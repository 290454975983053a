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
      payment.assetCode === sent.asset.code &&
      payment.assetIssuer === sent.asset.issuer &&
      (payment.ledgerClosedAt.getTime() < sent.closedMs ||
        (payment.ledgerClosedAt.getTime() === sent.closedMs && BigInt(payment.operationId) < BigInt(sent.operationId))),
  );

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
      if (targetId === null || payments.length === 0 || booked.has(`${accountId}:${placeOf(sent)}`)) return [];
      return [`the refund ${sent.operationId} of ledger ${sent.ledger} is not booked for ${accountId}`];
    });
  });
}

/** Whatever is booked was sent, belongs where it is booked, and is told once. */
export function checkRefunds(known: Knowledge, chain: Chain, stored: StoredRefunds): string[] {
  const faults = unbooked(known, chain, stored);
  const sentByPlace = new Map(chain.sent.map((sent) => [placeOf(sent), sent]));
  const told = stored.events.filter(({ type }) => type === 'payment.refunded');
  const booked = stored.refunds.filter(({ paymentId }) => paymentId !== null);
  for (const refund of booked) {
    const sent = sentByPlace.get(placeOf(refund as never));
    const payment = stored.payments.find(({ _id }) => _id === refund.paymentId);
    const name = `refund ${refund.operationId}`;
    if (!sent || !payment || stroops(refund.amount) !== sent.stroops) {
      faults.push(`${name} is invented`);
      continue;
    }
    if (!givenBack(sent, refund.accountId, stored, refund.targetId).includes(payment))
      faults.push(`${name} is booked where it does not belong`);
    const events = told.filter((event) => event.occurrence === placeOf(sent) && event.subjectId === payment._id);
    if (events.length !== 1) faults.push(`${name} has ${events.length} payment.refunded`);
  }
  if (told.length !== booked.length) faults.push(`${booked.length} refunds are booked, and ${told.length} told`);
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
