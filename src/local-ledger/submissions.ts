/** Accepts transactions for the next ledger. */

import { check, checkedAccounts, type LedgerMoment } from './apply.js';
import type { Clock } from './clock.js';
import { type AccountEntry, accountKey } from './entries.js';
import type { Envelope } from './envelope.js';
import { toCloseTime } from './headers.js';
import type { Queue, Settled } from './queue.js';
import type { TransactionOutcome } from './results.js';
import type { Head, Store } from './store.js';

/** The immediate answer to a submitted transaction. */
export type Submission =
  | { kind: 'rejected'; outcome: TransactionOutcome }
  | { kind: 'waiting'; settled: Promise<Settled>; isNew: boolean };

export function createSubmissions(deps: { store: Store; queue: Queue; clock: Clock; head(): Head }) {
  const { store, queue, clock, head } = deps;

  /** Reads again if a ledger has closed since: accounts and queue must be of the same ledger, or a
   *  sequence number between them is lost. */
  async function accountsOf(ids: string[]): Promise<Map<string, AccountEntry>> {
    const before = head();
    const found = await store.entries.find({ _id: { $in: ids.map(accountKey) } }).toArray();
    if (head() !== before) return await accountsOf(ids);
    return new Map((found as AccountEntry[]).map((entry) => [entry.owner, entry]));
  }

  return {
    /** Checks a transaction as the next ledger would, and queues it. */
    async submit(envelope: Envelope): Promise<Submission> {
      const hash = envelope.hash.toString('hex');
      const accounts = await accountsOf(checkedAccounts(envelope));
      const known = queue.find(hash);
      if (known !== undefined) return { kind: 'waiting', settled: known.settled, isNew: false };
      const next: LedgerMoment = {
        sequence: head().sequence + 1,
        closeTime: toCloseTime(Math.max(clock.nowMs(), head().atMs)),
      };
      const rejected = check(
        envelope,
        (id) => accounts.get(id) ?? null,
        next,
        (source) => queue.sequenceOf(source.owner) ?? source.sequence,
      );
      if (rejected !== null) return { kind: 'rejected', outcome: rejected };
      return { kind: 'waiting', settled: queue.add(envelope).settled, isNew: true };
    },

    /** Lumens as of the newest ledger, visible or not; null if the account does not exist. */
    balance: async (id: string): Promise<bigint | null> => (await accountsOf([id])).get(id)?.balance ?? null,

    /** The sequence number after all waiting transactions; null if the account does not exist. */
    async nextSequence(id: string): Promise<bigint | null> {
      const account = (await accountsOf([id])).get(id);
      return account === undefined ? null : (queue.sequenceOf(id) ?? account.sequence) + 1n;
    },
  };
}
