/** Payments of one payer that a refund may return. MongoDB searches all of them, however many there are. */
import type mongoose from 'mongoose';
import { formatAmount } from '../domain/amount.js';
import type { MoneyBack, Payer } from '../domain/refund.js';
import { LEFT } from './checkout-payments.js';
import type { Session } from './database.js';
import type { PaymentDoc } from './payment-document.js';

/** The payments to search: an account's, or those of one link or checkout. */
type PaymentsOf = Pick<PaymentDoc, 'accountId' | 'network'> & Partial<Pick<PaymentDoc, 'paymentLinkId' | 'checkoutId'>>;

/** In ledger order. */
const ORDER = { ledgerClosedAt: 1, ledger: 1, operationId: 1 } as const;

export function createRefundable(collection: mongoose.mongo.Collection<PaymentDoc>) {
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
    /** The payer's oldest payments before the refund, in its asset.
     *  @param least stroops that each must have left; null for any */
    async of(
      of: PaymentsOf,
      back: MoneyBack,
      { payer, least, limit }: { payer: Payer; least: bigint | null; limit: number },
      session: Session,
    ): Promise<PaymentDoc[]> {
      const before = criteria(of, back, payer.address);
      const hasLeft = { $gte: [LEFT, { $toDecimal: formatAmount(least ?? 0n) }] };
      const $expr = least === null ? before.$expr : { $and: [before.$expr, hasLeft] };
      const found = { ...before, senderMuxedAddress: payer.muxedAddress, $expr };
      return collection.find(found, { session, sort: ORDER, limit }).toArray();
    },

    /** The muxed account of this base account that paid before the refund, in its asset. Null for none or several. */
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

const toLong = ($toLong: string) => ({ $toLong });
