/** Pages of which the source did not have a record's transaction or effects. Behind one URL another machine may have answered, which is behind the one
 *  that gave the page: so a page is read again a few times before such records are parked. */
import type { CursorDoc } from '../stores/cursors.js';

const MAX_TRIES = 10;
const MAX_STREAMS = 1000;

export interface LateRecords {
  /** Counts a try of the page after this cursor. @returns whether another one is worth it */
  mayCome(from: Pick<CursorDoc, '_id' | 'cursor'>): boolean;
}

export function createLateRecords(): LateRecords {
  const triesOf = new Map<string, { cursor: string; tries: number }>();
  return {
    mayCome({ _id, cursor }) {
      const known = triesOf.get(_id);
      const tries = known?.cursor === cursor ? known.tries + 1 : 1;
      triesOf.delete(_id);
      if (tries >= MAX_TRIES) return false;
      triesOf.set(_id, { cursor, tries });
      const [oldest] = triesOf.keys();
      if (triesOf.size > MAX_STREAMS) triesOf.delete(oldest!);
      return true;
    },
  };
}
