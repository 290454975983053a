/** Transactions waiting for the next ledger, in order of submission, and submitters waiting for
 *  their outcome. */
import type { Envelope } from './envelope.js';
import { MAX_OPERATIONS } from './headers.js';
import type { TransactionOutcome } from './results.js';

/** The outcome of a waiting transaction: in a ledger (perhaps failed), or rejected at the close. */
export type Settled =
  | { kind: 'closed'; ledger: number; successful: boolean; outcome: TransactionOutcome }
  | { kind: 'rejected'; outcome: TransactionOutcome }
  /** The ledger was reset, shut down or taken over first. */
  | { kind: 'dropped' };

export interface Waiting {
  envelope: Envelope;
  settled: Promise<Settled>;
  settle(settled: Settled): void;
}

export type Queue = ReturnType<typeof createQueue>;

export function createQueue() {
  let waiting: Waiting[] = [];
  const byHash = new Map<string, Waiting>();
  /** By account, the sequence number after its last waiting transaction. */
  const sequences = new Map<string, bigint>();

  function forget(gone: Waiting[]): void {
    for (const { envelope } of gone) byHash.delete(envelope.hash.toString('hex'));
    sequences.clear();
    for (const { envelope } of waiting) sequences.set(envelope.inner.source.id, envelope.inner.sequence);
  }

  return {
    find: (hash: string): Waiting | undefined => byHash.get(hash),
    sequenceOf: (account: string): bigint | undefined => sequences.get(account),
    get size() {
      return waiting.length;
    },

    add(envelope: Envelope): Waiting {
      let settle: Waiting['settle'] = () => undefined;
      const settled = new Promise<Settled>((resolve) => {
        settle = resolve;
      });
      const entry: Waiting = { envelope, settled, settle };
      waiting.push(entry);
      byHash.set(envelope.hash.toString('hex'), entry);
      sequences.set(envelope.inner.source.id, envelope.inner.sequence);
      return entry;
    },

    /** The oldest transactions, as many as one ledger takes. They stay in the queue
     *  until `remove`. */
    nextBatch(): Waiting[] {
      let operations = 0;
      const end = waiting.findIndex(({ envelope }) => {
        operations += envelope.inner.operations.length;
        return operations > MAX_OPERATIONS;
      });
      return end === -1 ? [...waiting] : waiting.slice(0, end);
    },

    remove(batch: Waiting[]): void {
      const gone = new Set(batch);
      waiting = waiting.filter((entry) => !gone.has(entry));
      forget(batch);
    },

    dropAll(): void {
      const gone = waiting;
      waiting = [];
      forget(gone);
      for (const { settle } of gone) settle({ kind: 'dropped' });
    },
  };
}
