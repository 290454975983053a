/** Stores with payments and checkouts the words for the search. */
import type { mongo } from 'mongoose';
import { wordsOf } from '../../kit/words.js';
import { type Doc, type Migration, updateInBatches } from './migration.js';

export const words: Migration = { title: 'words of payments and checkouts', steps: [addToCheckouts, addToPayments] };

const UNKNOWN = { words: { $exists: false } };

const ofCheckout = ({ reference, name, metadata }: Doc) => [
  reference,
  name,
  ...Object.values(JSON.parse(metadata ?? '{}') as Record<string, string>),
];

const setWords = (doc: Doc, texts: readonly (string | null | undefined)[]) => ({
  updateOne: { filter: { _id: doc._id, ...UNKNOWN }, update: { $set: { words: wordsOf(texts) } } },
});

async function addToCheckouts(db: mongo.Db): Promise<void> {
  const toUpdates = async (batch: Doc[]) => batch.map((doc) => setWords(doc, [doc.memo, ...ofCheckout(doc)]));
  const kept = { memo: 1, reference: 1, name: 1, metadata: 1 } as const;
  await updateInBatches(db.collection<Doc>('checkouts'), UNKNOWN, toUpdates, kept);
}

async function addToPayments(db: mongo.Db): Promise<void> {
  const byIds = async (collection: string, batch: Doc[], field: string) => {
    const ids = [...new Set(batch.flatMap((doc) => doc[field] ?? []))];
    const found = await db
      .collection<Doc>(collection)
      .find({ _id: { $in: ids } }, { projection: { name: 1, reference: 1, metadata: 1 } })
      .toArray();
    return new Map(found.map((doc) => [doc._id, doc]));
  };
  const toUpdates = async (batch: Doc[]) => {
    const checkouts = await byIds('checkouts', batch, 'checkoutId');
    const links = await byIds('paymentLinks', batch, 'paymentLinkId');
    const products = await byIds('products', batch, 'productId');
    return batch.map((doc) => {
      const checkout = checkouts.get(doc.checkoutId);
      const names = [links.get(doc.paymentLinkId)?.name, products.get(doc.productId)?.name];
      return setWords(doc, [doc.memo, ...(checkout ? ofCheckout(checkout) : []), ...names]);
    });
  };
  const kept = { memo: 1, checkoutId: 1, paymentLinkId: 1, productId: 1 } as const;
  await updateInBatches(db.collection<Doc>('payments'), UNKNOWN, toUpdates, kept);
}
