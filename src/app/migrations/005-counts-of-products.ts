/** Marks products whose links have payments, like those whose checkouts have, and recounts the products of wallets: concurrent changes of one product were
 *  counted twice. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const countsOfProducts: Migration = {
  title: 'products with payments, and products of wallets',
  steps: [markPaidByCheckouts, markPaidByLinks, recountProducts],
};

interface ProductDoc {
  _id: string;
  walletId: string;
}

interface WalletDoc {
  _id: string;
  productCount: number;
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

async function recountProducts(db: mongo.Db): Promise<void> {
  const wallets = db.collection<WalletDoc>('wallets');
  const counts = new Map<string, number>();
  const products = db.collection<ProductDoc>('products').find({}, { projection: { _id: 0, walletId: 1 } });
  for await (const { walletId } of products) counts.set(walletId, (counts.get(walletId) ?? 0) + 1);
  for await (const { _id, productCount } of wallets.find({}, { projection: { productCount: 1 } })) {
    const counted = counts.get(_id) ?? 0;
    if (counted !== productCount) await wallets.updateOne({ _id, productCount }, { $set: { productCount: counted } });
  }
}
