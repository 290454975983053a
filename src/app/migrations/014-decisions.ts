/** Stores with payments whether they need a decision of the merchant. */
import type { mongo } from 'mongoose';
import { type Doc, type Migration, updateInBatches } from './migration.js';

export const decisions: Migration = {
  title: 'payments that need a decision',
  steps: [decideCompleted, decideOthers],
};

const UNKNOWN = { needsDecision: { $exists: false } };
const HAS_LEFT = { $gt: [{ $toDecimal: '$amount' }, { $toDecimal: { $ifNull: ['$refundedAmount', '0'] } }] };

async function decideCompleted(db: mongo.Db): Promise<void> {
  await db
    .collection<Doc>('payments')
    .updateMany({ status: 'COMPLETED', ...UNKNOWN }, { $set: { needsDecision: false } });
}

/** Parts of PAID checkouts need no decision; other payments need one while some of their money is left. */
async function decideOthers(db: mongo.Db): Promise<void> {
  const toUpdates = async (batch: Doc[]) => {
    const ids = [...new Set(batch.flatMap(({ checkoutId }) => checkoutId ?? []))];
    const paid = new Set(await db.collection<Doc>('checkouts').distinct('_id', { _id: { $in: ids }, status: 'PAID' }));
    return batch.map(({ _id, status, checkoutId }) => ({
      updateOne: {
        filter: { _id, status, checkoutId: checkoutId ?? null, ...UNKNOWN },
        update: [{ $set: { needsDecision: status === 'UNDERPAID' && paid.has(checkoutId) ? false : HAS_LEFT } }],
      },
    }));
  };
  const kept = { status: 1, checkoutId: 1 } as const;
  await updateInBatches(db.collection<Doc>('payments'), UNKNOWN, toUpdates, kept);
}
