/** Whether MongoDB takes writes, as the driver's monitors see it, and how long callers wait when it
 *  does not. No running call is cut short while MongoDB answers its monitors. */
import mongoose from 'mongoose';
import { type ApiError, unavailable } from './api-error.js';
import type { MonotonicClock } from './clock.js';

const { mongo } = mongoose;

/** Runs work for a waiting caller.
 *  @throws ApiError `unavailable` when MongoDB is away, or has been for `PATIENCE_MS`; work that
 *  has begun continues */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>;

interface Availability {
  guard: Guard;
  /** Reports what the monitors see. */
  observe(isThere: boolean): void;
  /** Reports what became of a write that the process makes regularly. @param error null when
   *  it succeeded */
  wrote(error: unknown): void;
  /** Whether MongoDB refused the last of those writes, as with a full disk. */
  refusesWrites(): boolean;
}

/** A monitor hears from MongoDB every second. After three more seconds of silence it closes all
 *  connections, failing their pending calls. */
export const MONITORING = { heartbeatFrequencyMS: 1000, connectTimeoutMS: 3000 };
/** Long enough for an election or a restart of the embedded MongoDB. With the monitors' delay that
 *  makes 8 s; callers are promised an answer within 10. */
export const PATIENCE_MS = 4000;

/** @param onChange called when MongoDB goes away and when it is back */
export function createAvailability(
  clock: Pick<MonotonicClock, 'sleep'>,
  onChange: (isThere: boolean) => void = () => undefined,
): Availability {
  const waiting = new Set<(error: ApiError) => void>();
  /** Aborts when MongoDB is back; null while it is there. */
  let outage: AbortController | null = null;
  let isGivenUp = false;
  let isRefusing = false;

  async function giveUp({ signal }: AbortController): Promise<void> {
    await clock.sleep(PATIENCE_MS, signal);
    if (signal.aborted) return;
    isGivenUp = true;
    for (const refuse of waiting) refuse(databaseAway());
    waiting.clear();
  }

  return {
    observe(isThere) {
      if (isThere === (outage === null)) return;
      if (isThere) {
        outage?.abort();
        outage = null;
        isGivenUp = false;
      } else {
        outage = new AbortController();
        void giveUp(outage);
      }
      onChange(isThere);
    },
    wrote: (error) => {
      isRefusing = isRefusal(error);
    },
    refusesWrites: () => isRefusing,
    async guard(work) {
      if (isGivenUp) throw databaseAway();
      let refuse: (error: ApiError) => void = () => undefined;
      const refused = new Promise<never>((_resolve, reject) => {
        refuse = reject;
      });
      waiting.add(refuse);
      try {
        return await Promise.race([work(), refused]);
      } catch (error) {
        if (isRefusal(error)) throw writesRefused();
        throw isAway(error) ? databaseAway() : error;
      } finally {
        waiting.delete(refuse);
      }
    },
  };
}

const databaseAway = () => unavailable('The database does not answer at the moment: try again.');

const writesRefused = () => unavailable('The database takes no changes at the moment: try again.');

/** OutOfDiskSpace, and UserWritesBlocked, by which hosts of MongoDB keep a full disk from
 *  filling further. */
const WRITES_REFUSED = new Set([14031, 371]);
/** WiredTiger's own words for a disk that is full or went read-only, under general codes. */
const DISK_REFUSES = /no space left on device|disk (is )?full|out of disk space|read-only file system|WT_PANIC/i;

/** True when a server that answers refused a write for want of a disk. Such a write was
 *  not made. */
const isRefusal = (error: unknown): boolean =>
  error instanceof mongo.MongoServerError &&
  (WRITES_REFUSED.has(Number(error.code)) || DISK_REFUSES.test(error.message));

/** Answers of a server that is shutting down or no longer the primary. */
const STEPPED_DOWN = new Set([91, 189, 10058, 10107, 11600, 11602, 13435, 13436]);

/** True when an operation failed because MongoDB was away; it may have been applied. */
const isAway = (error: unknown): boolean =>
  error instanceof mongo.MongoNetworkError ||
  error instanceof mongo.MongoServerSelectionError ||
  error instanceof mongo.MongoNotConnectedError ||
  error instanceof mongo.MongoTopologyClosedError ||
  // The driver writes to a socket whose other end has just closed it, and passes Node's own
  // error on.
  (error as NodeJS.ErrnoException | null)?.code === 'EPIPE' ||
  (error instanceof mongo.MongoServerError && STEPPED_DOWN.has(Number(error.code)));

/** True when a transaction failed that may have been committed. */
export const mayBeCommitted = (error: unknown): boolean =>
  isAway(error) || (error instanceof mongo.MongoError && error.hasErrorLabel('UnknownTransactionCommitResult'));

/** Calls `observe` whenever the driver learns whether a server takes writes. */
export function followMonitors(client: mongoose.mongo.MongoClient, observe: Availability['observe']): void {
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    observe([...newDescription.servers.values()].some(({ isWritable }) => isWritable));
  });
}
