/** Names for requests, in answers and logs: a random start of this process, and a count. */
import type { Clock } from '../kit/clock.js';

export function createRequestIds(clock: Clock): () => string {
  const start = clock.randomBytes(6).toString('hex');
  let count = 0;
  return () => `req_${start}${(count++).toString(36).padStart(5, '0')}`;
}
