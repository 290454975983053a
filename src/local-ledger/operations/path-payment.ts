/** The two path payments: from one asset to another through the books. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, bookName, fromXdrAsset, isSameAsset, type LedgerAsset } from '../asset.js';
import { accountKey, trustlineKey } from '../entries.js';
import { accountIdOf, claimAtom, tradeEffects, tradeMovements } from '../offers/claims.js';
import { type Claim, MAX_CLAIMS, type Taken, takeOffers } from '../offers/cross.js';
import { type CreditFailure, creditTo, type DebitFailure, debitFrom } from '../offers/holdings.js';
import { type Party, partyFields, toParty } from '../party.js';
import { MAX_INT64, toAmount } from '../stroops.js';
import { type Context, effects, inner, type OperationKind, valid } from './kind.js';

type Body = xdr.PathPaymentStrictReceiveOp | xdr.PathPaymentStrictSendOp;
type Failure =
  | CreditFailure
  | DebitFailure
  | 'noDestination'
  | 'tooFewOffers'
  | 'crossSelf'
  | 'outOfBounds'
  | 'malformed';

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
  crossSelf: Receive.pathPaymentStrictReceiveOfferCrossSelf,
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
  crossSelf: Send.pathPaymentStrictSendOfferCrossSelf,
  outOfBounds: Send.pathPaymentStrictSendUnderDestmin,
};

const receiveResult = (of: xdr.PathPaymentStrictReceiveResult) =>
  inner(xdr.OperationResultTr.pathPaymentStrictReceive(of));
const sendResult = (of: xdr.PathPaymentStrictSendResult) => inner(xdr.OperationResultTr.pathPaymentStrictSend(of));

/** From the sent asset to the arriving one. */
const assetsOf = ({ sendAsset, path, destAsset }: Body): LedgerAsset[] =>
  [sendAsset, ...path, destAsset].map((asset) => valid(fromXdrAsset(asset)));

/** The exchanges on the way. The same asset twice in a row needs none. */
function hopsOf(body: Body): { pays: LedgerAsset; gets: LedgerAsset }[] {
  const assets = assetsOf(body);
  return assets
    .slice(1)
    .map((gets, index) => ({ pays: assets[index]!, gets }))
    .filter(({ pays, gets }) => !isSameAsset(pays, gets));
}

const shared = {
  isPayment: true,
  level: () => 'medium' as const,
  keys(body: Body, source: string) {
    const to = toParty(body.destination).id;
    const [sent, arriving] = [valid(fromXdrAsset(body.sendAsset)), valid(fromXdrAsset(body.destAsset))];
    return [
      accountKey(to),
      ...(sent === null ? [] : [trustlineKey(source, sent)]),
      ...(arriving === null ? [] : [trustlineKey(to, arriving)]),
    ];
  },
  offers: (body: Body) => hopsOf(body).map(({ pays, gets }) => ({ book: bookName(gets, pays) })),
  participants: (body: Body) => [toParty(body.destination).id],
  counterparty: (body: Body) => toParty(body.destination),
};

function isSound(body: Body, ...amounts: xdr.Int64[]): boolean {
  const assets = [body.sendAsset, body.destAsset, ...body.path];
  return amounts.every((amount) => amount > 0n) && assets.every((asset) => fromXdrAsset(asset) !== undefined);
}

/** An asset returned to its issuer arrives even if the issuer's account is gone. */
function isDestinationMissing(body: Body, { view }: Context): boolean {
  const [sent, arriving] = [valid(fromXdrAsset(body.sendAsset)), valid(fromXdrAsset(body.destAsset))];
  const to = toParty(body.destination).id;
  const isReturned = arriving?.issuer === to && body.path.length === 0 && isSameAsset(sent, arriving);
  return !isReturned && view.account(to) === null;
}

interface Moved {
  sent: bigint;
  arrived: bigint;
  claims: Claim[];
}

type Outcome = Moved | Failure | 'tooMany';

const failureOf = ({ end }: Taken): 'tooFewOffers' | 'crossSelf' | 'tooMany' =>
  end === 'own_offer' ? 'crossSelf' : end === 'too_many' ? 'tooMany' : 'tooFewOffers';

/** Walks back from the destination to the amount to send. */
function receiveExactly(body: xdr.PathPaymentStrictReceiveOp, source: string, context: Context): Outcome {
  const { view } = context;
  const assets = assetsOf(body);
  if (isDestinationMissing(body, context)) return 'noDestination';
  const refused = creditTo(view, toParty(body.destination).id, assets.at(-1)!, body.destAmount);
  if (refused !== null) return refused;
  let needed = body.destAmount;
  let claims: Claim[] = [];
  for (const hop of hopsOf(body).reverse()) {
    const bounds = { canPay: MAX_INT64, wanted: needed, maxClaims: MAX_CLAIMS - claims.length };
    const taken = takeOffers(view, { taker: source, ...hop, ...bounds, rounding: 'strict_receive' });
    if (taken.end !== 'done' || taken.received !== needed) return failureOf(taken);
    needed = taken.paid;
    claims = [...taken.claims, ...claims];
  }
  if (needed > body.sendMax) return 'outOfBounds';
  return debitFrom(view, source, assets[0]!, needed) ?? { sent: needed, arrived: body.destAmount, claims };
}

/** Walks from the sent amount to the destination. */
function sendExactly(body: xdr.PathPaymentStrictSendOp, source: string, context: Context): Outcome {
  const { view } = context;
  const assets = assetsOf(body);
  if (isDestinationMissing(body, context)) return 'noDestination';
  const refused = debitFrom(view, source, assets[0]!, body.sendAmount);
  if (refused !== null) return refused;
  let held = body.sendAmount;
  let claims: Claim[] = [];
  for (const hop of hopsOf(body)) {
    const bounds = { canPay: held, wanted: MAX_INT64, maxClaims: MAX_CLAIMS - claims.length };
    const taken = takeOffers(view, { taker: source, ...hop, ...bounds, rounding: 'strict_send' });
    if (taken.end !== 'done' || taken.paid !== held) return failureOf(taken);
    held = taken.received;
    claims = [...claims, ...taken.claims];
  }
  if (held < body.destMin) return 'outOfBounds';
  const moved = { sent: body.sendAmount, arrived: held, claims };
  return creditTo(view, toParty(body.destination).id, assets.at(-1)!, held) ?? moved;
}

/** Notes the movements, and returns the result's data. */
function note(body: Body, source: string, context: Context, { sent, arrived, claims }: Moved) {
  const destination = toParty(body.destination);
  const [sentAsset, asset] = [valid(fromXdrAsset(body.sendAsset)), valid(fromXdrAsset(body.destAsset))];
  context.effects.push(
    effects.credited(destination.id, assetFields(asset), toAmount(arrived)),
    effects.debited(source, assetFields(sentAsset), toAmount(sent)),
    ...tradeEffects(source, claims),
  );
  context.movements.push(...tradeMovements(source, claims), {
    kind: 'transfer',
    from: source,
    to: destination.id,
    toMuxedId: destination.muxed?.id ?? null,
    asset,
    amount: arrived,
    showsMemo: true,
  });
  const last = new xdr.SimplePaymentResult({
    destination: accountIdOf(destination.id),
    asset: body.destAsset,
    amount: arrived,
  });
  return { offers: claims.map(claimAtom), last };
}

type Success = xdr.PathPaymentStrictReceiveResultSuccess | xdr.PathPaymentStrictSendResultSuccess;

function successIn(result: xdr.OperationResult): Success | null {
  const body: unknown = result.type === 'opInner' ? result.tr.value : null;
  return (body as { success?: Success } | null)?.success ?? null;
}

/** The sent amount: what the offers of the first asset took. */
function sentBy(result: xdr.OperationResult): bigint {
  const success = successIn(result);
  if (success === null) return 0n;
  const claims = success.offers.flatMap((atom) => (atom.type === 'claimAtomTypeOrderBook' ? [atom.orderBook] : []));
  if (claims.length === 0) return success.last.amount;
  const first = claims[0]!.assetBought.toXdr('base64');
  const end = claims.findIndex(({ assetBought }) => assetBought.toXdr('base64') !== first);
  return claims.slice(0, end === -1 ? claims.length : end).reduce((sum, { amountBought }) => sum + amountBought, 0n);
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
    const moved = receiveExactly(body, source, context);
    if (moved === 'tooMany') return xdr.OperationResult.opExceededWorkLimit();
    if (typeof moved === 'string') return receiveResult(receiveFailures[moved]());
    const success = new xdr.PathPaymentStrictReceiveResultSuccess(note(body, source, context, moved));
    return receiveResult(Receive.pathPaymentStrictReceiveSuccess(success));
  },
  details: (body, source, { successful, result }) => ({
    ...movement(body, source, body.destAmount),
    source_amount: toAmount(successful ? sentBy(result) : 0n),
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
    const moved = sendExactly(body, source, context);
    if (moved === 'tooMany') return xdr.OperationResult.opExceededWorkLimit();
    if (typeof moved === 'string') return sendResult(sendFailures[moved]());
    const success = new xdr.PathPaymentStrictSendResultSuccess(note(body, source, context, moved));
    return sendResult(Send.pathPaymentStrictSendSuccess(success));
  },
  details: (body, source, { successful, result }) => ({
    ...movement(body, source, successful ? (successIn(result)?.last.amount ?? 0n) : 0n),
    source_amount: toAmount(body.sendAmount),
    destination_min: toAmount(body.destMin),
    ...assetFields(valid(fromXdrAsset(body.sendAsset)), 'source_'),
  }),
};
