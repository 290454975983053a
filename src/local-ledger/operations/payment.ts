/** payment. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, fromXdrAsset } from '../asset.js';
import { partyFields, toParty } from '../party.js';
import { toAmount } from '../stroops.js';
import { inner, type OperationKind, valid } from './kind.js';
import { type TransferFailure, transfer, transferKeys } from './transfer.js';

const { PaymentResult } = xdr;
const result = (of: xdr.PaymentResult) => inner(xdr.OperationResultTr.payment(of));

const failures: Record<TransferFailure, () => xdr.PaymentResult> = {
  noDestination: PaymentResult.paymentNoDestination,
  noTrust: PaymentResult.paymentNoTrust,
  notAuthorized: PaymentResult.paymentNotAuthorized,
  lineFull: PaymentResult.paymentLineFull,
  srcNoTrust: PaymentResult.paymentSrcNoTrust,
  srcNotAuthorized: PaymentResult.paymentSrcNotAuthorized,
  underfunded: PaymentResult.paymentUnderfunded,
};

export const payment: OperationKind<xdr.PaymentOp> = {
  type: 'payment',
  typeIndex: 1,
  isPayment: true,
  level: () => 'medium',
  keys: (body, source) => transferKeys(source, toParty(body.destination).id, valid(fromXdrAsset(body.asset))),
  participants: (body) => [toParty(body.destination).id],
  counterparty: (body) => toParty(body.destination),
  check(body) {
    const isSound = body.amount > 0n && fromXdrAsset(body.asset) !== undefined;
    return isSound ? null : result(PaymentResult.paymentMalformed());
  },
  apply(body, source, context) {
    const asset = valid(fromXdrAsset(body.asset));
    const failure = transfer(context, source, toParty(body.destination), asset, body.amount);
    return result(failure === null ? PaymentResult.paymentSuccess() : failures[failure]());
  },
  details: (body, source) => ({
    ...assetFields(valid(fromXdrAsset(body.asset))),
    ...partyFields('from', source),
    ...partyFields('to', toParty(body.destination)),
    amount: toAmount(body.amount),
  }),
};
