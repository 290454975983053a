/** Distinct currencies and assets of products and checkouts. */
import type mongoose from 'mongoose';

export interface Priced {
  currency: string;
  assetCode: string;
  assetIssuer: string | null;
  walletId: string;
}

const PAID = { assetCode: '$assetCode', assetIssuer: '$assetIssuer', walletId: '$walletId' };

// biome-ignore lint/suspicious/noExplicitAny: of products or of checkouts.
export async function pricedOf(collection: mongoose.mongo.Collection<any>, filter: object): Promise<Priced[]> {
  const _id = { currency: '$currency', ...PAID };
  const found = await collection.aggregate<{ _id: Priced }>([{ $match: filter }, { $group: { _id } }]).toArray();
  return found.map((each) => each._id);
}

/** The assets they are paid in, whatever their currency; ordered. */
export async function assetsOf(
  // biome-ignore lint/suspicious/noExplicitAny: of products or of checkouts.
  collection: mongoose.mongo.Collection<any>,
  filter: object,
  limit: number,
): Promise<Omit<Priced, 'currency'>[]> {
  const stages = [{ $match: filter }, { $group: { _id: PAID } }, { $sort: { _id: 1 } }, { $limit: limit }];
  const found = await collection.aggregate<{ _id: Omit<Priced, 'currency'> }>(stages).toArray();
  return found.map((each) => each._id);
}
