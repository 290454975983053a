/** What must hold of stored payments: none is invented, doubled or misjudged, and each has its events and is counted. */
import type { Chain } from '../chain.js';
import { type Doc, type Knowledge, possible } from '../knowledge.js';
import { checkoutOf } from './checkouts.js';
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

export function checkPayments(known: Knowledge, chain: Chain, stored: StoredPayments): string[] {
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
      const allowed = allowedVerdicts(paid, linkId, known);
      if (!allowed.includes(verdictOf(doc)))
        faults.push(`${name} is judged ${verdictOf(doc)}, not ${[...new Set(allowed)].join(' or ')}`);
    }
    faults.push(...checkEvents(doc, name, stored.events));
  }
  const paymentIds = new Set(stored.payments.map(({ _id }) => _id));
  for (const event of stored.events)
    if (event.type.startsWith('payment.') && !paymentIds.has(event.subjectId))
      faults.push(`event ${event._id} has no payment`);
  return [...faults, ...checkCounters(stored)];
}

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
