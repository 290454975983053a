/** What orders hold of things that run out: redemptions of coupons and pieces of stock. They are taken in the transaction that makes a checkout, and given back
 *  in the one that finds it unpaid, each by a conditional update: whatever comes at once or dies, what is held and what is left add up. */
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';
import { couponModel } from './coupon-store.js';

/** What an order takes. */
export interface Takes {
  couponId: string | null;
}

/** What of that it has. */
export interface Holds {
  coupon: boolean;
}

/** A checkout, as far as it takes something. */
export interface Holder {
  accountId: string;
  /** Missing for nothing. */
  takes?: Takes;
  holds?: Holds;
}

export type Holdings = ReturnType<typeof createHoldings>;

export function createHoldings(connection: mongoose.Connection) {
  const coupons = couponModel(connection).collection;

  const redeem = async (accountId: string, _id: string, session: Session): Promise<boolean> => {
    const isLeft = { $or: [{ maxRedemptions: null }, { $expr: { $lt: ['$redemptions', '$maxRedemptions'] } }] };
    const filter = { _id, accountId, ...isLeft } as object;
    return (await coupons.updateOne(filter, { $inc: { redemptions: 1 } }, { session })).matchedCount === 1;
  };

  return {
    /** All or nothing. @returns what it holds now, or what there is too little of */
    async take(accountId: string, { couponId }: Takes, session: Session): Promise<Holds | 'coupon'> {
      const coupon = couponId !== null && (await redeem(accountId, couponId, session));
      return couponId !== null && !coupon ? 'coupon' : { coupon };
    },

    /** Takes again what an order gave back, as far as there is any.
     *  @returns the order with what it holds now */
    async takeAgain<Doc extends Holder>(order: Doc, session: Session): Promise<Doc> {
      const { accountId, takes, holds } = order;
      if (!takes || !holds) return order;
      const coupon = holds.coupon || (takes.couponId !== null && (await redeem(accountId, takes.couponId, session)));
      return { ...order, holds: { coupon } };
    },

    /** Gives back what these orders hold. Call in a transaction that reads and changes them. @returns them, holding nothing */
    async giveBack<Doc extends Holder>(orders: readonly Doc[], session: Session): Promise<Doc[]> {
      const after: Doc[] = [];
      for (const order of orders) {
        const { accountId, takes, holds } = order;
        if (holds?.coupon)
          await coupons.updateOne(
            { _id: takes!.couponId, accountId } as object,
            { $inc: { redemptions: -1 } },
            { session },
          );
        after.push(holds ? { ...order, holds: { coupon: false } } : order);
      }
      return after;
    },
  };
}
