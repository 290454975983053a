/** Follows a change stream: reopens it at its position when it breaks or falls silent, and finds by
 *  a query what no stream reports. */
import type { mongo } from 'mongoose';
import type { Logger } from 'pino';
import { type Clock, within } from './clock.js';

// Change streams of MongoDB as followers read them.

/** Call `next` repeatedly; the position moves with each answer. */
export interface ChangeStream<Change> {
  /** Null when nothing came within a second. Rejects when the stream is broken. */
  next(): Promise<Change | null>;
  /** Where another stream can resume. */
  position(): unknown;
  close(): Promise<void>;
}

/** Opens a change stream. @param options.position of an earlier stream; undefined to begin now
 *  @param options.toChange returns null for a change to skip */
export function openChangeStream<Doc extends mongo.Document, Change>(
  collection: mongo.Collection<Doc>,
  pipeline: mongo.Document[],
  options: {
    position: unknown;
    fullDocument?: 'updateLookup';
    toChange: (change: mongo.Document) => Change | null;
  },
): ChangeStream<Change> {
  const { position, fullDocument, toChange } = options;
  const changes = collection.watch<Doc, mongo.ChangeStreamDocument<Doc>>(pipeline, {
    ...(fullDocument ? { fullDocument } : {}),
    ...(position === undefined ? {} : { resumeAfter: position as mongo.ResumeToken }),
  });
  return {
    async next() {
      const change = await changes.tryNext();
      return change && toChange(change);
    },
    position: () => changes.resumeToken,
    close: () => changes.close(),
  };
}

/** Whether a broken stream may resume from its position: after an error of MongoDB's own, only if
 *  MongoDB says so. */
function isResumable(error: unknown): boolean {
  const { name, hasErrorLabel } = error as mongo.MongoError;
  return name !== 'MongoServerError' || hasErrorLabel?.call(error, 'ResumableChangeStreamError') === true;
}

/** An idle stream answers every second; this long without an answer, it is dead. */
const SILENCE_MS = 10_000;
const refuseSilence = () => {
  throw new Error(`the change stream has been silent for ${SILENCE_MS} ms`);
};
/** On average: processes that lost the same database must not all reconnect at once. */
const RETRY_MS = 1000;

interface Follower {
  /** Starts following, once; the database need not be there yet. */
  start(): void;
  /** False from when the stream broke until it is followed again. */
  isLive(): boolean;
  /** Catches up at once, beside the stream: for news from a faster way. */
  look(): Promise<void>;
  close(): Promise<void>;
}

interface FollowerDeps<Change> {
  /** For the log. */
  what: string;
  /** @param position where an earlier stream was; undefined to begin now */
  open: (position: unknown) => ChangeStream<Change>;
  /** Reports by a query what came since that moment, in milliseconds. Called once a new stream,
   *  which misses nothing from then on, has begun. */
  catchUp: (sinceMs: number) => Promise<void>;
  onChange: (change: Change) => void;
  clock: Clock;
  log: Logger;
}

export function createFollower<Change>(deps: FollowerDeps<Change>): Follower {
  const { what, open, catchUp, onChange, clock, log } = deps;
  const closing = new AbortController();
  /** Optimistic until the first stream breaks: what it misses before it begins is caught up. */
  let isLive = true;
  let position: unknown;
  let answeredMs = clock.nowMs();
  let stream: ChangeStream<Change> | null = null;
  let running: Promise<void> | null = null;
  let looking: Promise<void> = Promise.resolve();

  async function follow(): Promise<void> {
    const isResumed = position !== undefined;
    try {
      stream = open(position);
      for (let isFirst = true; !closing.signal.aborted; isFirst = false) {
        const change = await within(clock, SILENCE_MS, stream.next(), refuseSilence);
        if (isFirst) {
          if (!isResumed) await catchUp(answeredMs);
          isLive = true;
          log.info({ what, isResumed }, 'following a change stream');
        }
        // A change that comes while a look reads is newer than what the look has read.
        await looking;
        if (change !== null) onChange(change);
        position = stream.position();
        answeredMs = clock.nowMs();
      }
    } finally {
      isLive = false;
      await stream?.close().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await follow();
      } catch (err) {
        if (closing.signal.aborted) break;
        log.warn({ err, what }, 'a change stream cannot be followed; trying again');
        if (!isResumable(err)) position = undefined;
        await clock.sleep(RETRY_MS * (0.5 + clock.random()), closing.signal);
      }
    }
  }

  return {
    start() {
      if (!closing.signal.aborted) running ??= run();
    },
    isLive: () => isLive,
    look() {
      looking = looking
        .then(() => catchUp(answeredMs))
        .catch((err: unknown) => log.warn({ err, what }, 'check for news failed; the change stream will report it'));
      return looking;
    },
    async close() {
      closing.abort();
      await stream?.close().catch(() => undefined);
      await running;
    },
  };
}
