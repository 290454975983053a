/** Accounts on Stellar RPC, read from their ledger entries. */
import type { xdr } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { sdk } from '../../domain/stellar-sdk.js';
import { SourceError } from '../errors.js';
import { type Holding, type LedgerSource, MOST_ASSETS } from '../source.js';
import type { Call } from './call.js';
import { ledgerNumber } from './fields.js';

const entriesSchema = z.object({ entries: z.array(z.object({ key: z.string(), xdr: z.string() })).nullish() });
const holdingsSchema = z.object({
  entries: z.array(z.object({ key: z.string(), xdr: z.string(), lastModifiedLedgerSeq: ledgerNumber })).nullish(),
  latestLedger: ledgerNumber,
});

export const account =
  (call: Call): LedgerSource['account'] =>
  async (address, asset) => {
    const keys = [accountKey(address), ...(asset === null ? [] : [trustlineKey(address, asset)])];
    const { entries } = await call('getLedgerEntries', { keys }, entriesSchema);
    const found = new Set((entries ?? []).map(({ key }) => key));
    return found.has(keys[0]!) ? { trusts: keys.length > 1 && found.has(keys[1]!) } : null;
  };

export const holdings =
  (call: Call): LedgerSource['holdings'] =>
  async (address, assets) => {
    if (assets.length > MOST_ASSETS) throw new RangeError('more assets than one request can name');
    const named = assets.map((asset) => ({ asset, key: trustlineKey(address, asset) }));
    const keys = [accountKey(address), ...named.map(({ key }) => key)];
    const { entries, latestLedger } = await call('getLedgerEntries', { keys }, holdingsSchema);
    const found = new Map((entries ?? []).map((entry) => [entry.key, entry]));
    const account = found.get(keys[0]!);
    if (!account) return { balances: [], changedLedger: 0, latestLedger };
    const trustlines = named.flatMap(({ asset, key }) => {
      const entry = found.get(key);
      return entry ? { asset, entry } : [];
    });
    return {
      balances: [{ asset: NATIVE, entry: account }, ...trustlines].map(({ asset, entry }) => ({
        asset,
        ...balanceIn(entry.xdr),
      })),
      changedLedger: Math.max(
        ...[account, ...trustlines.map(({ entry }) => entry)].map((each) => each.lastModifiedLedgerSeq),
      ),
      latestLedger,
    };
  };

export const sequenceOf =
  (call: Call): LedgerSource['sequenceOf'] =>
  async (address) => {
    const { entries } = await call('getLedgerEntries', { keys: [accountKey(address)] }, entriesSchema);
    const [entry] = entries ?? [];
    return entry ? sequenceIn(entry.xdr) : null;
  };

/** @throws SourceError */
function sequenceIn(entryXdr: string): string {
  const entry = entryIn(entryXdr);
  if (entry.type !== 'account') throw new SourceError('invalid answer to getLedgerEntries');
  return entry.account.seqNum.toString();
}

/** Flag of a trustline. */
const AUTHORIZED = 1;

/** The balance in an account or trustline entry. @throws SourceError */
function balanceIn(entryXdr: string): Omit<Holding, 'asset'> {
  const entry = entryIn(entryXdr);
  if (entry.type === 'account') return { stroops: entry.account.balance, authorized: true };
  if (entry.type === 'trustline') {
    const { balance: stroops, flags } = entry.trustLine;
    return { stroops, authorized: (flags & AUTHORIZED) !== 0 };
  }
  throw new SourceError('invalid answer to getLedgerEntries');
}

/** @throws SourceError */
function entryIn(entryXdr: string): xdr.LedgerEntryData {
  try {
    return sdk().xdr.LedgerEntryData.fromXdr(entryXdr, 'base64');
  } catch {
    throw new SourceError('invalid answer to getLedgerEntries');
  }
}

const accountIdOf = (address: string) => sdk().Keypair.fromPublicKey(address).xdrAccountId();

function accountKey(address: string): string {
  const { LedgerKey, LedgerKeyAccount } = sdk().xdr;
  return LedgerKey.account(new LedgerKeyAccount({ accountId: accountIdOf(address) })).toXDR('base64');
}

function trustlineKey(address: string, { code, issuer }: Asset): string {
  const { Asset, xdr } = sdk();
  const asset = new Asset(code, issuer ?? undefined).toTrustLineXDRObject();
  return xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId: accountIdOf(address), asset })).toXDR(
    'base64',
  );
}
