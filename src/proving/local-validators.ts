/** Whose signatures count on LOCAL: the validator that the local ledger names itself. Every local ledger has its own. */
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { createRequester } from '../ledger/request.js';
import { LedgerUnavailable, SourceError } from '../ledger/source.js';
import type { Validator } from '../proof/index.js';

const TIMEOUT_MS = 3_000;
const MAX_BYTES = 64 * 1024;
/** A ledger that was begun again has another. */
const KEPT_MS = 5_000;

/** `[[VALIDATORS]]` of SEP-20, as the local ledger writes it. */
const KEY = /^PUBLIC_KEY\s*=\s*"(G[A-Z2-7]{55})"/m;

export type LocalValidators = ReturnType<typeof createLocalValidators>;

/** @param url of the local ledger; null when LOCAL is not watched */
export function createLocalValidators(
  url: string | null,
  { clock, monotonic }: { clock: Clock; monotonic: MonotonicClock },
) {
  const parse = (body: Buffer) => body.toString('utf8');
  const requester = createRequester(clock, { maxBodyBytes: MAX_BYTES, parse });
  let known: { validators: readonly Validator[]; untilMs: number } = { validators: [], untilMs: 0 };

  return {
    /** Empty where LOCAL is not watched. @throws LedgerUnavailable */
    async validators(): Promise<readonly Validator[]> {
      if (url === null) return [];
      if (known.untilMs > monotonic.nowMs()) return known.validators;
      const answer = await requester
        .send({ url: new URL('/.well-known/stellar.toml', url).href, headers: {} }, TIMEOUT_MS)
        .catch((error: unknown) => {
          if (error instanceof SourceError) throw new LedgerUnavailable(error.reason, KEPT_MS);
          throw error;
        });
      const node = KEY.exec(String(answer.body))?.[1];
      const validators = node ? [{ name: 'The local ledger', homeDomain: 'localhost', nodes: [node] }] : [];
      known = { validators, untilMs: monotonic.nowMs() + KEPT_MS };
      return validators;
    },
    close: () => requester.close(),
  };
}
