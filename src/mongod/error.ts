/** MongoDB is unavailable. The message is one line that tells the operator what to do. */
export class MongoUnavailableError extends Error {
  override readonly name = 'MongoUnavailableError';
}
