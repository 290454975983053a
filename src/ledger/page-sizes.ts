/** Page sizes. A page that is too large or too slow is requested again with half as many records, down to one. Successful pages double the size
 *  again, later after each failed attempt, because a failure may cost a timeout. Each stream has its own size: one heavy account says nothing
 *  about the others. */

const MAX_REMEMBERED = 1000;
/** The most pages that must succeed before the size doubles. */
const LONGEST_TRIAL = 32;

interface PageSizes {
  /** @param stream an address, or null for the whole network */
  of(stream: string | null, limit: number): number;
  /** @returns false when the size was 1 already */
  shrink(stream: string | null, size: number): boolean;
  /** Notes a successful page of this size. */
  grow(stream: string | null, size: number, limit: number): void;
}

interface StreamSize {
  size: number;
  /** Pages that must succeed before the size doubles. */
  trial: number;
  /** The size was doubled, and no page of it has succeeded yet. */
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
