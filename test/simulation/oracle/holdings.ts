/** What must hold of what runs out, after every commit: taken and left add up, no redemption and no
 *  order of a link is one too many, and an order of which money came keeps its own. */
import type { Doc } from '../knowledge.js';

export class HoldingObserver {
  /** Pieces left and taken of each product with a stock, which merchants never change here. */
  readonly #totals = new Map<string, number>();
  readonly #held = new Map<string, boolean>();
  readonly #paid = new Set<string>();
  /** Cancelled, and gave back what they held. */
  readonly #givenUp = new Set<string>();

  see({
    products,
    coupons,
    links,
    checkouts,
  }: Record<'products' | 'coupons' | 'links' | 'checkouts', readonly Doc[]>): string[] {
    const faults: string[] = [];
    for (const { _id, code, redemptions, maxRedemptions } of coupons) {
      const held = checkouts.filter(({ takes, holds }) => takes?.couponId === _id && holds.coupon).length;
      if (redemptions !== held)
        faults.push(`coupon ${code} counts ${redemptions} redemptions, and ${held} orders have it`);
      if (maxRedemptions !== null && redemptions > maxRedemptions)
        faults.push(`coupon ${code} was redeemed once too often`);
    }
    for (const { _id, stock } of products) {
      if (stock === null || stock === undefined) continue;
      const pieces = checkouts.flatMap(({ takes, holds }) => (takes && holds.pieces ? takes.pieces : []));
      const held = pieces.reduce((sum: number, each: Doc) => (each.productId === _id ? sum + each.quantity : sum), 0);
      const total = this.#totals.get(_id) ?? stock + held;
      this.#totals.set(_id, total);
      if (stock < 0 || stock + held !== total)
        faults.push(`of ${total} pieces of ${_id.slice(-6)} ${stock} are left and ${held} taken`);
    }
    for (const { _id, maxPayments, orderCount } of links) {
      const own = checkouts.filter(({ takes }) => takes?.linkId === _id);
      const held = own.filter(({ holds }) => holds.place).length;
      if (orderCount !== held)
        faults.push(`link ${_id.slice(-6)} counts ${orderCount} orders, and ${held} count for it`);
      // What is accepted after its end counts beyond the limit.
      const isNew = own.some((order) => !this.#held.has(order._id));
      if (isNew && maxPayments !== null && held > maxPayments)
        faults.push(`link ${_id.slice(-6)} took ${held} orders, and takes ${maxPayments}`);
    }
    const isLeft = ({ productId, quantity }: Doc) =>
      products.some(({ _id, stock }) => _id === productId && stock >= quantity);
    for (const { _id, status, takes, holds, received, acceptedFrom } of checkouts) {
      if (!takes) continue;
      if (status === 'PAID' && !this.#paid.has(_id)) {
        this.#paid.add(_id);
        if (!holds.pieces && takes.pieces.every(isLeft))
          faults.push(`checkout ${_id.slice(-6)} is PAID without its pieces`);
      }
      const isHeld = (holds.pieces && takes.pieces.length > 0) || holds.coupon || holds.place;
      const gives = this.#held.get(_id) === true && !isHeld;
      this.#held.set(_id, isHeld);
      if (gives && status === 'CANCELLED') this.#givenUp.add(_id);
      if (status === 'PAID' && !acceptedFrom && this.#givenUp.delete(_id))
        faults.push(`checkout ${_id.slice(-6)} was paid in time and had given back what it held`);
      if (status === 'EXPIRED' && isHeld) faults.push(`checkout ${_id.slice(-6)} is EXPIRED and holds something`);
      if (gives && !(status === 'EXPIRED' || (status === 'CANCELLED' && received === '0')))
        faults.push(`checkout ${_id.slice(-6)} (${status} ${received}) gave back what it held`);
    }
    return faults;
  }
}
