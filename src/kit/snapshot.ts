/** Reads of one moment: all documents appear as they were when the first read began. MongoDB keeps
 *  such a moment for five minutes; after that, reads fail. */
import type mongoose from 'mongoose';

type Session = mongoose.mongo.ClientSession;

/** MongoDB's first batch. */
const BATCH = 500;

/** Runs `read` with a session, which ends when the caller stops reading. */
export async function* inSnapshot<T>(
  connection: mongoose.Connection,
  read: (session: Session) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const session = connection.getClient().startSession({ snapshot: true });
  try {
    yield* read(session);
  } finally {
    await session.endSession();
  }
}

/** Documents converted to lines at a time. More live objects slow garbage collection: with 500 an
 *  export takes a tenth longer. */
export const LINES_AT_ONCE = 100;

/** In batches, one of them in memory.
 *  @param size the largest batch; further documents of an answer wait as bytes */
export async function* batchesOf<Doc extends object>(
  found: mongoose.mongo.FindCursor<Doc>,
  size = BATCH,
): AsyncGenerator<Doc[]> {
  try {
    found.batchSize(BATCH);
    while (await found.hasNext()) yield found.readBufferedDocuments(size);
  } finally {
    await found.close();
  }
}
