/** Horizon's account record without links: trustlines first, lumens last. */
import { assetFields } from './asset.js';
import {
  type AccountEntry,
  AUTH_CLAWBACK,
  AUTH_IMMUTABLE,
  AUTH_REQUIRED,
  AUTH_REVOCABLE,
  type Entry,
  LINE_AUTHORIZED,
  LINE_CLAWBACK,
  LINE_MAINTAIN,
  liabilitiesOf,
  type TrustlineEntry,
} from './entries.js';
import { toTimestamp } from './headers.js';
import { toAmount } from './stroops.js';

function liabilityFields(entry: AccountEntry | TrustlineEntry): Record<string, string> {
  const { buying, selling } = liabilitiesOf(entry);
  return { buying_liabilities: toAmount(buying), selling_liabilities: toAmount(selling) };
}

/** @param owned the account's trustlines, data and offers */
export function accountRecord(account: AccountEntry, owned: Entry[]): Record<string, unknown> {
  const { owner, flags, thresholds } = account;
  const has = (flag: number) => (flags & flag) !== 0;
  const signers = account.signers.map(({ key, weight, sponsor }) => ({
    weight,
    key,
    ...(sponsor ? { sponsor } : {}),
    type: key.startsWith('X') ? 'sha256_hash' : 'ed25519_public_key',
  }));
  return {
    id: owner,
    account_id: owner,
    sequence: account.sequence.toString(),
    ...(account.sequenceLedger === null
      ? {}
      : { sequence_ledger: account.sequenceLedger, sequence_time: String(account.sequenceTime) }),
    subentry_count: account.subentries,
    ...(account.inflationDestination === null ? {} : { inflation_destination: account.inflationDestination }),
    ...(account.homeDomain === '' ? {} : { home_domain: account.homeDomain }),
    last_modified_ledger: account.modified.ledger,
    last_modified_time: toTimestamp(account.modified.time),
    thresholds: { low_threshold: thresholds.low, med_threshold: thresholds.medium, high_threshold: thresholds.high },
    flags: {
      auth_required: has(AUTH_REQUIRED),
      auth_revocable: has(AUTH_REVOCABLE),
      auth_immutable: has(AUTH_IMMUTABLE),
      auth_clawback_enabled: has(AUTH_CLAWBACK),
    },
    balances: [
      ...owned.flatMap((entry) => (entry.kind === 'trustline' ? [trustlineBalance(entry)] : [])),
      { balance: toAmount(account.balance), ...liabilityFields(account), asset_type: 'native' },
    ],
    signers: [...signers, { weight: thresholds.master, key: owner, type: 'ed25519_public_key' }],
    data: Object.fromEntries(owned.flatMap((entry) => (entry.kind === 'data' ? [[entry.name, entry.value]] : []))),
    num_sponsoring: account.sponsoring ?? 0,
    num_sponsored: account.sponsored ?? 0,
    ...(account.sponsor ? { sponsor: account.sponsor } : {}),
    paging_token: owner,
  };
}

function trustlineBalance(line: TrustlineEntry): Record<string, unknown> {
  return {
    balance: toAmount(line.balance),
    limit: toAmount(line.limit),
    ...liabilityFields(line),
    last_modified_ledger: line.modified.ledger,
    is_authorized: (line.flags & LINE_AUTHORIZED) !== 0,
    is_authorized_to_maintain_liabilities: (line.flags & (LINE_AUTHORIZED | LINE_MAINTAIN)) !== 0,
    ...((line.flags & LINE_CLAWBACK) === 0 ? {} : { is_clawback_enabled: true }),
    ...(line.sponsor ? { sponsor: line.sponsor } : {}),
    ...assetFields({ code: line.code, issuer: line.issuer }),
  };
}
