/** The document of a product, and its indexes. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { LedgerStamp } from '../domain/terms.js';
import { PART_OPTIONS, SCHEMA_OPTIONS, stampSchema } from '../kit/database.js';

/** The terms of payments. Amounts in canonical decimal text. */
export interface StoredTerms {
  active: boolean;
  assetCode: string;
  assetIssuer: string | null;
  priceType: 'FIXED' | 'CUSTOM';
  price: string | null;
  minAmount: string | null;
  /** Currency of price and minimum; missing when they are in the asset. */
  currency?: string | null;
  /** How much less is enough; canonical. */
  tolerancePercent: string;
}

export interface ProductVersion {
  from: LedgerStamp | null;
  terms: StoredTerms;
  /** The network of the product's wallet; absent in versions stored before it was kept. */
  network?: Network;
}

export interface ProductDoc extends StoredTerms {
  _id: string;
  accountId: string;
  name: string;
  /** The name, folded for search and sorting. */
  nameKey: string;
  description: string | null;
  imageUrl: string | null;
  walletId: string;
  /** Pieces that are left; null for no limit. */
  stock: number | null;
  /** The last requests that changed the stock by a number, so that one that is repeated does not do so twice. Missing for none. */
  stockChanges?: string[];
  /** Oldest first; the last equals the fields above. The first has always been in force, unless the archive has earlier ones. */
  history: ProductVersion[];
  /** Archived versions: their number, and `since` of the last. Missing for none. */
  archived?: { count: number; since: Date };
  paymentLinkCount: number;
  /** A link or checkout of it has a payment. Missing means false. */
  hasPayments?: boolean;
  revision: number;
  createdAt: Date;
}

const termsShape = {
  active: Boolean,
  assetCode: String,
  assetIssuer: { type: String, default: null },
  priceType: String,
  price: { type: String, default: null },
  minAmount: { type: String, default: null },
  currency: { type: String, default: null },
  tolerancePercent: String,
};

const productSchema = new mongoose.Schema<ProductDoc>(
  {
    _id: String,
    accountId: String,
    name: String,
    nameKey: String,
    description: { type: String, default: null },
    imageUrl: { type: String, default: null },
    walletId: String,
    stock: { type: Number, default: null },
    stockChanges: { type: [String], default: undefined },
    ...termsShape,
    history: [
      new mongoose.Schema(
        {
          from: { type: stampSchema, default: null },
          terms: new mongoose.Schema(termsShape, PART_OPTIONS),
          network: String,
        },
        PART_OPTIONS,
      ),
    ],
    archived: { type: new mongoose.Schema({ count: Number, since: Date }, PART_OPTIONS), required: false },
    paymentLinkCount: Number,
    hasPayments: Boolean,
    revision: Number,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'products' },
);
productSchema.index({ accountId: 1, _id: -1 });
productSchema.index({ accountId: 1, active: 1, _id: -1 });
productSchema.index({ accountId: 1, nameKey: 1, _id: 1 });
// Partial index: few are priced in a currency.
productSchema.index(
  { currency: 1, assetCode: 1, assetIssuer: 1 },
  { partialFilterExpression: { currency: { $gt: '' } }, name: 'priced' },
);

export const productModel = (connection: mongoose.Connection): mongoose.Model<ProductDoc> =>
  connection.model<ProductDoc>('Product', productSchema);
