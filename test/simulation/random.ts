/** Seeded randomness: the same seed draws the same numbers on every machine. */

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  int(below: number): number;
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  bytes(size: number): Buffer;
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let warm = 0; warm < 4; warm++) next();
  const random: Random = {
    next,
    int: (below) => Math.floor(next() * below),
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)]!,
    bytes: (size) => Buffer.from(Array.from({ length: size }, () => Math.floor(next() * 256))),
  };
  return random;
}
