/** Moves gaps to their own collection: a wallet's gap becomes its first one there. */
import type { mongo } from 'mongoose';
import type { Doc, Migration } from './migration.js';

export const storedGaps: Migration = { title: 'a list of missed ledgers for each wallet', steps: [storeGaps] };

async function storeGaps(db: mongo.Db): Promise<void> {
  for await (const wallet of db.collection<Doc>('wallets').find({ gap: { $ne: null } })) {
    const { _id: walletId, accountId, network, gap } = wallet as unknown as Doc;
    const { fromLedger, toLedger, at } = gap;
    // A network that was reset left a gap that begins with its first ledger.
    const isLost = fromLedger === 1;
    const fields = { accountId, walletId, network, fromLedger, toLedger, at, readTo: null, mendedAt: null, isLost };
    await db.collection<Doc>('gaps').updateOne({ _id: `gap_${walletId}` }, { $setOnInsert: fields }, { upsert: true });
  }
}
