/** Change streams of MongoDB as followers read them. */
import type { mongo } from 'mongoose';

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

/** Whether a broken stream may resume from its position: after an error of MongoDB's own, only if MongoDB says so. */
export function isResumable(error: unknown): boolean {
  const { name, hasErrorLabel } = error as mongo.MongoError;
  return name !== 'MongoServerError' || hasErrorLabel?.call(error, 'ResumableChangeStreamError') === true;
}
