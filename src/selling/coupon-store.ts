/** Coupons: what they give, and how often they were redeemed. A redemption is counted in the transaction of its checkout, on a condition, so that it is never one
 *  too many. */
import mongoose from 'mongoose';
import { createById } from '../kit/by-id.js';
import { isDuplicateKey, makeIndexes, orAlreadyMade, SCHEMA_OPTIONS, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';

/** Amounts and percentages in canonical text. */
export interface CouponDoc {
  _id: string;
  accountId: string;
  /** In capitals. */
  code: string;
  percentOff: string | null;
  amountOff: string | null;
  /** What amounts are in: a currency, or an asset. */
  currency: string | null;
  assetCode: string | null;
  assetIssuer: string | null;
  /** Null for all lines. */
  productIds: string[] | null;
  minSubtotal: string | null;
  startsAt: Date | null;
  endsAt: Date | null;
  maxRedemptions: number | null;
  redemptions: number;
  active: boolean;
  createdAt: Date;
}

const nullable = { type: String, default: null };
const couponSchema = new mongoose.Schema<CouponDoc>(
  {
    _id: String,
    accountId: String,
    code: String,
    ...{ percentOff: nullable, amountOff: nullable, currency: nullable, assetCode: nullable, assetIssuer: nullable },
    productIds: { type: [String], default: null },
    minSubtotal: nullable,
    startsAt: { type: Date, default: null },
    endsAt: { type: Date, default: null },
    maxRedemptions: { type: Number, default: null },
    redemptions: Number,
    active: Boolean,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'coupons' },
);
couponSchema.index({ accountId: 1, code: 1 }, { unique: true });
couponSchema.index({ accountId: 1, _id: -1 });

export const couponModel = (connection: mongoose.Connection): mongoose.Model<CouponDoc> =>
  connection.model<CouponDoc>('Coupon', couponSchema);

/** False when the code is taken. */
async function unlessTaken(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

export function createCouponStore(connection: mongoose.Connection) {
  const coupons = couponModel(connection);
  const collection = coupons.collection as unknown as mongoose.mongo.Collection<CouponDoc>;
  const byId = createById<CouponDoc>(coupons);
  const page = createPages<CouponDoc>(coupons);
  return {
    ensureIndexes: () => makeIndexes(coupons),
    forAccount: (accountId: string) => ({
      byId: (id: string, session?: Session) => byId.one(accountId, id, session),
      byCode: (code: string) => collection.findOne({ accountId, code }),
      list: ({ active, code }: { active?: boolean | undefined; code?: string | undefined }, request: PageRequest) =>
        page(
          { accountId, ...(active === undefined ? {} : { active }), ...(code === undefined ? {} : { code }) },
          { ...request, sort: { _id: -1 } },
        ),
      /** False when the code is taken: abort the transaction. */
      insert: (coupon: CouponDoc, session: Session): Promise<boolean> =>
        unlessTaken(orAlreadyMade(collection.insertOne({ ...coupon, accountId }, { session }))),
      /** Stores a changed coupon, in the transaction that read it. False when the code is taken: abort the transaction. */
      change: (id: string, fields: Partial<CouponDoc>, session: Session): Promise<boolean> =>
        unlessTaken(collection.updateOne({ _id: id, accountId }, { $set: fields }, { session })),
      /** False when it has redemptions, or is gone. */
      removeUnused: async (id: string, session: Session): Promise<boolean> =>
        (await collection.deleteOne({ _id: id, accountId, redemptions: 0 }, { session })).deletedCount === 1,
    }),
  };
}
