/** Leases: which process does a piece of work for the next seconds. They only save work; unique
 *  keys and conditional updates ensure that nothing is done twice. They go by the database's clock,
 *  because the clocks of processes differ and may be set. */
import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import { type Collection, type DocOf, define, EPOCH, openCollection, optional, shape } from './collection.js';
import { isDuplicateKey } from './database.js';
import { every } from './loop.js';

// Work that one process does at a time, under a lease that is renewed while it lasts. A lease only
// saves work: the data sees to it that nothing is done twice.

const RENEWALS = 3;

interface Lease {
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  name: string;
  /** Unique per process. */
  holder: string;
  /** After a crash, other processes wait this long. */
  ms: number;
  clock: Pick<Clock, 'sleep'>;
  log: Logger;
}

/** Takes the lease, works, and gives it back.
 *  @param work ends soon after `held` aborts: with the signal, or when another process has
 *  the lease
 *  @returns null when another process has the lease. @throws what the work rejects with, or MongoDB
 *  when the lease is taken */
export async function whileHeld<T>(
  { leases, name, holder, ms, clock, log }: Lease,
  signal: AbortSignal,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T | null> {
  if (!(await leases.hold(name, holder, ms))) return null;
  const over = new AbortController();
  const held = AbortSignal.any([signal, over.signal]);
  const renew = async () => {
    if (!(await leases.hold(name, holder, ms))) over.abort();
  };
  const onError = (err: unknown) => log.warn({ err, lease: name }, 'lease not renewed');
  const renewing = every(ms / RENEWALS, renew, { clock, signal: over.signal, onError });
  try {
    return await work(held);
  } finally {
    over.abort();
    await renewing;
    // Where MongoDB is away, the lease ends by itself.
    await leases.release(name, holder).catch(() => undefined);
  }
}

/** What MongoDB knows a session by. */
export type SessionId = mongoose.mongo.Binary;

const LEASES = define('leases', {
  _id: String,
  holder: String,
  until: Date,
  /** The lease of a process has the sessions of its transactions. */
  sessions: optional([shape<SessionId>()]),
});

interface LeaseDoc extends DocOf<typeof LEASES> {}

/** `$$NOW` is fixed when a command begins, and a later one may have been applied first. */
const LATER_BY_MS = 10_000;

export type LeaseStore = ReturnType<typeof createLeaseStore>;

export function createLeaseStore(connection: mongoose.Connection) {
  const collection = openCollection<LeaseDoc>(connection, LEASES);
  return {
    /** Takes or renews a lease; false while another holder has it. */
    async hold(name: string, holder: string, ms: number): Promise<boolean> {
      const latest = { $add: ['$$NOW', ms] };
      const isFree = {
        $or: [
          { $eq: ['$holder', { $literal: holder }] },
          { $lte: [{ $ifNull: ['$until', EPOCH] }, '$$NOW'] },
          // Granted before the database's clock was set back.
          { $gt: ['$until', { $add: ['$$NOW', ms + LATER_BY_MS] }] },
        ],
      };
      const given = (field: '$holder' | '$until', value: unknown) => ({ $cond: [isFree, value, field] });
      try {
        const lease = await collection.findOneAndUpdate(
          { _id: name },
          [{ $set: { holder: given('$holder', { $literal: holder }), until: given('$until', latest) } }],
          { upsert: true, returnDocument: 'after' },
        );
        return lease?.holder === holder;
      } catch (error) {
        // Another process made the lease at the same time.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async release(name: string, holder: string): Promise<void> {
      await collection.deleteOne({ _id: name, holder });
    },
    ...processesOf(connection, collection),
  };
}

/** The lease of each process, with the sessions of its transactions. */
const processesOf = ({ db }: mongoose.Connection, collection: Collection<LeaseDoc>) => ({
  /** Takes or renews the lease of the process. */
  async live(process: string, ms: number, sessions: readonly SessionId[]): Promise<void> {
    const until = { $add: ['$$NOW', ms] };
    const set = { holder: { $literal: process }, until, sessions: { $literal: [...sessions] } };
    await collection.updateOne({ _id: `process:${process}` }, [{ $set: set }], { upsert: true });
  },
  /** Ends the transactions of processes whose leases have ended: MongoDB would keep their documents
   *  locked for a minute. A process that lives after all begins its transaction again. @returns
   *  the processes */
  async endTransactionsOfTheDead(ms: number): Promise<string[]> {
    const hasEnded = {
      $or: [{ $lte: ['$until', '$$NOW'] }, { $gt: ['$until', { $add: ['$$NOW', ms + LATER_BY_MS] }] }],
    };
    // By their ids, whose range ends where the character after the colon begins.
    const ofProcesses = { _id: { $gte: 'process:', $lt: 'process;' } };
    const dead = await collection.find({ ...ofProcesses, sessions: { $exists: true }, $expr: hasEnded }).toArray();
    for (const { _id, until, sessions = [] } of dead) {
      await db!.command({ killSessions: sessions.map((id) => ({ id })) });
      await collection.deleteOne({ _id, until });
    }
    return dead.map(({ holder }) => holder);
  },
});
