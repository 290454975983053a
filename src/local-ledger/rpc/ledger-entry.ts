/** Ledger entries as XDR, under the keys that `getLedgerEntries` takes. */
import { StrKey, xdr } from '@stellar/stellar-sdk/base';
import { fromXdrAsset } from '../asset.js';
import {
  type AccountEntry,
  accountKey,
  type ClaimableBalanceEntry,
  claimableBalanceKey,
  type DataEntry,
  dataKey,
  liabilitiesOf,
  type OwnedEntry,
  offerKey,
  type TrustlineEntry,
  trustlineKey,
} from '../entries.js';
import { accountIdOf, assetOf, toXdrAsset, toXdrOffer } from '../offers/claims.js';
import { toAddress } from '../party.js';

export interface EntryKey {
  /** The owner of the entries: an account, or a claimable balance's own id. */
  owner: string;
  /** The entry's key in the store. */
  key: string;
}

/** Null for a kind of entry that this ledger does not have. */
export function toEntryKey(key: xdr.LedgerKey): EntryKey | null {
  switch (key.type) {
    case 'account': {
      const owner = toAddress(key.account.accountId);
      return { owner, key: accountKey(owner) };
    }
    case 'trustline': {
      const asset = fromXdrAsset(key.trustLine.asset);
      const owner = toAddress(key.trustLine.accountId);
      return asset ? { owner, key: trustlineKey(owner, asset) } : null;
    }
    case 'data': {
      const owner = toAddress(key.data.accountId);
      return { owner, key: dataKey(owner, Buffer.from(key.data.dataName.bytes).toString('latin1')) };
    }
    case 'claimableBalance': {
      const owner = key.claimableBalance.balanceId.toXdr('hex');
      return { owner, key: claimableBalanceKey(owner) };
    }
    case 'offer':
      return { owner: toAddress(key.offer.sellerId), key: offerKey(key.offer.offerId) };
    default:
      return null;
  }
}

export function toEntryData(entry: OwnedEntry): xdr.LedgerEntryData {
  switch (entry.kind) {
    case 'account':
      return xdr.LedgerEntryData.account(toXdrAccount(entry));
    case 'trustline':
      return xdr.LedgerEntryData.trustline(toXdrTrustline(entry));
    case 'data':
      return xdr.LedgerEntryData.data(toXdrData(entry));
    case 'offer':
      return xdr.LedgerEntryData.offer(toXdrOffer(entry));
    default:
      return xdr.LedgerEntryData.claimableBalance(toXdrClaimableBalance(entry));
  }
}

function toXdrAccount(account: AccountEntry): xdr.AccountEntry {
  const { thresholds, signers } = account;
  const v3 = new xdr.AccountEntryExtensionV3({
    ext: xdr.ExtensionPoint.v0(),
    seqLedger: account.sequenceLedger ?? 0,
    seqTime: BigInt(account.sequenceTime ?? 0),
  });
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored: account.sponsored ?? 0,
    numSponsoring: account.sponsoring ?? 0,
    signerSponsoringIDs: signers.map(({ sponsor }) => (sponsor ? accountIdOf(sponsor) : null)),
    ext: xdr.AccountEntryExtensionV2Ext.v3(v3),
  });
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities(liabilitiesOf(account)),
    ext: xdr.AccountEntryExtensionV1Ext.v2(v2),
  });
  return new xdr.AccountEntry({
    accountId: accountIdOf(account.owner),
    balance: account.balance,
    seqNum: account.sequence,
    numSubEntries: account.subentries,
    inflationDest: account.inflationDestination === null ? null : accountIdOf(account.inflationDestination),
    flags: account.flags,
    homeDomain: account.homeDomain,
    thresholds: Buffer.from([thresholds.master, thresholds.low, thresholds.medium, thresholds.high]),
    signers: signers.map(({ key, weight }) => new xdr.Signer({ key: signerKey(key), weight })),
    ext: xdr.AccountEntryExt.v1(v1),
  });
}

const signerKey = (key: string): xdr.SignerKey =>
  key.startsWith('X')
    ? xdr.SignerKey.signerKeyTypeHashX(StrKey.decodeSha256Hash(key))
    : xdr.SignerKey.signerKeyTypeEd25519(StrKey.decodeEd25519PublicKey(key));

function toXdrTrustline(line: TrustlineEntry): xdr.TrustLineEntry {
  const { owner, code, issuer, balance, limit, flags } = line;
  const v1 = new xdr.TrustLineEntryV1({
    liabilities: new xdr.Liabilities(liabilitiesOf(line)),
    ext: xdr.TrustLineEntryV1Ext.v0(),
  });
  return new xdr.TrustLineEntry({
    accountId: accountIdOf(owner),
    asset: assetOf({ code, issuer }).toTrustLineXDRObject(),
    balance,
    limit,
    flags,
    ext: line.liabilities === undefined ? xdr.TrustLineEntryExt.v0() : xdr.TrustLineEntryExt.v1(v1),
  });
}

const toXdrData = (data: DataEntry): xdr.DataEntry =>
  new xdr.DataEntry({
    accountId: accountIdOf(data.owner),
    dataName: data.name,
    dataValue: Buffer.from(data.value, 'base64'),
    ext: xdr.DataEntryExt.v0(),
  });

function toXdrClaimableBalance(balance: ClaimableBalanceEntry): xdr.ClaimableBalanceEntry {
  const CLAWBACK_ENABLED = 1;
  const v1 = new xdr.ClaimableBalanceEntryExtensionV1({
    ext: xdr.ClaimableBalanceEntryExtensionV1Ext.v0(),
    flags: CLAWBACK_ENABLED,
  });
  return new xdr.ClaimableBalanceEntry({
    balanceId: xdr.ClaimableBalanceId.fromXdr(balance.owner, 'hex'),
    claimants: balance.claimants.map(({ destination, predicate }) =>
      xdr.Claimant.claimantTypeV0(
        new xdr.ClaimantV0({
          destination: accountIdOf(destination),
          predicate: xdr.ClaimPredicate.fromXdr(predicate, 'base64'),
        }),
      ),
    ),
    asset: toXdrAsset(balance.asset),
    amount: balance.amount,
    ext: balance.isClawbackEnabled ? xdr.ClaimableBalanceEntryExt.v1(v1) : xdr.ClaimableBalanceEntryExt.v0(),
  });
}
