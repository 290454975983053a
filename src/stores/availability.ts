/** Whether MongoDB takes writes, as the driver's monitors see it, and how long a caller waits for one that does not. Nothing that MongoDB works on is cut
 *  short: while it answers its monitors, a call may take as long as it takes. */
import mongoose from 'mongoose';
import type { MonotonicClock } from '../clock.js';
import { type ApiError, unavailable } from '../domain/api-error.js';

const { mongo } = mongoose;

/** Runs work for a caller who waits.
 *  @throws ApiError `unavailable` when MongoDB is away, or has been for `PATIENCE_MS`; what was begun goes on by itself */
export type Guard = <T>(work: () => Promise<T>) => Promise<T>;

interface Availability {
  guard: Guard;
  /** Takes what the monitors see. */
  observe(isThere: boolean): void;
}

/** A monitor hears of MongoDB each second. It gives up a connection, and with it what waits for answers on any other, after three more without a word. */
export const MONITORING = { heartbeatFrequencyMS: 1000, connectTimeoutMS: 3000 };
/** What is away is often back as soon: after an election, or the restart of an embedded MongoDB. Together with what the monitors need it is 8 s, and a
 *  caller is promised an answer within 10. */
export const PATIENCE_MS = 4000;

/** @param onChange is told when MongoDB goes away and when it is back */
export function createAvailability(
  clock: Pick<MonotonicClock, 'sleep'>,
  onChange: (isThere: boolean) => void = () => undefined,
): Availability {
  const waiting = new Set<(error: ApiError) => void>();
  /** Aborts when MongoDB is back; null while it is there. */
  let outage: AbortController | null = null;
  let isGivenUp = false;

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
        throw isAway(error) ? databaseAway() : error;
      } finally {
        waiting.delete(refuse);
      }
    },
  };
}

const databaseAway = () => unavailable('The database does not answer at the moment: try again.');

/** What a server answers that is about to end, or is no primary any more. */
const STEPPED_DOWN = new Set([91, 189, 10058, 10107, 11600, 11602, 13435, 13436]);

/** True when an operation failed because MongoDB was away, whatever became of it there. */
const isAway = (error: unknown): boolean =>
  error instanceof mongo.MongoNetworkError ||
  error instanceof mongo.MongoServerSelectionError ||
  error instanceof mongo.MongoNotConnectedError ||
  error instanceof mongo.MongoTopologyClosedError ||
  (error instanceof mongo.MongoServerError && STEPPED_DOWN.has(Number(error.code)));

/** Tells `observe` whenever the driver learns of a server that takes writes, or that there is none. */
export function followMonitors(client: mongoose.mongo.MongoClient, observe: Availability['observe']): void {
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    observe([...newDescription.servers.values()].some(({ isWritable }) => isWritable));
  });
}
