/** Errors of ledger sources. None names a URL beyond its host: the rest may hold keys. */

/** `server`: the whole server is in trouble. `slow`, `too_large` and `missing`: only this answer took too long, was too large or does not exist. */
type SourceErrorKind = 'server' | 'slow' | 'too_large' | 'missing';

/** A server gave no answer or an invalid one. The reason names neither URL nor content. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  /** The delay that the server asked for; null without one. */
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

/** No source gave a usable answer; retry after `retryAfterMs`. */
export class LedgerUnavailable extends Error {
  override readonly name = 'LedgerUnavailable';
  constructor(
    /** One short line. */
    readonly reason: string,
    readonly retryAfterMs: number,
    /** Only this answer is unavailable; others may be fine. */
    readonly isOfOne = false,
  ) {
    super(`the ledger cannot be read: ${reason}`);
  }
}

/** A server does not know an account whose records were read before and must still be kept. Its answer about the account is not trusted; its other
 *  answers are. */
export class UnsureHistory extends LedgerUnavailable {
  constructor() {
    super('it no longer knows the history of an account that has one', 0);
  }
}

/** A share of the request budget, or all of it, is used up. */
export class BudgetUsedUp extends LedgerUnavailable {
  constructor(waitMs: number) {
    super('the request budget is used up', waitMs);
  }
  /** Whole seconds, at least 1. */
  get retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.retryAfterMs / 1000));
  }
}

/** A server answers but must not be read. Retrying does not help until a setting changes. */
export abstract class UnfitServer extends Error {}

/** A server serves another network than configured. */
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

/** A Stellar RPC server that shows no events of classic payments. */
export class BlindServer extends UnfitServer {
  override readonly name = 'BlindServer';
  constructor(readonly server: string) {
    super(`${server} shows no events of classic payments: its stellar-core has to run with EMIT_CLASSIC_EVENTS=true`);
  }
}
