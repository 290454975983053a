/** Stores with parked records what they may have paid, and when they are tried again. Older ones may have paid any wallet until a try tells more. */
import type { mongo } from 'mongoose';
import { type Doc, type Migration, updateInBatches } from './migration.js';

export const parkedHoles: Migration = { title: 'what parked records may have paid', steps: [addBounds] };

/** Fields of records that hold the close time of their ledger. */
const CLOSE_FIELDS = ['created_at', 'ledgerClosedAt', 'closedAt'];

async function addBounds(db: mongo.Db): Promise<void> {
  await updateInBatches(
    db.collection<Doc>('parkedRecords'),
    { concerns: { $exists: false } },
    async (batch) =>
      batch.map((doc) => ({
        updateOne: { filter: { _id: doc._id, concerns: { $exists: false } }, update: { $set: boundsOf(doc) } },
      })),
    { raw: 1, createdAt: 1 },
  );
}

function boundsOf({ _id, raw, createdAt }: Doc) {
  const closedAt = closedAtOf(raw);
  const token = /^\w+:(\d{1,19})(:|$)/.exec(_id)?.[1];
  return {
    concerns: ['*'],
    ledger: token === undefined ? null : Number(BigInt(token) >> 32n),
    closedFrom: closedAt ?? new Date(0),
    payableUntil: createdAt,
    tries: 0,
    nextTryAt: new Date(0),
    dismissed: null,
  };
}

function closedAtOf(raw: string): Date | null {
  const record = Object(JSON.parse(raw));
  for (const field of CLOSE_FIELDS) {
    const at = typeof record[field] === 'string' ? new Date(record[field]) : null;
    if (at && !Number.isNaN(at.getTime())) return at;
  }
  return null;
}
