/** Reads of one moment: all documents are as they were when the first read began, whatever is written meanwhile. MongoDB keeps such a moment for five
 *  minutes; after that the next read fails. */
import type mongoose from 'mongoose';

type Session = mongoose.mongo.ClientSession;

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

/** In batches, of which one is in memory. */
export async function* batchesOf<Doc extends object>(found: mongoose.mongo.FindCursor<Doc>): AsyncGenerator<Doc[]> {
  try {
    found.batchSize(BATCH);
    while (await found.hasNext()) yield found.readBufferedDocuments();
  } finally {
    await found.close();
  }
}
