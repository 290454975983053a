/** The two ways in which Horizon fails its caller. Neither names a URL beyond its host: keys may stand in the rest. */

/** No answer that can be used; worth asking again after `retryAfterMs`. */
export class HorizonUnavailable extends Error {
  override readonly name = 'HorizonUnavailable';
  constructor(
    /** One short line. */
    readonly reason: string,
    readonly retryAfterMs: number,
  ) {
    super(`Horizon is not available: ${reason}`);
  }
}

/** A base answers for another network than the one it was configured for: asking again does not help. */
export class WrongNetwork extends Error {
  override readonly name = 'WrongNetwork';
  constructor(
    readonly base: string,
    readonly expected: string,
    readonly found: string,
  ) {
    super(`${base} serves the network "${found}", not "${expected}"`);
  }
}
