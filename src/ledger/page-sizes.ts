/** How many records to ask for at once. A page that is too large or takes too long is asked for again with half as many, down to one; what then comes
 *  through makes the next pages larger again, later each time that this fails, because every failure may have cost a time-out. Remembered for each stream:
 *  one heavy account says nothing of the others. */

const MAX_REMEMBERED = 1000;
/** Pages that have to come through before more records are asked for, at most. */
const LONGEST_TRIAL = 32;

interface PageSizes {
  /** @param stream an address, or null for the whole network. */
  of(stream: string | null, limit: number): number;
  /** @returns false when it was one record already: there is nothing smaller. */
  shrink(stream: string | null, size: number): boolean;
  /** A page of this size came through. */
  grow(stream: string | null, size: number, limit: number): void;
}

interface StreamSize {
  size: number;
  /** Pages of this size that have to come through before it doubles. */
  trial: number;
  /** It was doubled, and no page of this size has come through yet. */
  isTried: boolean;
  pages: number;
}

export function createPageSizes(): PageSizes {
  const streams = new Map<string | null, StreamSize>();
  return {
    of: (stream, limit) => Math.min(limit, streams.get(stream)?.size ?? limit),
    shrink(stream, size) {
      const { trial = 1, isTried = false } = streams.get(stream) ?? {};
      if (streams.size >= MAX_REMEMBERED) streams.clear();
      streams.set(stream, {
        size: Math.max(1, Math.floor(size / 2)),
        trial: isTried ? Math.min(2 * trial, LONGEST_TRIAL) : trial,
        isTried: false,
        pages: 0,
      });
      return size > 1;
    },
    grow(stream, size, limit) {
      const known = streams.get(stream);
      if (!known) return;
      if (size >= limit) {
        streams.delete(stream);
        return;
      }
      const trial = known.isTried ? Math.max(1, known.trial / 2) : known.trial;
      const pages = known.pages + 1;
      const isDouble = pages >= trial;
      streams.set(stream, { size: isDouble ? 2 * size : size, trial, isTried: isDouble, pages: isDouble ? 0 : pages });
    },
  };
}
