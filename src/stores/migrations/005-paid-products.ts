/** Products whose links have payments are marked as those whose checkouts have. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const paidProducts: Migration = {
  title: 'products with payments',
  steps: [markPaidByCheckouts, markPaidByLinks],
};

interface ProductDoc {
  _id: string;
}

async function markPaidByCheckouts(db: mongo.Db): Promise<void> {
  await db
    .collection('products')
    .updateMany({ hasCheckoutPayments: true }, { $set: { hasPayments: true }, $unset: { hasCheckoutPayments: true } });
}

async function markPaidByLinks(db: mongo.Db): Promise<void> {
  const products = db.collection<ProductDoc>('products');
  const paid = db
    .collection<{ productId: string }>('paymentLinks')
    .find({ receivedCount: { $gt: 0 } }, { projection: { _id: 0, productId: 1 } });
  const marked = new Set<string>();
  for await (const { productId } of paid) {
    if (marked.has(productId)) continue;
    await products.updateOne({ _id: productId }, { $set: { hasPayments: true } });
    marked.add(productId);
  }
}
