/** What orders hold of things that run out: redemptions of coupons, pieces of stock, and places of
 *  links with `maxPayments`. They are taken in the transaction that makes a checkout, and given
 *  back in the one that finds it unpaid, each by a conditional update: whatever comes at once or
 *  dies, what is held and what is left add up. */
import type mongoose from 'mongoose';
import { openCollection } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { COUPONS, type CouponDoc } from './coupons.js';
import { PAYMENT_LINKS, type PaymentLinkDoc } from './link-store.js';
import { PRODUCTS, type ProductDoc } from './product-document.js';

interface Pieces {
  productId: string;
  quantity: number;
}

/** What an order takes. */
export interface Takes {
  couponId: string | null;
  /** Pieces of products with a stock, each product once. */
  pieces: Pieces[];
  /** The order link that it counts for. */
  linkId: string | null;
}

/** What it has of that. */
export interface Holds {
  coupon: boolean;
  /** All of them. */
  pieces: boolean;
  /** It counts for its link. */
  place: boolean;
}

/** Why an order does not get what it takes: its link takes no more, its coupon is used up, or of
 *  this product there are not enough pieces. */
export type Lack = 'link' | 'coupon' | { productId: string };

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
  const coupons = openCollection<CouponDoc>(connection, COUPONS);
  const products = openCollection<ProductDoc>(connection, PRODUCTS);
  const links = openCollection<PaymentLinkDoc>(connection, PAYMENT_LINKS);

  /** False where the link takes no order any more. @param now null for an order that was there
   *  before: it counts whatever has become of the link */
  const takePlace = async (accountId: string, _id: string, now: Date | null, session: Session): Promise<boolean> => {
    const isOpen = now && {
      ...{ active: true, order: { $ne: null } },
      $and: [
        { $or: [{ endsAt: null }, { endsAt: { $gt: now } }] },
        { $or: [{ maxPayments: null }, { $expr: { $lt: ['$orderCount', '$maxPayments'] } }] },
      ],
    };
    const filter = { _id, accountId, ...isOpen } as object;
    return (await links.updateOne(filter, { $inc: { orderCount: 1 } }, { session })).matchedCount === 1;
  };

  const redeem = async (accountId: string, _id: string, session: Session): Promise<boolean> => {
    const isLeft = { $or: [{ maxRedemptions: null }, { $expr: { $lt: ['$redemptions', '$maxRedemptions'] } }] };
    const filter = { _id, accountId, ...isLeft } as object;
    return (await coupons.updateOne(filter, { $inc: { redemptions: 1 } }, { session })).matchedCount === 1;
  };

  const addPieces = async (accountId: string, { productId, quantity }: Pieces, session: Session) => {
    const limited = { _id: productId, accountId, stock: { $gte: -quantity } } as object;
    return (await products.updateOne(limited, { $inc: { stock: quantity } }, { session })).matchedCount === 1;
  };

  /** All or none. @returns those that were taken, without products that have no stock any more;
   *  or of which there are not enough */
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
    async take(
      accountId: string,
      takes: Takes,
      now: Date,
      session: Session,
    ): Promise<Lack | { takes: Takes; holds: Holds }> {
      const { couponId, linkId } = takes;
      const pieces = await takePieces(accountId, takes.pieces, session);
      if (!Array.isArray(pieces)) return pieces;
      const giveBackPieces = async () => {
        for (const each of pieces) await addPieces(accountId, each, session);
      };
      if (linkId !== null && !(await takePlace(accountId, linkId, now, session))) {
        await giveBackPieces();
        return 'link';
      }
      const coupon = couponId !== null && (await redeem(accountId, couponId, session));
      if (couponId === null || coupon)
        return { takes: { ...takes, pieces }, holds: { coupon, pieces: true, place: linkId !== null } };
      await giveBackPieces();
      if (linkId !== null)
        await links.updateOne({ _id: linkId, accountId } as object, { $inc: { orderCount: -1 } }, { session });
      return 'coupon';
    },

    /** Takes again what an order gave back, as far as there is any.
     *  @returns the order with what it holds now */
    async takeAgain<Doc extends Holder>(order: Doc, session: Session): Promise<Doc> {
      const { accountId, takes, holds } = order;
      if (!takes || !holds) return order;
      const { couponId, linkId } = takes;
      const coupon = holds.coupon || (couponId !== null && (await redeem(accountId, couponId, session)));
      const pieces = holds.pieces || Array.isArray(await takePieces(accountId, takes.pieces, session));
      const place = holds.place || (linkId !== null && (await takePlace(accountId, linkId, null, session)));
      return { ...order, holds: { coupon, pieces, place } };
    },

    /** Gives back what these orders hold. Call in a transaction that reads and changes them.
     *  @returns them, holding nothing */
    async giveBack<Doc extends Holder>(orders: readonly Doc[], session: Session): Promise<Doc[]> {
      const redeemed: Given[] = [];
      const pieces: Given[] = [];
      const places: Given[] = [];
      for (const { accountId, takes, holds } of orders) {
        if (holds?.place) places.push({ accountId, _id: takes!.linkId!, count: 1 });
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
      if (places.length > 0)
        await links.bulkWrite(
          summed(places).map(({ count, ...filter }) => updateOf(filter, { orderCount: -count })),
          { session, ordered: false },
        );
      const none = { coupon: false, pieces: false, place: false };
      return orders.map((order) => (order.holds ? { ...order, holds: none } : order));
    },
  };
}
