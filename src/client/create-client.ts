/** A typed client of the service for runtimes with web standards: Node, browsers, edge runtimes. */
import {
  createTRPCClient,
  httpBatchLink,
  httpLink,
  httpSubscriptionLink,
  type Operation,
  splitLink,
  type TRPCClient,
} from '@trpc/client';
import { EventSource } from 'eventsource';
import { callErrors } from './call-error.js';
import type { AppRouter } from './procedures.js';

export interface ClientOptions {
  /** Base URL of the service, such as `http://127.0.0.1:3000`; that of its REST API (`…/api/v1`) is
   *  understood as well. */
  url: string;
  /** `sk_…` */
  apiKey: string;
  /** Defaults to the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** The server takes at most 20 calls in one request. */
const MAX_BATCH_SIZE = 20;
/** Well below the 16 KiB that Node's server accepts for request line and headers together. */
const MAX_URL_LENGTH = 8_000;

/** Null for a call without a key. @throws TypeError when the key is not a string */
function idempotencyKeyOf({ context: { idempotencyKey } }: Operation): string | null {
  if (idempotencyKey === undefined || idempotencyKey === null) return null;
  if (typeof idempotencyKey !== 'string') throw new TypeError('context.idempotencyKey has to be a string.');
  return idempotencyKey;
}

/** An EventSource ends for good with any answer but 200, and tries again after an error.
 *  @throws Error for an answer that passes: that of a proxy while the service starts again, say */
async function unlessPassing(answer: Response): Promise<Response> {
  if (answer.status !== 429 && answer.status < 500) return answer;
  await answer.body?.cancel();
  throw new Error(`The service answered ${answer.status}.`);
}

/** Calls of the same tick share one request. A call with an Idempotency-Key, as in
 *  `mutate(input, { context: { idempotencyKey } })`, and a subscription (`events.stream`) each have
 *  their own; a subscription reconnects after a break and resumes where it was. Calls reject
 *  with `CallError`. */
export function createClient({ url, apiKey, fetch = globalThis.fetch }: ClientOptions): TRPCClient<AppRouter> {
  // `fetch` would repeat the key in its error.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError('apiKey has a blank, a line break or another character that no key has.');
  const base = url.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  const target = `${base}/trpc`;
  const authorization = `Bearer ${apiKey}`;
  return createTRPCClient<AppRouter>({
    links: [
      callErrors(base),
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({
          url: target,
          // The EventSource of browsers cannot send the key.
          EventSource,
          eventSourceOptions: {
            fetch: async (input, init) =>
              unlessPassing(await fetch(input, { ...init, headers: { ...init.headers, authorization } })),
          },
        }),
        false: splitLink({
          condition: (call) => idempotencyKeyOf(call) !== null,
          true: httpLink({
            url: target,
            headers: ({ op }) => ({ authorization, 'idempotency-key': idempotencyKeyOf(op) ?? undefined }),
            fetch,
          }),
          false: httpBatchLink({
            url: target,
            headers: { authorization },
            maxItems: MAX_BATCH_SIZE,
            maxURLLength: MAX_URL_LENGTH,
            fetch,
          }),
        }),
      }),
    ],
  });
}
