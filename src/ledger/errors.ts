/** The ways in which sources of the ledger fail their caller. None of them names a URL beyond its host: keys may stand in the rest. */

/** `server`: the server as a whole is in trouble. `slow`, `too_large` and `missing`: this one answer took too long, was too large, or does
 *  not exist; others may be fine. */
type SourceErrorKind = 'server' | 'slow' | 'too_large' | 'missing';

/** One server did not answer, or not with what it should. The reason names neither URL nor content. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  /** What the server asked for; null when it did not. */
  readonly retryAfterMs: number | null;
  readonly kind: SourceErrorKind;
  constructor(
    readonly reason: string,
    { retryAfterMs = null, kind = 'server' }: { retryAfterMs?: number | null; kind?: SourceErrorKind } = {},
  ) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
    this.kind = kind;
  }
}

/** No source gave an answer that can be used; asking again is worth it after `retryAfterMs`. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
  constructor(
    /** One short line. */
    readonly reason: string,
    readonly retryAfterMs: number,
    /** Only this one answer could not be had: others may be fine. */
    readonly isOfOne = false,
  ) {
    super(`the ledger cannot be read: ${reason}`);
  }
}

/** A server knows nothing of an account whose records were read before and must still be kept: what it says of it is not to be believed, while it may be
 *  right about everything else. */
export class UnsureHistory extends LedgerUnavailable {
  constructor() {
    super('it no longer knows the history of an account that has one', 0);
  }
}

/** No request may be sent now: a share of the budget, or all of it, is used up. */
export class BudgetUsedUp extends LedgerUnavailable {
  constructor(waitMs: number) {
    super('the request budget is used up', waitMs);
  }
  /** Whole, at least 1. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.retryAfterMs / 1000));
  }
}

/** A server that answers but must not be read: asking again does not help until a setting changes. */
export abstract class UnfitServer extends Error {}

/** A server answers for another network than the one it was configured for. */
export class WrongNetwork extends UnfitServer {
  override readonly name = 'WrongNetwork';
  constructor(
    readonly server: string,
    readonly expected: string,
    readonly found: string,
  ) {
    super(`${server} serves the network "${found}", not "${expected}"`);
  }
}

/** A Stellar RPC server that leaves the events of classic payments out. */
export class BlindServer extends UnfitServer {
  override readonly name = 'BlindServer';
  constructor(readonly server: string) {
    super(`${server} shows no events of classic payments: its stellar-core has to run with EMIT_CLASSIC_EVENTS=true`);
  }
}
