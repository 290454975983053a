/** The interface of a source of rates. Its answers are untrusted: anything but a rate is a failure, and a failed source is left out. */
import type { Rate } from '../domain/rate.js';
import type { Pair } from '../domain/rate-pair.js';

export interface Quote {
  rate: Rate;
  /** The source's time, otherwise the time of the answer. */
  at: Date;
}

export interface RateSource {
  /** As in `RATE_SOURCES`. */
  name: string;
  /** Null if the source never has such a pair, so that it is not asked.
   *  @throws SourceError, BadAnswer, UnknownPair when it says that it does not know the pair; any other error counts as a failure as well */
  quote(pair: Pair): Promise<Quote | null>;
}

/** A source of exchange rates between currencies that knows no assets. */
export interface CrossSource {
  name: string;
  /** The worth of one unit of the first in the second; null if it lacks one of them.
   *  @throws as `RateSource.quote`, BadAnswer when the rate is too old */
  cross(from: string, to: string): Promise<Quote | null>;
}

/** The answer differs from the source's documentation. The reason repeats nothing of it. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
  /** @param status of HTTP, if that is the fault */
  constructor(
    readonly reason: string,
    readonly status: number | null = null,
  ) {
    super(reason);
  }
}

/** The source says that it does not know the pair. */
export class UnknownPair extends BadAnswer {
  constructor() {
    super('it does not know the pair');
  }
}
