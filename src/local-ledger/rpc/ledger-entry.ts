/** Entries of the ledger as XDR, under the keys that `getLedgerEntries` takes. */
import { Asset, Keypair, StrKey, xdr } from '@stellar/stellar-sdk/base';
import { fromXdrAsset, type IssuedAsset, type LedgerAsset } from '../asset.js';
import {
  type AccountEntry,
  accountKey,
  type ClaimableBalanceEntry,
  claimableBalanceKey,
  type DataEntry,
  dataKey,
  type Entry,
  type TrustlineEntry,
  trustlineKey,
} from '../entries.js';
import { toAddress } from '../party.js';

export interface EntryKey {
  /** Whose entries to look among: an account, or a claimable balance's own id. */
  owner: string;
  /** The entry's key in the store. */
  key: string;
}

const accountId = (address: string) => Keypair.fromPublicKey(address).xdrAccountId();
const toXdrAsset = (asset: LedgerAsset) => (asset === null ? Asset.native() : new Asset(asset.code, asset.issuer));

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
    default:
      return null;
  }
}

export function toEntryData(entry: Entry): xdr.LedgerEntryData {
  switch (entry.kind) {
    case 'account':
      return xdr.LedgerEntryData.account(toXdrAccount(entry));
    case 'trustline':
      return xdr.LedgerEntryData.trustline(toXdrTrustline(entry));
    case 'data':
      return xdr.LedgerEntryData.data(toXdrData(entry));
    default:
      return xdr.LedgerEntryData.claimableBalance(toXdrClaimableBalance(entry));
  }
}

function toXdrAccount(account: AccountEntry): xdr.AccountEntry {
  const { thresholds, signers } = account;
  const noLiabilities = new xdr.Liabilities({ buying: 0n, selling: 0n });
  const v3 = new xdr.AccountEntryExtensionV3({
    ext: xdr.ExtensionPoint.v0(),
    seqLedger: account.sequenceLedger ?? 0,
    seqTime: BigInt(account.sequenceTime ?? 0),
  });
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored: account.sponsored ?? 0,
    numSponsoring: account.sponsoring ?? 0,
    signerSponsoringIDs: signers.map(({ sponsor }) => (sponsor ? accountId(sponsor) : null)),
    ext: xdr.AccountEntryExtensionV2Ext.v3(v3),
  });
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: noLiabilities,
    ext: xdr.AccountEntryExtensionV1Ext.v2(v2),
  });
  return new xdr.AccountEntry({
    accountId: accountId(account.owner),
    balance: account.balance,
    seqNum: account.sequence,
    numSubEntries: account.subentries,
    inflationDest: account.inflationDestination === null ? null : accountId(account.inflationDestination),
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

function trustlineAsset({ code, issuer }: IssuedAsset): xdr.TrustLineAsset {
  return toXdrAsset({ code, issuer }).toTrustLineXDRObject();
}

const toXdrTrustline = (line: TrustlineEntry): xdr.TrustLineEntry =>
  new xdr.TrustLineEntry({
    accountId: accountId(line.owner),
    asset: trustlineAsset(line),
    balance: line.balance,
    limit: line.limit,
    flags: line.flags,
    ext: xdr.TrustLineEntryExt.v0(),
  });

const toXdrData = (data: DataEntry): xdr.DataEntry =>
  new xdr.DataEntry({
    accountId: accountId(data.owner),
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
          destination: accountId(destination),
          predicate: xdr.ClaimPredicate.fromXdr(predicate, 'base64'),
        }),
      ),
    ),
    asset: toXdrAsset(balance.asset).toXdrObject(),
    amount: balance.amount,
    ext: balance.isClawbackEnabled ? xdr.ClaimableBalanceEntryExt.v1(v1) : xdr.ClaimableBalanceEntryExt.v0(),
  });
}
