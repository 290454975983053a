/** Access to a ledger's accounts and to its next ledger, by Horizon or Stellar RPC. */
import {
  Account,
  type FeeBumpTransaction,
  type Horizon,
  Keypair,
  NotFoundError,
  rpc,
  type Transaction,
  xdr,
} from '@stellar/stellar-sdk';
import { LedgerRefusedError } from '../refusal.js';
import { codesOfResult } from '../results.js';
import { fromAmount } from '../stroops.js';
import { TIMEOUT_MS } from './control.js';

export interface Submitted {
  hash: string;
  ledger: number;
}

export interface FoundAccount {
  /** For the SDK's transaction builder. */
  account: Account;
  /** Stroops. */
  lumens: bigint;
}

export interface LedgerAccess {
  /** Null if the account does not exist. */
  find(address: string): Promise<FoundAccount | null>;
  /** A data entry of an account, or null. */
  data(address: string, name: string): Promise<Buffer | null>;
  /** Resolves once the transaction has succeeded in a ledger. */
  submit(transaction: Transaction | FeeBumpTransaction): Promise<Submitted>;
}

/** Interval of checks whether a transaction is in a ledger, for at most `TIMEOUT_MS`. */
const POLL_MS = 100;

export function horizonAccess(server: Horizon.Server): LedgerAccess {
  async function load(address: string): Promise<Horizon.AccountResponse | null> {
    try {
      return await server.loadAccount(address);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  return {
    async find(address) {
      const found = await load(address);
      if (found === null) return null;
      const account = new Account(address, found.sequenceNumber());
      return { account, lumens: fromAmount(found.balances.at(-1)!.balance)! };
    },
    async data(address, name) {
      const value = (await load(address))?.data_attr[name];
      return value === undefined ? null : Buffer.from(value, 'base64');
    },
    async submit(transaction) {
      const record = await server.submitTransaction(transaction, { skipMemoRequiredCheck: true });
      return { hash: record.hash, ledger: record.ledger };
    },
  };
}

export function rpcAccess(server: rpc.Server): LedgerAccess {
  async function entry(key: xdr.LedgerKey): Promise<xdr.LedgerEntryData | null> {
    const { entries } = await server.getLedgerEntries(key).catch(rethrow);
    return entries[0]?.val ?? null;
  }

  return {
    async find(address) {
      const accountId = Keypair.fromPublicKey(address).xdrAccountId();
      const found = await entry(xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })));
      if (found?.type !== 'account') return null;
      const { seqNum, balance } = found.account;
      return { account: new Account(address, seqNum.toString()), lumens: balance };
    },
    async data(address, dataName) {
      const accountId = Keypair.fromPublicKey(address).xdrAccountId();
      const found = await entry(xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId, dataName })));
      return found?.type === 'data' ? Buffer.from(found.data.dataValue.value) : null;
    },
    async submit(transaction) {
      const sent = await server.sendTransaction(transaction).catch(rethrow);
      if (sent.status === 'ERROR') throw refusedResult(sent.errorResult!);
      const attempts = Math.ceil(TIMEOUT_MS / POLL_MS);
      const done = await server.pollTransaction(sent.hash, { attempts, sleepStrategy: () => POLL_MS }).catch(rethrow);
      if (done.status === rpc.Api.GetTransactionStatus.NOT_FOUND) {
        throw new LedgerRefusedError(`the transaction ${sent.hash} did not enter a ledger in time`);
      }
      if (done.status === rpc.Api.GetTransactionStatus.FAILED) throw refusedResult(done.resultXdr);
      return { hash: sent.hash, ledger: done.ledger };
    },
  };
}

function refusedResult(result: xdr.TransactionResult): LedgerRefusedError {
  const codes = codesOfResult(result);
  return new LedgerRefusedError(`the ledger refused the transaction: ${codes.join(', ')}`, codes);
}

/** The SDK throws JSON-RPC's bare error object. */
function rethrow(error: unknown): never {
  if (error instanceof Error) throw error;
  throw new LedgerRefusedError(`the ledger refused: ${(error as { message?: string }).message ?? String(error)}`);
}
