/** Coupons in the API, and what one gives to an order. */
import type mongoose from 'mongoose';
import { couponFieldErrors } from '../../contracts/coupons.js';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import type { Commit } from '../accounts/index.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { canonicalPercent, type Discount, parsePercent } from '../domain/order.js';
import { type ApiError, conflict, invalid, NO_SUCH, notFound, withChanges } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection } from '../kit/collection.js';
import { isDuplicateKey, orAlreadyMade, type Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { createPages, type PageRequest, pageOf } from '../kit/paging.js';
import { createById } from '../kit/tick-loader.js';
import type { ForAccount } from '../stores.js';

// Coupons: what they give, and how often they were redeemed. A redemption is counted in the
// transaction of its checkout, on a condition, so that it is never one too many.

/** Amounts and percentages in canonical text. */
export const COUPONS = define(
  'coupons',
  {
    _id: String,
    accountId: String,
    /** In capitals. */
    code: String,
    percentOff: nullable(String),
    amountOff: nullable(String),
    /** What amounts are in: a currency, or an asset. */
    currency: nullable(String),
    assetCode: nullable(String),
    assetIssuer: nullable(String),
    /** Null for all lines. */
    productIds: nullable([String]),
    minSubtotal: nullable(String),
    startsAt: nullable(Date),
    endsAt: nullable(Date),
    maxRedemptions: nullable(Number),
    redemptions: Number,
    active: Boolean,
    createdAt: Date,
  },
  [{ key: { accountId: 1, code: 1 }, unique: true }, { key: { accountId: 1, _id: -1 } }],
);

export interface CouponDoc extends DocOf<typeof COUPONS> {}

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
  const collection = openCollection<CouponDoc>(connection, COUPONS);
  const byId = createById<CouponDoc>(collection);
  const page = createPages<CouponDoc>(collection);
  return {
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
      /** Stores a changed coupon, in the transaction that read it. False when the code is taken:
       *  abort the transaction. */
      change: (id: string, fields: Partial<CouponDoc>, session: Session): Promise<boolean> =>
        unlessTaken(collection.updateOne({ _id: id, accountId }, { $set: fields }, { session })),
      /** False when it has redemptions, or is gone. */
      removeUnused: async (id: string, session: Session): Promise<boolean> =>
        (await collection.deleteOne({ _id: id, accountId, redemptions: 0 }, { session })).deletedCount === 1,
    }),
  };
}

type Coupon = OutputOf<Contract['coupons']['get']>;
type Fields = Omit<ParsedInputOf<Contract['coupons']['create']>, 'active'>;

const toCoupon = ({ _id, accountId: _, startsAt, endsAt, createdAt, ...coupon }: CouponDoc): Coupon => ({
  id: _id,
  ...coupon,
  startsAt: startsAt?.toISOString() ?? null,
  endsAt: endsAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
});

const canonical = (amount: string | null | undefined) => (amount == null ? null : formatAmount(parseAmount(amount)!));
const moment = (text: string | null | undefined) => (text == null ? null : new Date(text));

/** Fields as they are stored; null for those that are not given. */
const stored = ({ code, percentOff, amountOff, minSubtotal, startsAt, endsAt, ...others }: Fields) => ({
  code: code.toUpperCase(),
  percentOff: percentOff == null ? null : canonicalPercent(percentOff),
  amountOff: canonical(amountOff),
  currency: others.currency ?? null,
  assetCode: others.assetCode ?? null,
  assetIssuer: others.assetIssuer ?? null,
  productIds: others.productIds ? [...new Set(others.productIds)] : null,
  minSubtotal: canonical(minSubtotal),
  startsAt: moment(startsAt),
  endsAt: moment(endsAt),
  maxRedemptions: others.maxRedemptions ?? null,
});

const taken = () => conflict('Another coupon has this code.');

type Service = ServiceOf<Contract['coupons']>;
interface CouponServiceDeps {
  forAccount: ForAccount<'coupons' | 'products'>;
  commit: Commit;
  clock: Pick<Clock, 'now'>;
  newId: NewId;
}

export function createCouponService({ forAccount, commit, clock, newId }: CouponServiceDeps): Service {
  /** @throws ApiError for a product that does not exist */
  async function checkProducts(accountId: string, productIds: readonly string[] | null | undefined): Promise<void> {
    if (!productIds) return;
    const found = new Set((await forAccount(accountId).products.byIds(productIds)).map(({ _id }) => _id));
    const faults = productIds.flatMap((id, index) =>
      found.has(id) ? [] : [{ ...NO_SUCH.product, path: `productIds.${index}` }],
    );
    if (faults.length > 0) throw invalid(faults[0]!, ...faults.slice(1));
  }

  return {
    async create(caller, { active, ...fields }) {
      const { accountId, reservedId } = caller;
      const { coupons } = forAccount(accountId);
      const _id = reservedId?.('coup') ?? newId('coup');
      const made = reservedId && (await coupons.byId(_id));
      if (made) return toCoupon(made);
      await checkProducts(accountId, fields.productIds);
      const coupon = { _id, accountId, ...stored(fields), redemptions: 0, active, createdAt: clock.now() };
      await commit({ caller, subjectId: _id }, async (session) => {
        if (!(await coupons.insert(coupon, session))) throw taken();
      });
      return toCoupon(coupon);
    },

    async list(caller, { active, code, ...request }) {
      const { coupons } = forAccount(caller.accountId);
      const { items, meta } = await coupons.list({ active, code: code?.toUpperCase() }, pageOf(caller, request));
      return { items: items.map(toCoupon), meta };
    },

    async get({ accountId }, { id }) {
      const coupon = await forAccount(accountId).coupons.byId(id);
      if (!coupon) throw notFound('coupon');
      return toCoupon(coupon);
    },

    async update(caller, { id, ...changes }) {
      const { coupons } = forAccount(caller.accountId);
      await checkProducts(caller.accountId, changes.productIds);
      const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
      const changed = await commit({ caller, subjectId: id }, async (session) => {
        const before = await coupons.byId(id, session);
        if (!before) throw notFound('coupon');
        const merged = withChanges(toCoupon(before), given, couponFieldErrors);
        const fields = { ...stored(merged), active: merged.active };
        if (fields.maxRedemptions !== null && fields.maxRedemptions < before.redemptions)
          throw conflict(`This coupon was redeemed ${before.redemptions} times already.`);
        if (!(await coupons.change(id, fields, session))) throw taken();
        return { ...before, ...fields };
      });
      return toCoupon(changed);
    },

    async delete(caller, { id }) {
      const { coupons } = forAccount(caller.accountId);
      await commit({ caller, subjectId: id }, async (session) => {
        if (!(await coupons.byId(id, session))) throw notFound('coupon');
        if (!(await coupons.removeUnused(id, session)))
          throw conflict('This coupon was redeemed: make it inactive instead.');
      });
      return { id, deleted: true };
    },
  };
}

/** What a coupon is held against. */
interface Redeeming {
  lines: readonly { productId: string | null }[];
  subtotal: bigint;
  currency: string | null;
  assetCode: string;
  assetIssuer: string | null;
  now: Date;
}

/** Why a coupon gives nothing to an order. */
export function couponRefusal(coupon: CouponDoc, order: Redeeming): string | null {
  const { active, startsAt, endsAt, maxRedemptions, redemptions, minSubtotal } = coupon;
  if (!active) return 'This coupon is inactive.';
  if (startsAt && order.now < startsAt) return `This coupon is taken from ${startsAt.toISOString()} on.`;
  if (endsAt && order.now >= endsAt) return `This coupon ended at ${endsAt.toISOString()}.`;
  if (maxRedemptions !== null && redemptions >= maxRedemptions) return USED_UP;
  const unit = coupon.currency ?? coupon.assetCode;
  if (!isInUnit(coupon, order)) return `This coupon is for prices in ${unit}.`;
  if (minSubtotal !== null && order.subtotal < parseAmount(minSubtotal)!)
    return `This coupon needs a subtotal of at least ${minSubtotal} ${unit ?? order.currency ?? order.assetCode}.`;
  return order.lines.some((line) => takesFrom(coupon, line)) ? null : 'No line is of a product of this coupon.';
}

const USED_UP = 'This coupon is used up.';
export const refusedCoupon = (message: string, code = 'not_allowed'): ApiError =>
  invalid({ path: 'couponCode', message, code });
export const usedUp = (): ApiError => refusedCoupon(USED_UP);

function isInUnit({ currency, assetCode, assetIssuer }: CouponDoc, order: Redeeming): boolean {
  if (currency !== null) return currency === order.currency;
  if (assetCode === null) return true;
  return order.currency === null && assetCode === order.assetCode && assetIssuer === order.assetIssuer;
}

export const takesFrom = ({ productIds }: CouponDoc, { productId }: { productId: string | null }): boolean =>
  productIds === null || (productId !== null && productIds.includes(productId));

export const discountBy = ({ percentOff, amountOff }: CouponDoc, decimals: number): Discount =>
  percentOff === null ? { amount: parseAmount(amountOff!)! } : { percent: parsePercent(percentOff, decimals) };
