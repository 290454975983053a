/** What must hold of stored payments: none is invented, doubled or misjudged, and each has its
 *  events and is counted. */
import type { Chain } from '../chain.js';
import { type Doc, type Knowledge, possible } from '../knowledge.js';
import { checkoutOf } from './checkouts.js';
import { isPriced, type RateObserver } from './rates.js';
import { allowedVerdicts, linkOf, stroops } from './verdicts.js';
import { keyOf } from './watching.js';

export interface StoredPayments {
  payments: readonly Doc[];
  events: readonly Doc[];
  links: readonly Doc[];
  checkouts: readonly Doc[];
}

const verdictOf = (doc: Doc) =>
  JSON.stringify([doc.status, doc.reason, doc.expectedAmount, doc.excessAmount, doc.shortfallAmount]);

export function checkPayments(known: Knowledge, chain: Chain, stored: StoredPayments, rates: RateObserver): string[] {
  const paidByKey = new Map(chain.payments.map((paid) => [keyOf('', paid), paid]));
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const doc of stored.payments) {
    const name = `payment ${doc.operationId}[${doc.changeIndex}]`;
    const key = keyOf(doc.walletId, doc as never);
    if (seen.has(key)) faults.push(`${name} is stored twice`);
    seen.add(key);
    const paid = paidByKey.get(keyOf('', doc as never));
    const wallet = known.wallets.get(doc.walletId);
    if (!paid && toldByEvent(chain, doc, wallet?.address)) {
      faults.push(...checkEvents(doc, name, stored.events));
      continue;
    }
    if (!paid || wallet?.address !== paid.receiver) {
      faults.push(`${name} is invented`);
      continue;
    }
    if (!possible(wallet.active, paid.closedMs).includes(true))
      faults.push(`${name} came while its wallet was not active`);
    const { assetCode, assetIssuer } = doc;
    if (stroops(doc.amount) !== paid.stroops || assetCode !== paid.asset.code || assetIssuer !== paid.asset.issuer)
      faults.push(`${name} has another amount`);
    if (doc.checkoutId) {
      const named = checkoutOf(paid, wallet.accountId, stored.checkouts)?._id;
      if (named !== doc.checkoutId && !known.assignedToCheckout.has(doc._id))
        faults.push(`${name} belongs to ${doc.checkoutId}, not to ${named}`);
      faults.push(...checkEvents(doc, name, stored.events));
      continue;
    }
    const linkId = known.assigned.get(doc._id) ?? linkOf(paid, wallet.accountId, known);
    if (doc.paymentLinkId !== linkId) faults.push(`${name} belongs to ${doc.paymentLinkId}, not to ${linkId}`);
    // An attempt to accept a payment may have failed.
    else if (!known.accepted.has(doc._id) || doc.status !== 'COMPLETED') {
      const ofCheckout = linkId === null && checkoutOf(paid, wallet.accountId, stored.checkouts);
      if (ofCheckout) faults.push(`${name} belongs to no checkout, not to ${ofCheckout._id}`);
      if (isPriced(known, linkId, paid)) {
        faults.push(...rates.linkFaults(known, doc, linkId!), ...checkEvents(doc, name, stored.events));
        continue;
      }
      // An assignment judges what was left of the payment then.
      const back = known.assigned.has(doc._id) ? (doc.refunds ?? []).map((each: Doc) => stroops(each.amount)!) : [];
      const allowed = allowedVerdicts(paid, linkId, known, back);
      if (!allowed.includes(verdictOf(doc)))
        faults.push(`${name} is judged ${verdictOf(doc)}, not ${[...new Set(allowed)].join(' or ')}`);
    }
    faults.push(...checkEvents(doc, name, stored.events));
  }
  for (const doc of stored.payments)
    faults.push(...checkDecision(doc, known, stored), ...checkUnmatched(doc, known, stored.events));
  const paymentIds = new Set(stored.payments.map(({ _id }) => _id));
  for (const event of stored.events)
    if (event.type.startsWith('payment.') && !paymentIds.has(event.subjectId))
      faults.push(`event ${event._id} has no payment`);
  for (const checkout of stored.checkouts)
    if (checkout.currency)
      faults.push(
        ...rates.checkoutFaults(
          known,
          checkout,
          stored.payments.filter(({ checkoutId }) => checkoutId === checkout._id),
        ),
      );
  return [...faults, ...checkCounters(stored)];
}

/** A decision is due about what was not taken, while money of it is left that is in no PAID order,
 *  unless the merchant dismissed it as it is. */
function checkDecision(doc: Doc, known: Knowledge, { checkouts }: StoredPayments): string[] {
  const { _id, status, reason, checkoutId, amount, refundedAmount, dismissal, needsDecision } = doc;
  const isDismissed = dismissal !== undefined;
  const faults =
    isDismissed && !known.dismissed.has(`${_id} ${status}`) ? [`payment ${_id} (${status}) was not dismissed`] : [];
  const order = checkouts.find((checkout) => checkout._id === checkoutId);
  const isPart = status === 'UNDERPAID' && reason !== 'no_rate' && order?.status === 'PAID';
  const isBack = stroops(refundedAmount ?? '0')! >= stroops(amount)!;
  const isDue = status !== 'COMPLETED' && !isDismissed && !isPart && !isBack;
  if (needsDecision !== isDue) faults.push(`payment ${_id} (${status}) says needsDecision ${needsDecision}`);
  return faults;
}

/** Money of a kind that no client knows, of which Stellar RPC's event tells the parties and
 *  the amount. */
const toldByEvent = (chain: Chain, doc: Doc, address: string | undefined): boolean =>
  doc.amount === '1' &&
  doc.assetIssuer === null &&
  chain.unknownRecords.some(({ operationId, receiver }) => operationId === doc.operationId && receiver === address);

function checkEvents(doc: Doc, name: string, events: readonly Doc[]): string[] {
  const faults: string[] = [];
  const count = (type: string) => events.filter((event) => event.subjectId === doc._id && event.type === type).length;
  const received = count('payment.received');
  const completed = count('payment.completed');
  if (received !== (doc.paymentLinkId || doc.checkoutId ? 1 : 0))
    faults.push(`${name} has ${received} payment.received`);
  if (completed !== (doc.status === 'COMPLETED' ? 1 : 0))
    faults.push(`${name} (${doc.status}) has ${completed} payment.completed`);
  return faults;
}

/** Told once of each payment that belonged to nothing when it was recorded, and of each that needs
 *  a decision. */
function checkUnmatched({ _id, status, needsDecision }: Doc, known: Knowledge, events: readonly Doc[]): string[] {
  const told = events.filter((event) => event.subjectId === _id && event.type === 'payment.unmatched').length;
  const wasUnmatched = status === 'UNMATCHED' || known.assigned.has(_id) || known.assignedToCheckout.has(_id);
  const decisions = events.filter((event) => event.subjectId === _id && event.type === 'payment.decision');
  const isTold = (of: string) => decisions.some(({ occurrence }) => occurrence === of);
  return [
    ...(told === (wasUnmatched ? 1 : 0) ? [] : [`payment ${_id} (${status}) has ${told} payment.unmatched`]),
    ...(wasUnmatched && !isTold('UNMATCHED') ? [`no payment.decision tells that ${_id} was UNMATCHED`] : []),
    ...(needsDecision && !isTold(status) ? [`no payment.decision tells that ${_id} is ${status}`] : []),
  ];
}

function checkCounters({ payments, links }: StoredPayments): string[] {
  const faults: string[] = [];
  for (const { _id, paymentCount, receivedCount } of links) {
    const own = payments.filter(({ paymentLinkId }) => paymentLinkId === _id);
    const counted = own.filter(({ status }) => status !== 'REJECTED').length;
    if (paymentCount !== counted) faults.push(`link ${_id} counts ${paymentCount} payments and has ${counted}`);
    if (receivedCount !== own.length) faults.push(`link ${_id} counts ${receivedCount} received and has ${own.length}`);
  }
  return faults;
}
