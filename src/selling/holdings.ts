/** What orders hold of things that run out: redemptions of coupons and pieces of stock. They are taken in the transaction that makes a checkout, and given back
 *  in the one that finds it unpaid, each by a conditional update: whatever comes at once or dies, what is held and what is left add up. */
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';
import { couponModel } from './coupons.js';
import { productModel } from './product-document.js';

interface Pieces {
  productId: string;
  quantity: number;
}

/** What an order takes. */
export interface Takes {
  couponId: string | null;
  /** Pieces of products with a stock, each product once. */
  pieces: Pieces[];
}

/** What it has of that. */
export interface Holds {
  coupon: boolean;
  /** All of them. */
  pieces: boolean;
}

/** Why an order does not get what it takes: its coupon is used up, or of this product there are not enough pieces. */
export type Lack = 'coupon' | { productId: string };

/** A checkout, as far as it takes something. */
export interface Holder {
  accountId: string;
  /** Missing for nothing. */
  takes?: Takes;
  holds?: Holds;
}

/** How many of a coupon or a product come back. */
interface Given {
  accountId: string;
  _id: string;
  count: number;
}

/** One for each thing, however many orders held it: they come back by one command. */
function summed(given: readonly Given[]): Given[] {
  const byId = new Map<string, Given>();
  for (const each of given) byId.set(each._id, { ...each, count: each.count + (byId.get(each._id)?.count ?? 0) });
  return [...byId.values()];
}

const updateOf = (filter: object, $inc: Record<string, number>) => ({ updateOne: { filter, update: { $inc } } });

export type Holdings = ReturnType<typeof createHoldings>;

export function createHoldings(connection: mongoose.Connection) {
  const coupons = couponModel(connection).collection;
  const products = productModel(connection).collection;

  const redeem = async (accountId: string, _id: string, session: Session): Promise<boolean> => {
    const isLeft = { $or: [{ maxRedemptions: null }, { $expr: { $lt: ['$redemptions', '$maxRedemptions'] } }] };
    const filter = { _id, accountId, ...isLeft } as object;
    return (await coupons.updateOne(filter, { $inc: { redemptions: 1 } }, { session })).matchedCount === 1;
  };

  const addPieces = async (accountId: string, { productId, quantity }: Pieces, session: Session) => {
    const limited = { _id: productId, accountId, stock: { $gte: -quantity } } as object;
    return (await products.updateOne(limited, { $inc: { stock: quantity } }, { session })).matchedCount === 1;
  };

  /** All or none. @returns those that were taken, without products that have no stock any more; or of which there are not enough */
  async function takePieces(
    accountId: string,
    pieces: readonly Pieces[],
    session: Session,
  ): Promise<Pieces[] | { productId: string }> {
    const taken: Pieces[] = [];
    for (const each of pieces) {
      const { productId, quantity } = each;
      if (await addPieces(accountId, { productId, quantity: -quantity }, session)) taken.push(each);
      else {
        const product = await products.findOne({ _id: productId, accountId } as object, { session });
        if (product === null || product.stock === null) continue;
        for (const other of taken) await addPieces(accountId, other, session);
        return { productId };
      }
    }
    return taken;
  }

  return {
    /** All or nothing. */
    async take(accountId: string, takes: Takes, session: Session): Promise<Lack | { takes: Takes; holds: Holds }> {
      const { couponId } = takes;
      const pieces = await takePieces(accountId, takes.pieces, session);
      if (!Array.isArray(pieces)) return pieces;
      const coupon = couponId !== null && (await redeem(accountId, couponId, session));
      if (couponId === null || coupon) return { takes: { couponId, pieces }, holds: { coupon, pieces: true } };
      for (const each of pieces) await addPieces(accountId, each, session);
      return 'coupon';
    },

    /** Takes again what an order gave back, as far as there is any.
     *  @returns the order with what it holds now */
    async takeAgain<Doc extends Holder>(order: Doc, session: Session): Promise<Doc> {
      const { accountId, takes, holds } = order;
      if (!takes || !holds) return order;
      const coupon = holds.coupon || (takes.couponId !== null && (await redeem(accountId, takes.couponId, session)));
      const pieces = holds.pieces || Array.isArray(await takePieces(accountId, takes.pieces, session));
      return { ...order, holds: { coupon, pieces } };
    },

    /** Gives back what these orders hold. Call in a transaction that reads and changes them. @returns them, holding nothing */
    async giveBack<Doc extends Holder>(orders: readonly Doc[], session: Session): Promise<Doc[]> {
      const redeemed: Given[] = [];
      const pieces: Given[] = [];
      for (const { accountId, takes, holds } of orders) {
        if (holds?.coupon) redeemed.push({ accountId, _id: takes!.couponId!, count: 1 });
        for (const { productId, quantity } of holds?.pieces ? takes!.pieces : [])
          pieces.push({ accountId, _id: productId, count: quantity });
      }
      if (redeemed.length > 0)
        await coupons.bulkWrite(
          summed(redeemed).map(({ count, ...filter }) => updateOf(filter, { redemptions: -count })),
          { session, ordered: false },
        );
      if (pieces.length > 0)
        await products.bulkWrite(
          summed(pieces).map(({ count, ...filter }) => updateOf({ ...filter, stock: { $ne: null } }, { stock: count })),
          { session, ordered: false },
        );
      return orders.map((order) => (order.holds ? { ...order, holds: { coupon: false, pieces: false } } : order));
    },
  };
}
