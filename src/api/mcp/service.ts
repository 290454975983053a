/** The service as the tools call it: over tRPC, each call for itself and with an end, and whatever
 *  goes wrong as REST's error object. */
import { createTRPCUntypedClient, httpLink, TRPCClientError } from '@trpc/client';
import { type ErrorBody, errorSchema } from '../../../contracts/errors.js';
import type { Operation } from '../../../contracts/operation.js';
import type { Clock } from '../../kit/clock.js';

/** An assistant hears of a service that is away within 30 s. */
const CALL_TIMEOUT_MS = 28_000;
/** A list of tools is answered soon, also while the service is away. */
const PROBE_TIMEOUT_MS = 5_000;
/** The service waits for events for less time than the call has. */
const LONGEST_WAIT_SECONDS = 25;

type Answer = { ok: unknown; error?: undefined } | { error: ErrorBody };

export interface McpService {
  /** @param name the tRPC procedure, `products.create`. @param signal ends the call early.
   *  Never rejects. */
  call(name: string, operation: Operation, input: Record<string, unknown>, signal: AbortSignal): Promise<Answer>;
  /** Whether the key may only read; null while unknown. */
  isReadOnly(): Promise<boolean | null>;
}

export function createMcpService(deps: { url: string; apiKey: string; clock: Pick<Clock, 'sleep'> }): McpService {
  const { url, apiKey, clock } = deps;
  const base = url.replace(/\/+$/, '');
  const client = createTRPCUntypedClient({
    links: [httpLink({ url: `${base}/trpc`, headers: { authorization: `Bearer ${apiKey}` } })],
  });
  let readOnly: boolean | null = null;

  async function answer(ask: (end: AbortSignal) => Promise<unknown>, timeoutMs: number, signal?: AbortSignal) {
    const timeout = new AbortController();
    const settled = new AbortController();
    void clock.sleep(timeoutMs, settled.signal).then(() => timeout.abort());
    try {
      return { ok: await ask(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal) };
    } catch (error) {
      return { error: timeout.signal.aborted ? tooLate(base, timeoutMs) : (errorBodyIn(error) ?? away(base, error)) };
    } finally {
      settled.abort();
    }
  }

  return {
    call(name, operation, input, signal) {
      const ask = operation.readOnly
        ? (end: AbortSignal) => client.query(name, withShortWait(input), { signal: end })
        : (end: AbortSignal) => client.mutation(name, input, { signal: end });
      return answer(ask, CALL_TIMEOUT_MS, signal);
    },
    async isReadOnly() {
      if (readOnly !== null) return readOnly;
      // The service checks the scope before the input, and refuses a product without fields in
      // any scope.
      const probe = await answer((end) => client.mutation('products.create', {}, { signal: end }), PROBE_TIMEOUT_MS);
      const code = probe.error?.code;
      if (code === 'forbidden' || code === 'validation_error') readOnly = code === 'forbidden';
      return readOnly;
    },
  };
}

/** For `events.list`: without an event it answers a little early. */
function withShortWait(input: Record<string, unknown>): Record<string, unknown> {
  const { wait } = input;
  const isTooLong = typeof wait === 'number' && wait > LONGEST_WAIT_SECONDS && wait <= 30;
  return isTooLong && Number.isInteger(wait) ? { ...input, wait: LONGEST_WAIT_SECONDS } : input;
}

function errorBodyIn(error: unknown): ErrorBody | null {
  if (!(error instanceof TRPCClientError)) return null;
  const data: unknown = error.data;
  return errorSchema.safeParse((data as { error?: unknown } | undefined)?.error).data ?? null;
}

const tooLate = (base: string, timeoutMs: number): ErrorBody => ({
  code: 'unavailable',
  message: `${base} did not answer within ${timeoutMs / 1000} s. If it was a change, check whether it was made before you repeat it.`,
});

function away(base: string, error: unknown): ErrorBody {
  const reason = error instanceof Error ? error.message : String(error);
  return { code: 'unavailable', message: `No stellar-collect service answers at ${base}: ${reason}` };
}
