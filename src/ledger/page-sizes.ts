/** How many records to ask for at once. A page that is too large or takes too long is asked for again with half as many, down to one; what then
 *  comes through makes the next page larger again. Remembered for each stream, because one heavy account says nothing of the others. */

const MAX_REMEMBERED = 1000;

export interface PageSizes {
  /** @param stream an address, or null for the whole network. */
  of(stream: string | null, limit: number): number;
  /** @returns false when it was one record already: there is nothing smaller. */
  shrink(stream: string | null, size: number): boolean;
  grow(stream: string | null, size: number): void;
}

export function createPageSizes(): PageSizes {
  const sizes = new Map<string | null, number>();
  return {
    of: (stream, limit) => Math.min(limit, sizes.get(stream) ?? limit),
    shrink(stream, size) {
      if (sizes.size >= MAX_REMEMBERED) sizes.clear();
      sizes.set(stream, Math.max(1, Math.floor(size / 2)));
      return size > 1;
    },
    grow(stream, size) {
      if (sizes.has(stream)) sizes.set(stream, size * 2);
    },
  };
}
