/** clawback: an issuer takes back what it issued, if the trustline allows it. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, fromXdrAsset, type IssuedAsset } from '../asset.js';
import { availableOnLine, LINE_CLAWBACK, trustlineKey } from '../entries.js';
import { partyFields, toParty } from '../party.js';
import { toAmount } from '../stroops.js';
import { effects, inner, type OperationKind } from './kind.js';

const { ClawbackResult: Result } = xdr;
const result = (of: xdr.ClawbackResult) => inner(xdr.OperationResultTr.clawback(of));

const assetOf = (body: xdr.ClawbackOp): IssuedAsset => {
  const asset = fromXdrAsset(body.asset);
  if (!asset) throw new Error('an invalid asset passed the check');
  return asset;
};

export const clawback: OperationKind<xdr.ClawbackOp> = {
  type: 'clawback',
  typeIndex: 19,
  isPayment: false,
  level: () => 'medium',
  keys: (body) => [trustlineKey(toParty(body.from).id, assetOf(body))],
  participants: (body) => [toParty(body.from).id],
  counterparty: (body) => toParty(body.from),
  check(body, source) {
    const isSound = body.amount > 0n && fromXdrAsset(body.asset)?.issuer === source && toParty(body.from).id !== source;
    return isSound ? null : result(Result.clawbackMalformed());
  },
  apply(body, source, { view, effects: done, movements }) {
    const [from, asset, amount] = [toParty(body.from).id, assetOf(body), body.amount];
    const line = view.trustline(from, asset);
    if (line === null) return result(Result.clawbackNoTrust());
    if ((line.flags & LINE_CLAWBACK) === 0) return result(Result.clawbackNotClawbackEnabled());
    if (availableOnLine(line) < amount) return result(Result.clawbackUnderfunded());
    view.update(line, (copy) => {
      copy.balance -= amount;
    });
    const fields = assetFields(asset);
    done.push(effects.credited(source, fields, toAmount(amount)), effects.debited(from, fields, toAmount(amount)));
    movements.push({ kind: 'clawback', from, asset, amount });
    return result(Result.clawbackSuccess());
  },
  details: (body) => ({
    ...assetFields(assetOf(body)),
    ...partyFields('from', toParty(body.from)),
    amount: toAmount(body.amount),
  }),
};
