/** Submits a transaction to Stellar RPC, which answers at once, and polls until a ledger shows the
 *  result. The codes of a refusal are Horizon's. Reads the entries of accounts that a submission
 *  and a check of it need. */

import type { xdr } from '@stellar/stellar-sdk/base';
import { z } from 'zod';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { sdk } from '../../domain/stellar-sdk.js';
import type { MonotonicClock } from '../../kit/clock.js';
import { hash } from '../horizon/fields.js';
import { invocationIn } from '../invocation.js';
import {
  addTransactions,
  type BytesSoFar,
  type Holding,
  type LedgerBytes,
  type LedgerSource,
  LedgerUnavailable,
  MOST_ASSETS,
  SourceError,
  type Submission,
} from '../source.js';
import { base64, type Call, INVALID_PARAMS, ledgerNumber, RpcError } from './call.js';

// A ledger's bytes as Stellar RPC shows them, for proofs: its header, and what its transactions
// were and did.

const PAGE = 200;

const ledgersSchema = z.object({
  ledgers: z.array(z.object({ sequence: ledgerNumber, headerXdr: base64.min(1) })),
});
const transactionsSchema = z.object({
  transactions: z.array(z.object({ txHash: hash, ledger: ledgerNumber, envelopeXdr: base64, resultXdr: base64 })),
  cursor: z.string().max(40),
});
const metaSchema = z.object({ resultMetaXdr: z.string().optional() });

/** @throws RpcError for a ledger that it does not have */
export async function ledgerBytes(call: Call, sequence: number, soFar: BytesSoFar): Promise<LedgerBytes> {
  if (!soFar.header) {
    const params = { startLedger: sequence, pagination: { limit: 1 } };
    const [found] = (await call('getLedgers', params, ledgersSchema)).ledgers;
    if (found?.sequence !== sequence) throw new SourceError('invalid answer to getLedgers');
    // A LedgerHeaderHistoryEntry: hash, header, and an extension.
    soFar.header = Buffer.from(found.headerXdr, 'base64').subarray(32, -4);
  }
  await readTransactions(call, sequence, soFar);
  return { header: soFar.header, transactions: soFar.transactions };
}

async function readTransactions(call: Call, sequence: number, soFar: BytesSoFar): Promise<void> {
  while (soFar.next !== null) {
    const from = soFar.next
      ? { pagination: { cursor: soFar.next, limit: PAGE } }
      : { startLedger: sequence, pagination: { limit: PAGE } };
    const { transactions, cursor } = await call('getTransactions', from, transactionsSchema);
    const own = transactions.filter(({ ledger }) => ledger === sequence);
    const page = own.map(({ txHash, envelopeXdr, resultXdr }) => ({
      hash: txHash,
      envelope: Buffer.from(envelopeXdr, 'base64'),
      result: Buffer.from(resultXdr, 'base64'),
    }));
    addTransactions(soFar, page, own.length < transactions.length || transactions.length < PAGE ? null : cursor);
  }
}

export async function invocation(call: Call, transactionHash: string): Promise<Buffer | null> {
  const { resultMetaXdr } = await call('getTransaction', { hash: transactionHash }, metaSchema);
  return resultMetaXdr ? invocationIn(resultMetaXdr) : null;
}

// Accounts on Stellar RPC, read from their ledger entries.

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

/** Pauses between polls: each costs a request, and a ledger closes every five to six seconds. */
const WAITS_MS = [1000, 2000, 3000, 4000];
/** The pause after `TRY_AGAIN_LATER`. */
const LATER_MS = 5000;

const sentSchema = z.object({
  status: z.enum(['PENDING', 'DUPLICATE', 'TRY_AGAIN_LATER', 'ERROR']),
  hash,
  errorResultXdr: z.string().nullish(),
});
const outcomeSchema = z.discriminatedUnion('status', [
  z.object({ status: z.enum(['NOT_FOUND', 'SUCCESS']) }),
  z.object({ status: z.literal('FAILED'), resultXdr: z.string().nullish() }),
]);

/** @param envelope base64 of a TransactionEnvelope. @throws SourceError only when the network did
 *  not accept it */
export async function submitTransaction(
  call: Call,
  envelope: string,
  clock: Pick<MonotonicClock, 'sleep'>,
): Promise<Submission> {
  const sent = await send(call, envelope);
  if ('state' in sent) return sent;
  if (sent.status === 'TRY_AGAIN_LATER')
    throw new SourceError('it takes no more transactions for now', { retryAfterMs: LATER_MS, kind: 'slow' });
  if (sent.status === 'ERROR') return rejected(call, sent);
  for (const waitMs of WAITS_MS) {
    await clock.sleep(waitMs);
    const found = await outcomeOf(call, sent.hash);
    if (found !== 'not_found' && found !== 'unknown') return found;
  }
  return { state: 'pending' };
}

async function send(call: Call, envelope: string): Promise<z.output<typeof sentSchema> | Submission> {
  try {
    return await call('sendTransaction', { transaction: envelope }, sentSchema);
  } catch (error) {
    if (error instanceof RpcError && error.code === INVALID_PARAMS)
      return { state: 'refused', transactionCode: 'tx_malformed', operationCode: null };
    // It may have been accepted.
    if (error instanceof SourceError && error.kind === 'slow') return { state: 'pending' };
    throw error;
  }
}

/** A transaction that is already in a ledger is rejected for its sequence number. While that is
 *  possible, or the reason cannot be decoded, the payer must not be asked to pay again. */
async function rejected(
  call: Call,
  { hash, errorResultXdr }: Pick<z.output<typeof sentSchema>, 'hash' | 'errorResultXdr'>,
): Promise<Submission> {
  const refused = refusalIn(errorResultXdr ?? '');
  if (refused.transactionCode !== 'tx_bad_seq' && !isUntold(refused)) return refused;
  const found = await outcomeOf(call, hash);
  if (found === 'not_found') return refused;
  return found === 'unknown' ? { state: 'pending' } : found;
}

/** `not_found`: no ledger has it. `unknown`: no server answers, or the request budget is
 *  used up. */
async function outcomeOf(call: Call, hash: string): Promise<Submission | 'not_found' | 'unknown'> {
  try {
    const found = await call('getTransaction', { hash }, outcomeSchema);
    if (found.status === 'FAILED') return refusalIn(found.resultXdr ?? '');
    return found.status === 'SUCCESS' ? { state: 'applied' } : 'not_found';
  } catch (error) {
    if (error instanceof SourceError || error instanceof LedgerUnavailable) return 'unknown';
    throw error;
  }
}

const UNTOLD = { state: 'refused', transactionCode: 'tx_failed', operationCode: null } as const;
const isUntold = ({ transactionCode, operationCode }: Extract<Submission, { state: 'refused' }>): boolean =>
  transactionCode === UNTOLD.transactionCode && operationCode === null;

/** The codes of a TransactionResult in base64; `UNTOLD` when it cannot be decoded. */
function refusalIn(resultXdr: string): Extract<Submission, { state: 'refused' }> {
  try {
    const result = sdk().xdr.TransactionResult.fromXDR(resultXdr, 'base64').result;
    const transactionCode = transactionCodeOf(result.type);
    const operations = result.type === 'txFailed' ? result.results : [];
    const operationCode = operations.map(operationCodeOf).find((code) => code !== 'op_success') ?? null;
    return { state: 'refused', transactionCode, operationCode };
  } catch {
    return UNTOLD;
  }
}

/** Codes of Horizon that are not the XDR name in snake case. */
const OTHERWISE: Readonly<Record<string, string>> = {
  txNoAccount: 'tx_no_source_account',
  txBadMinSeqAgeOrGap: 'tx_bad_minseq_age_or_gap',
  opNoAccount: 'op_no_source_account',
  pathPaymentStrictReceiveOverSendmax: 'op_over_source_max',
  pathPaymentStrictReceiveOfferCrossSelf: 'op_cross_self',
};

const inSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const transactionCodeOf = (name: string): string => OTHERWISE[name] ?? inSnakeCase(name);

/** `paymentUnderfunded` of a payment is `op_underfunded`. */
function operationCodeOf(result: xdr.OperationResult): string {
  const outer = result.type;
  if (outer !== 'opInner') return OTHERWISE[outer] ?? inSnakeCase(outer);
  const { type } = result.tr.value;
  return OTHERWISE[type] ?? `op${inSnakeCase(type.slice(result.tr.type.length))}`;
}
