/** Signs and submits transactions, one at a time for each account. */
import { type Keypair, Memo, TimeoutInfinite, TransactionBuilder, type xdr } from '@stellar/stellar-sdk/base';
import { systemClock } from '../clock.js';
import { LedgerRefusedError, toRefusal } from '../refusal.js';
import { BASE_FEE } from '../stroops.js';
import type { LedgerAccess, Submitted } from './access.js';
import { type LedgerControl, TIMEOUT_MS } from './control.js';

const RETRY_MS = 250;

export interface SubmitRequest {
  from: Keypair;
  operations: xdr.Operation[];
  memo?: string | Memo | null;
  /** Signers besides `from`. */
  signers?: Keypair[];
}

export type Submitter = ReturnType<typeof createSubmitter>;

export function createSubmitter(access: LedgerAccess, control: LedgerControl, passphrase: string) {
  /** By account, the end of its queue: uses of its sequence numbers must not overlap. */
  const lines = new Map<string, Promise<unknown>>();

  function inLine<T>(account: string, use: () => Promise<T>): Promise<T> {
    const before = lines.get(account) ?? Promise.resolve();
    const mine = before.then(use, use);
    const end = mine.catch(() => undefined);
    lines.set(account, end);
    void end.then(() => {
      if (lines.get(account) === end) lines.delete(account);
    });
    return mine;
  }

  /** Throws the error, in the ledger's words if possible. */
  async function explain(error: unknown): Promise<never> {
    const refusal = toRefusal(error);
    if (refusal !== null) throw refusal;
    // Throws if the server does not answer.
    await control.status();
    throw error;
  }

  /** Null if the account does not exist. */
  const find = (address: string) => access.find(address).catch(explain);

  async function attempt({ from, operations, memo, signers = [] }: SubmitRequest): Promise<Submitted> {
    const address = from.publicKey();
    const found = await find(address);
    if (found === null) {
      throw new LedgerRefusedError(`there is no account ${address} on the ledger: ledger fund ${address} makes it`);
    }
    try {
      const builder = new TransactionBuilder(found.account, {
        fee: BASE_FEE.toString(),
        networkPassphrase: passphrase,
        memo: typeof memo === 'string' ? Memo.text(memo) : (memo ?? Memo.none()),
      });
      for (const operation of operations) builder.addOperation(operation);
      const transaction = builder.setTimeout(TimeoutInfinite).build();
      transaction.sign(from, ...signers.filter((signer) => signer.publicKey() !== address));
      return await access.submit(transaction);
    } catch (error) {
      return await explain(error);
    }
  }

  return {
    find,

    /** Resolves once the transaction is in a ledger. Waits while the account is in use.
     *  @throws LedgerRefusedError with Horizon's result codes when the ledger refuses it */
    submit: (request: SubmitRequest): Promise<Submitted> =>
      inLine(request.from.publicKey(), async () => {
        const giveUpAtMs = systemClock.nowMs() + TIMEOUT_MS;
        for (;;) {
          try {
            return await attempt(request);
          } catch (error) {
            // A lagging ledger shows a sequence number that is used already.
            const isStale = error instanceof LedgerRefusedError && error.codes[0] === 'tx_bad_seq';
            if (!isStale || systemClock.nowMs() > giveUpAtMs) throw error;
            await systemClock.sleep(RETRY_MS);
          }
        }
      }),
  };
}
