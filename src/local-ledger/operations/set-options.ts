/** set_options: flags, home domain, thresholds and signers of an account. */
import { StrKey, xdr } from '@stellar/stellar-sdk/base';
import {
  type AccountEntry,
  AUTH_CLAWBACK,
  AUTH_IMMUTABLE,
  AUTH_REQUIRED,
  AUTH_REVOCABLE,
  accountKey,
} from '../entries.js';
import { toAddress } from '../party.js';
import { MAX_SUBENTRIES } from './change-trust.js';
import { type Context, inner, type OperationKind } from './kind.js';
import { countEntry, release, reserve } from './sponsorship.js';

const { SetOptionsResult } = xdr;
const result = (of: xdr.SetOptionsResult) => inner(xdr.OperationResultTr.setOptions(of));

const MAX_SIGNERS = 20;
const ALL_FLAGS = AUTH_REQUIRED | AUTH_REVOCABLE | AUTH_IMMUTABLE | AUTH_CLAWBACK;
const FLAG_NAMES: [number, string][] = [
  [AUTH_REQUIRED, 'auth_required'],
  [AUTH_REVOCABLE, 'auth_revocable'],
  [AUTH_IMMUTABLE, 'auth_immutable'],
  [AUTH_CLAWBACK, 'auth_clawback_enabled'],
];

const homeDomainOf = (body: xdr.SetOptionsOp): string | null => {
  const domain = body.homeDomain;
  return domain === null ? null : Buffer.from(domain.bytes).toString('latin1');
};

const weightsOf = (body: xdr.SetOptionsOp) => ({
  master: body.masterWeight,
  low: body.lowThreshold,
  medium: body.medThreshold,
  high: body.highThreshold,
});

/** The strkey of a signer that this ledger can verify, otherwise null. */
function signerKey(key: xdr.SignerKey): string | null {
  switch (key.type) {
    case 'signerKeyTypeEd25519':
      return StrKey.encodeEd25519PublicKey(key.ed25519.value);
    case 'signerKeyTypeHashX':
      return StrKey.encodeSha256Hash(key.hashX.value);
    default:
      return null;
  }
}

export const setOptions: OperationKind<xdr.SetOptionsOp> = {
  type: 'set_options',
  typeIndex: 5,
  isPayment: false,
  level: (body) =>
    body.signer !== null || Object.values(weightsOf(body)).some((weight) => weight !== null) ? 'high' : 'medium',
  keys(body) {
    const heir = body.inflationDest;
    return heir === null ? [] : [accountKey(toAddress(heir))];
  },
  participants: () => [],
  check(body, source) {
    const [set, clear] = [body.setFlags ?? 0, body.clearFlags ?? 0];
    if (((set | clear) & ~ALL_FLAGS) !== 0) return result(SetOptionsResult.setOptionsUnknownFlag());
    if ((set & clear) !== 0) return result(SetOptionsResult.setOptionsBadFlags());
    if (Object.values(weightsOf(body)).some((weight) => weight !== null && weight > 255)) {
      return result(SetOptionsResult.setOptionsThresholdOutOfRange());
    }
    const signer = body.signer;
    if (signer !== null) {
      const key = signerKey(signer.key);
      if (key === null || key === source || signer.weight > 255) {
        return result(SetOptionsResult.setOptionsBadSigner());
      }
    }
    const domain = homeDomainOf(body);
    const isDomainSound = domain === null || /^[\x20-\x7e]*$/.test(domain);
    return isDomainSound ? null : result(SetOptionsResult.setOptionsInvalidHomeDomain());
  },
  apply(body, source, context) {
    const { view, effects: done } = context;
    const account = structuredClone(view.account(source)!) as AccountEntry;
    const heir = body.inflationDest;
    if (heir !== null) {
      if (view.account(toAddress(heir)) === null) return result(SetOptionsResult.setOptionsInvalidInflation());
      account.inflationDestination = toAddress(heir);
    }
    const [set, clear] = [body.setFlags ?? 0, body.clearFlags ?? 0];
    if ((set | clear) !== 0) {
      if ((account.flags & AUTH_IMMUTABLE) !== 0) return result(SetOptionsResult.setOptionsCantChange());
      account.flags = (account.flags & ~clear) | set;
      if ((account.flags & AUTH_CLAWBACK) !== 0 && (account.flags & AUTH_REVOCABLE) === 0) {
        return result(SetOptionsResult.setOptionsAuthRevocableRequired());
      }
      const changed = FLAG_NAMES.filter(([flag]) => ((set | clear) & flag) !== 0);
      done.push({
        type: 'account_flags_updated',
        type_i: 6,
        account: source,
        ...Object.fromEntries(changed.map(([flag, name]) => [`${name}_flag`, (set & flag) !== 0])),
      });
    }
    const domain = homeDomainOf(body);
    if (domain !== null) {
      account.homeDomain = domain;
      done.push({ type: 'account_home_domain_updated', type_i: 5, account: source, home_domain: domain });
    }
    const weights = weightsOf(body);
    for (const name of ['master', 'low', 'medium', 'high'] as const)
      account.thresholds[name] = weights[name] ?? account.thresholds[name];
    if (weights.low !== null || weights.medium !== null || weights.high !== null) {
      const { low, medium, high } = account.thresholds;
      done.push({
        type: 'account_thresholds_updated',
        type_i: 4,
        account: source,
        low_threshold: low,
        med_threshold: medium,
        high_threshold: high,
      });
    }
    const failure = changeSigner(body.signer, account, context);
    if (failure !== null) return failure;
    view.put(account);
    return result(SetOptionsResult.setOptionsSuccess());
  },
  details(body) {
    const signer = body.signer;
    const heir = body.inflationDest;
    const domain = homeDomainOf(body);
    const { master, low, medium, high } = weightsOf(body);
    return {
      ...(domain === null ? {} : { home_domain: domain }),
      ...(heir === null ? {} : { inflation_dest: toAddress(heir) }),
      ...(master === null ? {} : { master_key_weight: master }),
      ...(signer === null ? {} : { signer_key: signerKey(signer.key), signer_weight: signer.weight }),
      ...flagFields('set', body.setFlags),
      ...flagFields('clear', body.clearFlags),
      ...(low === null ? {} : { low_threshold: low }),
      ...(medium === null ? {} : { med_threshold: medium }),
      ...(high === null ? {} : { high_threshold: high }),
    };
  },
};

function changeSigner(change: xdr.Signer | null, account: AccountEntry, context: Context): xdr.OperationResult | null {
  if (change === null) return null;
  const key = signerKey(change.key)!;
  const known = account.signers.find((signer) => signer.key === key);
  if (change.weight === 0) {
    if (known === undefined) return result(SetOptionsResult.setOptionsBadSigner());
    account.signers = account.signers.filter((signer) => signer !== known);
    release(context.view, known.sponsor, 1);
    countEntry(account, -1, known.sponsor);
  } else if (known !== undefined) {
    known.weight = change.weight;
  } else {
    if (account.signers.length >= MAX_SIGNERS) return result(SetOptionsResult.setOptionsTooManySigners());
    if (account.subentries >= MAX_SUBENTRIES) return xdr.OperationResult.opTooManySubentries();
    const sponsor = reserve(context, account.owner, 1);
    if (sponsor === undefined) return result(SetOptionsResult.setOptionsLowReserve());
    account.signers.push({ key, weight: change.weight, ...(sponsor && { sponsor }) });
    countEntry(account, 1, sponsor);
  }
  return null;
}

function flagFields(verb: 'set' | 'clear', flags: number | null): Record<string, unknown> {
  if (!flags) return {};
  const named = FLAG_NAMES.filter(([flag]) => (flags & flag) !== 0);
  return { [`${verb}_flags`]: named.map(([flag]) => flag), [`${verb}_flags_s`]: named.map(([, name]) => name) };
}
