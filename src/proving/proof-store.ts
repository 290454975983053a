/** Proofs of payments, kept compressed: a document for each payment and level that was asked for.
 *  One that is READY never changes. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { PROOF_LEVELS, type ProofLevel, type ProofState } from '../../contracts/proofs.js';
import { type DocOf, define, EPOCH, nullable, openCollection, text } from '../kit/collection.js';
import { isDuplicateKey, type Session } from '../kit/database.js';
import type { PaymentDoc } from '../payments/index.js';

const PROOFS = define(
  'proofs',
  {
    /** From `proofIdOf`. */
    _id: String,
    accountId: String,
    paymentId: String,
    level: text<ProofLevel>(),
    network: text<Network>(),
    state: text<ProofState>(),
    /** Null when READY, and before the first try. */
    reason: nullable(String),
    /** How often it was tried. */
    tries: Number,
    /** When it was tried last; null before. */
    triedAt: nullable(Date),
    /** When it is tried next; null for never, unless it is asked for again. */
    nextAt: nullable(Date),
    /** The bundle's JSON, gzipped; null until it is READY. */
    bundle: nullable(Buffer),
    createdAt: Date,
  },
  [
    // Partial index: only those that are to be made are in it.
    {
      key: { network: 1, level: 1, accountId: 1, nextAt: 1 },
      partialFilterExpression: { nextAt: { $gt: EPOCH } },
      name: 'dueOfAccount',
    },
  ],
);

export interface ProofDoc extends DocOf<typeof PROOFS> {}

export const proofIdOf = (paymentId: string, level: ProofLevel): string => `${paymentId}:${level}`;

/** What the makers read: without the bundle. */
export type DueProof = Omit<ProofDoc, 'bundle'>;

/** What a try came to; READY comes with the bundle. */
export type Outcome = Pick<ProofDoc, 'state' | 'reason' | 'nextAt'> & { bundle?: Buffer };

/** A caller's question does not try again one that was tried less than this ago. */
const ASK_AGAIN_MS = 20_000;

/** What works across accounts: for the makers. */
export type ProofStore = ReturnType<typeof createProofStore>['system'];

export function createProofStore(connection: mongoose.Connection) {
  const collection = openCollection<ProofDoc>(connection, PROOFS);
  return {
    forAccount: (accountId: string) => ({
      byId: (_id: string) => collection.findOne<ProofDoc>({ _id, accountId }, { promoteBuffers: true }),

      /** Has it made, soon. @returns the document as it is then */
      async ask({ _id: paymentId, network }: PaymentDoc, level: ProofLevel, now: Date): Promise<ProofDoc> {
        const _id = proofIdOf(paymentId, level);
        const asked = { _id, accountId, paymentId, level, network, state: 'WAITING', reason: null, tries: 0 } as const;
        const fresh = { ...asked, triedAt: null, nextAt: now, bundle: null, createdAt: now };
        await collection
          .updateOne({ _id, accountId }, { $setOnInsert: fresh }, { upsert: true })
          // Another question made it at the same moment.
          .catch((error: unknown) => {
            if (!isDuplicateKey(error)) throw error;
          });
        const longAgo = new Date(now.getTime() - ASK_AGAIN_MS);
        await collection.updateOne({ _id, accountId, state: { $ne: 'READY' }, triedAt: { $lt: longAgo } }, [
          // Null counts for nothing there.
          { $set: { nextAt: { $min: ['$nextAt', now] } } },
        ]);
        return (await collection.findOne<ProofDoc>({ _id, accountId }, { promoteBuffers: true }))!;
      },
    }),

    system: {
      /** Accounts with proofs to be made now: one index seek for each, however many are due. */
      dueAccounts: (network: Network, level: ProofLevel, now: Date): Promise<string[]> =>
        collection.distinct('accountId', { network, level, accountId: { $gt: '' }, nextAt: { $gt: EPOCH, $lte: now } }),

      /** The account's longest due one; null when there is none. */
      due: (accountId: string, network: Network, level: ProofLevel, now: Date): Promise<DueProof | null> =>
        collection.findOne<DueProof>(
          { network, level, accountId, nextAt: { $gt: EPOCH, $lte: now } },
          { projection: { bundle: 0 }, sort: { nextAt: 1 } },
        ),

      /** Notes what a try came to. One that is READY stays: another process may have made it. */
      async note({ _id, accountId }: DueProof, outcome: Outcome, now: Date): Promise<void> {
        await collection.updateOne(
          { _id, accountId, state: { $ne: 'READY' } },
          { $set: { ...outcome, triedAt: now }, $inc: { tries: 1 } },
        );
      },

      /** Removes those of removed payments. */
      async removeOf(accountIds: readonly string[], paymentIds: readonly string[], session: Session): Promise<void> {
        const ids = paymentIds.flatMap((id) => PROOF_LEVELS.map((level) => proofIdOf(id, level)));
        await collection.deleteMany({ _id: { $in: ids }, accountId: { $in: [...accountIds] } }, { session });
      },
    },
  };
}
