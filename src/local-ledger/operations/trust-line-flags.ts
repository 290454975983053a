/** set_trust_line_flags: an issuer authorizes a trustline, or revokes that. */
import { xdr } from '@stellar/stellar-sdk/base';
import { assetFields, fromXdrAsset, type IssuedAsset, isSameAsset } from '../asset.js';
import {
  AUTH_REVOCABLE,
  LINE_AUTHORIZED,
  LINE_CLAWBACK,
  LINE_MAINTAIN,
  type OfferEntry,
  type TrustlineEntry,
  trustlineKey,
  type View,
} from '../entries.js';
import { withdraw } from '../offers/cross.js';
import { partyFields, toAddress } from '../party.js';
import { inner, type OperationKind } from './kind.js';

const { SetTrustLineFlagsResult: Result } = xdr;
const result = (of: xdr.SetTrustLineFlagsResult) => inner(xdr.OperationResultTr.setTrustLineFlags(of));

const ALL_FLAGS = LINE_AUTHORIZED | LINE_MAINTAIN | LINE_CLAWBACK;
const AUTHORIZATION = LINE_AUTHORIZED | LINE_MAINTAIN;
const FLAG_NAMES: [number, string][] = [
  [LINE_AUTHORIZED, 'authorized'],
  [LINE_MAINTAIN, 'authorized_to_maintain_liabilities'],
  [LINE_CLAWBACK, 'clawback_enabled'],
];

const lineOf = (body: xdr.SetTrustLineFlagsOp): IssuedAsset => {
  const asset = fromXdrAsset(body.asset);
  if (!asset) throw new Error('an invalid asset passed the check');
  return asset;
};

export const setTrustLineFlags: OperationKind<xdr.SetTrustLineFlagsOp> = {
  type: 'set_trust_line_flags',
  typeIndex: 21,
  isPayment: false,
  level: () => 'low',
  keys: (body) => [trustlineKey(toAddress(body.trustor), lineOf(body))],
  offers: (body) => [{ owner: toAddress(body.trustor) }],
  participants: (body) => [toAddress(body.trustor)],
  check(body, source) {
    const asset = fromXdrAsset(body.asset);
    const [set, clear] = [body.setFlags, body.clearFlags];
    const isSound =
      asset?.issuer === source &&
      toAddress(body.trustor) !== source &&
      (set & clear) === 0 &&
      ((set | clear) & ~ALL_FLAGS) === 0 &&
      // This operation can end a trustline's clawback, but never enable it.
      (set & LINE_CLAWBACK) === 0 &&
      (set & AUTHORIZATION) !== AUTHORIZATION;
    return isSound ? null : result(Result.setTrustLineFlagsMalformed());
  },
  apply(body, source, { view, effects: done, movements }) {
    const [set, clear] = [body.setFlags, body.clearFlags];
    const canRevoke = (view.account(source)!.flags & AUTH_REVOCABLE) !== 0;
    const line = view.trustline(toAddress(body.trustor), lineOf(body));
    if (line === null) return result(Result.setTrustLineFlagsNoTrustLine());
    const flags = (line.flags & ~clear) | set;
    if ((flags & AUTHORIZATION) === AUTHORIZATION) return result(Result.setTrustLineFlagsInvalidState());
    const isRevoked = (line.flags & LINE_AUTHORIZED) !== 0 && (flags & LINE_AUTHORIZED) === 0;
    const isFrozen = (line.flags & AUTHORIZATION) !== 0 && (flags & AUTHORIZATION) === 0;
    if ((isRevoked || isFrozen) && !canRevoke) return result(Result.setTrustLineFlagsCantRevoke());
    if (isFrozen) withdrawOffers(view, line);
    view.update(view.trustline(line.owner, line)!, (copy) => {
      copy.flags = flags;
    });
    done.push({
      type: 'trustline_flags_updated',
      type_i: 26,
      account: source,
      ...assetFields(lineOf(body)),
      trustor: toAddress(body.trustor),
      ...Object.fromEntries(
        FLAG_NAMES.filter(([flag]) => ((set | clear) & flag) !== 0).map(([flag, name]) => [
          `${name}_flag`,
          (set & flag) !== 0,
        ]),
      ),
    });
    const isAuthorized = (flags & LINE_AUTHORIZED) !== 0;
    if (isAuthorized !== ((line.flags & LINE_AUTHORIZED) !== 0)) {
      movements.push({ kind: 'set_authorized', account: line.owner, asset: lineOf(body), isAuthorized });
    }
    return result(Result.setTrustLineFlagsSuccess());
  },
  details: (body, source) => ({
    ...assetFields(lineOf(body)),
    ...partyFields('trustee', source),
    trustor: toAddress(body.trustor),
    ...flagFields('set', body.setFlags),
    ...flagFields('clear', body.clearFlags),
  }),
};

/** Offers end when the authorization to keep them does. */
function withdrawOffers(view: View, { owner, code, issuer }: Readonly<TrustlineEntry>): void {
  const line = { code, issuer };
  const isOfLine = ({ selling, buying }: OfferEntry) => isSameAsset(selling, line) || isSameAsset(buying, line);
  for (const offer of view.offers((each) => each.owner === owner && isOfLine(each))) withdraw(view, offer);
}

function flagFields(verb: 'set' | 'clear', flags: number): Record<string, unknown> {
  const named = FLAG_NAMES.filter(([flag]) => (flags & flag) !== 0);
  if (named.length === 0) return {};
  return { [`${verb}_flags`]: named.map(([flag]) => flag), [`${verb}_flags_s`]: named.map(([, name]) => name) };
}
