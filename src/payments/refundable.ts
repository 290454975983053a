/** The payments of a payer that a refund may return, a part of the payment store. MongoDB searches
 *  all of them, however many there are. */
import { formatAmount } from '../domain/amount.js';
import type { MoneyBack, Payer } from '../domain/refund.js';
import type { Collection } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { LEFT, REFUNDED } from './checkout-payments.js';
import type { PaymentDoc } from './payment-document.js';

/** The payments to search: an account's, or those of one link or checkout. */
type PaymentsOf = Pick<PaymentDoc, 'accountId' | 'network'> & Partial<Pick<PaymentDoc, 'paymentLinkId' | 'checkoutId'>>;

const OLDEST = { ledgerClosedAt: 1, ledger: 1, operationId: 1 } as const;
const NEWEST = { ledgerClosedAt: -1, ledger: -1, operationId: -1 } as const;

/** The newest payments of a payer that are searched for what a refund gives back first: an exchange
 *  may be the payer of very many. */
const SEARCHED = 5000;

/** MongoDB expression: the part of the excess that was not refunded; below 0 without an excess. */
const EXCESS_LEFT = { $subtract: [{ $toDecimal: { $ifNull: ['$excessAmount', '0'] } }, REFUNDED] };
const IS_OVERPAID = { $and: [{ $eq: ['$status', 'COMPLETED'] }, { $gt: [EXCESS_LEFT, { $toDecimal: '0' }] }] };
/** What a refund gives back first: what is to be decided, then what was paid too much. */
const TURN = { $cond: ['$needsDecision', 0, { $cond: [IS_OVERPAID, 1, 2] }] };

export function createRefundable(collection: Collection<PaymentDoc>) {
  const criteria = (of: PaymentsOf, { asset, closedAt, operationId }: MoneyBack, address: string) => ({
    ...of,
    senderAddress: address,
    ...{ assetCode: asset.code, assetIssuer: asset.issuer },
    ledgerClosedAt: { $lte: closedAt },
    $expr: {
      $or: [{ $lt: ['$ledgerClosedAt', closedAt] }, { $lt: [toLong('$operationId'), toLong(operationId)] }],
    },
  });

  return {
    /** The payer's payments before the refund, in its asset, in the order in which refunds go to
     *  them: what is to be decided, then what was paid too much, of these what has exactly that
     *  much left and then the newest; then the others, the oldest first.
     *  @param least stroops that each must have left; null for any, the oldest first */
    async inOrder(
      of: PaymentsOf,
      back: MoneyBack,
      { payer, least, limit }: { payer: Payer; least: bigint | null; limit: number },
      session: Session,
    ): Promise<PaymentDoc[]> {
      const before = { ...criteria(of, back, payer.address), senderMuxedAddress: payer.muxedAddress };
      if (least === null) return collection.find(before, { session, sort: OLDEST, limit }).toArray();
      const $expr = { $and: [before.$expr, { $gte: [LEFT, decimal(least)] }] };
      const isExact = { $or: [LEFT, EXCESS_LEFT].map((left) => ({ $eq: [left, decimal(back.amount)] })) };
      const turns = collection.aggregate<{ _id: string }>(
        [
          { $match: before },
          { $sort: NEWEST },
          { $limit: SEARCHED },
          { $match: { $expr } },
          { $project: { turn: TURN, exact: { $cond: [isExact, 0, 1] }, ledgerClosedAt: 1, ledger: 1, operationId: 1 } },
          { $match: { turn: { $lt: 2 } } },
          { $sort: { turn: 1, exact: 1, ...NEWEST } },
          { $limit: limit },
        ],
        { session },
      );
      const ids = (await turns.toArray()).map(({ _id }) => _id);
      const first =
        ids.length === 0
          ? []
          : await collection.find({ _id: { $in: ids }, accountId: of.accountId }, { session }).toArray();
      first.sort((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
      if (first.length === limit) return first;
      const rest = { ...before, _id: { $nin: ids }, $expr };
      return [
        ...first,
        ...(await collection.find(rest, { session, sort: OLDEST, limit: limit - first.length }).toArray()),
      ];
    },

    /** The muxed account of this base account that paid before the refund, in its asset. Null for
     *  none or several. */
    async onlyMuxedPayer(of: PaymentsOf, back: MoneyBack, session: Session): Promise<Payer | null> {
      const { address } = back.receiver;
      const other = async (known: string | null) => {
        const found = { ...criteria(of, back, address), senderMuxedAddress: { $nin: [null, known] } };
        return (await collection.findOne(found, { session, projection: { senderMuxedAddress: 1 } }))
          ?.senderMuxedAddress;
      };
      const muxedAddress = (await other(null)) ?? null;
      return muxedAddress === null || (await other(muxedAddress)) ? null : { address, muxedAddress };
    },
  };
}

const decimal = (stroops: bigint) => ({ $toDecimal: formatAmount(stroops) });
const toLong = ($toLong: string) => ({ $toLong });
