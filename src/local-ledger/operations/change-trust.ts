/** change_trust: opens a trustline, changes its limit, or (limit 0) closes it. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, fromXdrAsset, type IssuedAsset } from '../asset.js';
import {
  AUTH_CLAWBACK,
  AUTH_REQUIRED,
  accountKey,
  LINE_AUTHORIZED,
  LINE_CLAWBACK,
  liabilitiesOf,
  trustlineKey,
} from '../entries.js';
import { partyFields } from '../party.js';
import { toAmount } from '../stroops.js';
import { inner, type OperationKind } from './kind.js';
import { countEntry, release, reserve } from './sponsorship.js';

/** Core's limit of entries owned by one account. */
export const MAX_SUBENTRIES = 1000;

const { ChangeTrustResult } = xdr;
const result = (of: xdr.ChangeTrustResult) => inner(xdr.OperationResultTr.changeTrust(of));

const lineOf = (body: xdr.ChangeTrustOp): IssuedAsset => {
  const asset = fromXdrAsset(body.line);
  if (!asset) throw new Error('an invalid line passed the check');
  return asset;
};

export const changeTrust: OperationKind<xdr.ChangeTrustOp> = {
  type: 'change_trust',
  typeIndex: 6,
  isPayment: false,
  level: () => 'medium',
  keys: (body, source) => [trustlineKey(source, lineOf(body)), accountKey(lineOf(body).issuer)],
  participants: () => [],
  check(body) {
    const isSound = body.limit >= 0n && Boolean(fromXdrAsset(body.line));
    return isSound ? null : result(ChangeTrustResult.changeTrustMalformed());
  },
  apply(body, source, context) {
    const { view, ledger, effects: done } = context;
    const asset = lineOf(body);
    const limit = body.limit;
    if (asset.issuer === source) return result(ChangeTrustResult.changeTrustSelfNotAllowed());
    const owner = view.account(source)!;
    const line = view.trustline(source, asset);
    // Closing a missing trustline has the same code as a limit below the balance plus what offers
    // may bring.
    if (limit < (line === null ? 1n : line.balance + liabilitiesOf(line).buying))
      return result(ChangeTrustResult.changeTrustInvalidLimit());
    const effect = { account: source, ...assetFields(asset), limit: toAmount(limit) };
    if (line !== null && limit === 0n) {
      view.remove(line._id);
      release(view, line.sponsor, 1);
      view.update(view.account(source)!, (copy) => countEntry(copy, -1, line.sponsor));
      done.push({ type: 'trustline_removed', type_i: 21, ...effect });
      return result(ChangeTrustResult.changeTrustSuccess());
    }
    const issuer = view.account(asset.issuer);
    if (issuer === null) return result(ChangeTrustResult.changeTrustNoIssuer());
    if (line !== null) {
      view.update(line, (copy) => {
        copy.limit = limit;
      });
      done.push({ type: 'trustline_updated', type_i: 22, ...effect });
      return result(ChangeTrustResult.changeTrustSuccess());
    }
    if (owner.subentries >= MAX_SUBENTRIES) return xdr.OperationResult.opTooManySubentries();
    const sponsor = reserve(context, source, 1);
    if (sponsor === undefined) return result(ChangeTrustResult.changeTrustLowReserve());
    view.put({
      _id: trustlineKey(source, asset),
      kind: 'trustline',
      owner: source,
      ...asset,
      balance: 0n,
      limit,
      flags:
        ((issuer.flags & AUTH_REQUIRED) === 0 ? LINE_AUTHORIZED : 0) |
        ((issuer.flags & AUTH_CLAWBACK) === 0 ? 0 : LINE_CLAWBACK),
      ...(sponsor && { sponsor }),
      modified: { ledger: ledger.sequence, time: ledger.closeTime },
    });
    view.update(owner, (copy) => countEntry(copy, 1, sponsor));
    done.push({ type: 'trustline_created', type_i: 20, ...effect });
    return result(ChangeTrustResult.changeTrustSuccess());
  },
  details: (body, source) => ({
    ...assetFields(lineOf(body)),
    limit: toAmount(body.limit),
    trustee: lineOf(body).issuer,
    ...partyFields('trustor', source),
  }),
};
