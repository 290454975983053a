/** What a source of rates is. Its answers are untrusted: whatever is not a rate makes it fail, and a source that fails is left out. */
import type { Rate } from '../domain/rate.js';
import type { Pair } from '../domain/rate-pair.js';

export interface Quote {
  rate: Rate;
  /** As the source says it, else when it answered. */
  at: Date;
}

export interface RateSource {
  /** As in `RATE_SOURCES`. */
  name: string;
  /** Null where the source has no such pair.
   *  @throws SourceError or BadAnswer; whatever else is thrown counts as a failure as well */
  quote(pair: Pair): Promise<Quote | null>;
}

/** What currencies are worth in each other, by a source that knows nothing of assets. */
export interface CrossSource {
  name: string;
  /** What one unit of the first is worth in the second; null where it has one of them not, or is too old.
   *  @throws as `RateSource.quote` */
  cross(from: string, to: string): Promise<Quote | null>;
}

/** The answer is not what the source's documentation says. The reason repeats nothing of it. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
  /** @param status of HTTP, where it is what is wrong */
  constructor(
    readonly reason: string,
    readonly status: number | null = null,
  ) {
    super(reason);
  }
}
