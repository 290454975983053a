/** Reads of one moment: all documents are as they were when the first read began, whatever is written since. MongoDB keeps such a moment for five
 *  minutes; after that the next read fails. */
import type mongoose from 'mongoose';

type Session = mongoose.mongo.ClientSession;

/** What MongoDB answers with at once. */
const BATCH = 500;

/** Runs `read` with a session for its reads, which ends when its caller takes no more. */
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

/** Documents in a batch that is made into lines. Live objects cost time in garbage collection: with 500 an export takes a tenth longer. */
export const LINES_AT_ONCE = 100;

/** In batches, of which one is in memory.
 *  @param size of a batch at most; what MongoDB answered with beyond that waits as bytes */
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
