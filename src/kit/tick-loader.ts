/** Batches reads of one tick of the event loop: under load a round trip serves several requests. Nothing is cached, so no caller gets data from before its
 *  request. */
import DataLoader from 'dataloader';

const MAX_KEYS = 100;

/** @param read returns values in the order of the keys; an Error rejects that key alone */
export const createTickLoader = <Key, Value>(read: DataLoader.BatchLoadFn<Key, Value>): DataLoader<Key, Value> =>
  new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_KEYS,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  });

/** One read for all identical requests in a tick. @param nameOf equal for identical requests */
export function createSharedRead<Key, Value>(nameOf: (key: Key) => string, read: (key: Key) => Promise<Value>) {
  const loader = createTickLoader<Key, Value>((keys) => {
    const reads = new Map<string, Promise<Value>>();
    return Promise.all(
      keys.map((key) => {
        const name = nameOf(key);
        const found = reads.get(name) ?? read(key);
        reads.set(name, found);
        return found.catch((error: Error) => error);
      }),
    );
  });
  return (key: Key): Promise<Value> => loader.load(key);
}
