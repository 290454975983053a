/** The two path payments. There is no order book here, so only an empty path from an asset to itself succeeds. */
import { Keypair, xdr } from '@stellar/stellar-sdk/base';
import { assetFields, fromXdrAsset, isSameAsset } from '../asset.js';
import { type Party, partyFields, toParty } from '../party.js';
import { toAmount } from '../stroops.js';
import { type Context, inner, type OperationKind, valid } from './kind.js';
import { type TransferFailure, transfer, transferKeys } from './transfer.js';

type Body = xdr.PathPaymentStrictReceiveOp | xdr.PathPaymentStrictSendOp;
type Failure = TransferFailure | 'tooFewOffers' | 'outOfBounds' | 'malformed';

const { PathPaymentStrictReceiveResult: Receive, PathPaymentStrictSendResult: Send } = xdr;

const receiveFailures: Record<Failure, () => xdr.PathPaymentStrictReceiveResult> = {
  malformed: Receive.pathPaymentStrictReceiveMalformed,
  noDestination: Receive.pathPaymentStrictReceiveNoDestination,
  noTrust: Receive.pathPaymentStrictReceiveNoTrust,
  notAuthorized: Receive.pathPaymentStrictReceiveNotAuthorized,
  lineFull: Receive.pathPaymentStrictReceiveLineFull,
  srcNoTrust: Receive.pathPaymentStrictReceiveSrcNoTrust,
  srcNotAuthorized: Receive.pathPaymentStrictReceiveSrcNotAuthorized,
  underfunded: Receive.pathPaymentStrictReceiveUnderfunded,
  tooFewOffers: Receive.pathPaymentStrictReceiveTooFewOffers,
  outOfBounds: Receive.pathPaymentStrictReceiveOverSendmax,
};

const sendFailures: Record<Failure, () => xdr.PathPaymentStrictSendResult> = {
  malformed: Send.pathPaymentStrictSendMalformed,
  noDestination: Send.pathPaymentStrictSendNoDestination,
  noTrust: Send.pathPaymentStrictSendNoTrust,
  notAuthorized: Send.pathPaymentStrictSendNotAuthorized,
  lineFull: Send.pathPaymentStrictSendLineFull,
  srcNoTrust: Send.pathPaymentStrictSendSrcNoTrust,
  srcNotAuthorized: Send.pathPaymentStrictSendSrcNotAuthorized,
  underfunded: Send.pathPaymentStrictSendUnderfunded,
  tooFewOffers: Send.pathPaymentStrictSendTooFewOffers,
  outOfBounds: Send.pathPaymentStrictSendUnderDestmin,
};

const receiveResult = (of: xdr.PathPaymentStrictReceiveResult) =>
  inner(xdr.OperationResultTr.pathPaymentStrictReceive(of));
const sendResult = (of: xdr.PathPaymentStrictSendResult) => inner(xdr.OperationResultTr.pathPaymentStrictSend(of));

const shared = {
  isPayment: true,
  level: () => 'medium' as const,
  keys: (body: Body, source: string) =>
    transferKeys(source, toParty(body.destination).id, valid(fromXdrAsset(body.destAsset))),
  participants: (body: Body) => [toParty(body.destination).id],
  counterparty: (body: Body) => toParty(body.destination),
};

function isSound(body: Body, ...amounts: xdr.Int64[]): boolean {
  const assets = [body.sendAsset, body.destAsset, ...body.path];
  return amounts.every((amount) => amount > 0n) && assets.every((asset) => fromXdrAsset(asset) !== undefined);
}

function move(body: Body, source: string, context: Context, amount: bigint, isWithinBounds: boolean): Failure | null {
  const asset = valid(fromXdrAsset(body.destAsset));
  const isDirect = body.path.length === 0 && isSameAsset(asset, valid(fromXdrAsset(body.sendAsset)));
  if (!isDirect) return 'tooFewOffers';
  if (!isWithinBounds) return 'outOfBounds';
  return transfer(context, source, toParty(body.destination), asset, amount);
}

function lastPayment(body: Body, amount: bigint): xdr.SimplePaymentResult {
  return new xdr.SimplePaymentResult({
    destination: Keypair.fromPublicKey(toParty(body.destination).id).xdrAccountId(),
    asset: body.destAsset,
    amount,
  });
}

const movement = (body: Body, source: Party, arrived: bigint) => ({
  ...assetFields(valid(fromXdrAsset(body.destAsset))),
  ...partyFields('from', source),
  ...partyFields('to', toParty(body.destination)),
  amount: toAmount(arrived),
  path: body.path.map((asset) => assetFields(valid(fromXdrAsset(asset)))),
});

export const pathPaymentStrictReceive: OperationKind<xdr.PathPaymentStrictReceiveOp> = {
  ...shared,
  type: 'path_payment_strict_receive',
  typeIndex: 2,
  check: (body) => (isSound(body, body.destAmount, body.sendMax) ? null : receiveResult(receiveFailures.malformed())),
  apply(body, source, context) {
    const amount = body.destAmount;
    const failure = move(body, source, context, amount, amount <= body.sendMax);
    if (failure !== null) return receiveResult(receiveFailures[failure]());
    const success = new xdr.PathPaymentStrictReceiveResultSuccess({ offers: [], last: lastPayment(body, amount) });
    return receiveResult(Receive.pathPaymentStrictReceiveSuccess(success));
  },
  details: (body, source, { successful }) => ({
    ...movement(body, source, body.destAmount),
    source_amount: toAmount(successful ? body.destAmount : 0n),
    source_max: toAmount(body.sendMax),
    ...assetFields(valid(fromXdrAsset(body.sendAsset)), 'source_'),
  }),
};

export const pathPaymentStrictSend: OperationKind<xdr.PathPaymentStrictSendOp> = {
  ...shared,
  type: 'path_payment_strict_send',
  typeIndex: 13,
  check: (body) => (isSound(body, body.sendAmount, body.destMin) ? null : sendResult(sendFailures.malformed())),
  apply(body, source, context) {
    const amount = body.sendAmount;
    const failure = move(body, source, context, amount, amount >= body.destMin);
    if (failure !== null) return sendResult(sendFailures[failure]());
    const success = new xdr.PathPaymentStrictSendResultSuccess({ offers: [], last: lastPayment(body, amount) });
    return sendResult(Send.pathPaymentStrictSendSuccess(success));
  },
  details: (body, source, { successful }) => ({
    ...movement(body, source, successful ? body.sendAmount : 0n),
    source_amount: toAmount(body.sendAmount),
    destination_min: toAmount(body.destMin),
    ...assetFields(valid(fromXdrAsset(body.sendAsset)), 'source_'),
  }),
};
