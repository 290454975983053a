/** Keys refunds by their place on the ledger. Before, the key included the hash by which a transaction was requested, so a refund named by both hashes of a
 *  fee bump was booked twice: the second booking is removed. Refunded money no longer counts towards an incomplete order. */
import type { mongo } from 'mongoose';
import { type Doc, dropIndexes, type Migration } from './migration.js';

export const refundsByPlace: Migration = {
  title: 'refunds by their place on the ledger',
  steps: [
    keyByPlace,
    takeBackFromCheckouts,
    (db) => dropIndexes(db, 'payments', ['paymentLinkId_1_senderAddress_1__id_1']),
  ],
};

/** Number of refunds that are shown with a payment. */
const SHOWN = 100;
const STROOPS = 7;

const placeOf = ({ accountId, network, operationId, changeIndex, ledgerClosedAt }: Doc): string =>
  `${accountId}:${network}:${operationId}:${changeIndex}:${ledgerClosedAt ? ledgerClosedAt.getTime() / 1000 : ''}`;
const hasPlace = (doc: Doc): boolean => 'receiverMuxedAddress' in doc;

/** Moves refunds one by one, writing the new document before deleting the old one. */
async function keyByPlace(db: mongo.Db): Promise<void> {
  const refunds = db.collection<Doc>('refunds');
  for await (const found of refunds.find({ receiverMuxedAddress: { $exists: false } })) {
    const old = found as unknown as Doc;
    const place = placeOf(old);
    const fresh = { ...old, _id: place, receiverMuxedAddress: null };
    const kept = await refunds.findOne({ _id: place });
    const isDouble = kept !== null && kept.transactionHash !== old.transactionHash;
    if (isDouble && kept.paymentId && old.paymentId) await showWithout(db, old);
    const isBooked = isDouble && !kept.paymentId && old.paymentId;
    await refunds.bulkWrite([
      ...(kept && !isBooked
        ? []
        : [{ replaceOne: { filter: { _id: place }, replacement: fresh as Omit<Doc, '_id'>, upsert: true } }]),
      { deleteOne: { filter: { _id: old._id } } },
    ]);
  }
}

/** Rebuilds the refunds that the duplicate's payment shows from the refunds themselves, without the duplicate. */
async function showWithout(db: mongo.Db, double: Doc): Promise<void> {
  const { accountId, paymentId } = double;
  const all = (await db.collection<Doc>('refunds').find({ accountId, paymentId }).toArray()) as unknown as Doc[];
  const places = new Set(all.filter(hasPlace).map(({ _id }) => _id));
  const own = all
    .filter((doc) => doc._id !== double._id && (hasPlace(doc) || !places.has(placeOf(doc))))
    .sort((a, b) => a.ledgerClosedAt - b.ledgerClosedAt);
  const sum = own.reduce((total, { amount }) => total + stroopsIn(amount), 0n);
  const shown = own.map(({ transactionHash, amount, ledger, ledgerClosedAt: at }) => ({
    ...{ transactionHash, amount, ledger, at },
  }));
  const change = { refundedAmount: textOf(sum), refunds: shown.slice(-SHOWN) };
  await db.collection<Doc>('payments').updateOne({ _id: paymentId }, { $set: change });
}

async function takeBackFromCheckouts(db: mongo.Db): Promise<void> {
  const refunded = { checkoutId: { $gt: '' }, status: 'UNDERPAID', refundedAmount: { $exists: true } };
  const payments = db.collection<Doc>('payments');
  const done = new Set<string>();
  for await (const { checkoutId } of payments.find(refunded, { projection: { checkoutId: 1 } })) {
    if (done.has(checkoutId)) continue;
    done.add(checkoutId);
    const open = { _id: checkoutId, status: { $ne: 'PAID' }, returned: { $exists: false } };
    const checkout = await db.collection<Doc>('checkouts').findOne(open);
    if (!checkout) continue;
    const own = await payments.find({ ...refunded, checkoutId }).toArray();
    const returned: Doc[] = [];
    for (const payment of own) returned.push(...(await returnedOf(db, payment as unknown as Doc)));
    const gone = returned.reduce((sum, { stroops }) => sum + BigInt(stroops), 0n);
    const change = { received: `${BigInt(checkout.received) - gone}`, returned };
    await db.collection<Doc>('checkouts').updateOne(open, { $set: change });
  }
}

/** The refunded amounts of a payment, in total at most the payment's amount. */
async function returnedOf(db: mongo.Db, { _id, accountId, amount, refunds = [] }: Doc): Promise<Doc[]> {
  const hashes = refunds.map(({ transactionHash }: Doc) => transactionHash);
  const own = await db
    .collection<Doc>('refunds')
    .find({ accountId, transactionHash: { $in: hashes }, paymentId: _id })
    .toArray();
  let left = stroopsIn(amount);
  return own
    .sort((a, b) => a.ledgerClosedAt - b.ledgerClosedAt)
    .map(({ ledger, ledgerClosedAt: closedAt, operationId, ...refund }) => {
      const sent = stroopsIn(refund.amount);
      const counted = sent < left ? sent : left;
      left -= counted;
      return { ledger, closedAt, operationId, stroops: `${counted}` } as unknown as Doc;
    });
}

function stroopsIn(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(STROOPS, '0'));
}

function textOf(stroops: bigint): string {
  const digits = stroops.toString().padStart(STROOPS + 1, '0');
  return `${digits.slice(0, -STROOPS)}.${digits.slice(-STROOPS)}`.replace(/\.?0+$/, '');
}
