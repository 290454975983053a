/** A typed client for programs that call the service, wherever there are web standards: Node, browsers, edge runtimes. */
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
  /** Base of the service, such as `http://127.0.0.1:3000`. */
  url: string;
  /** `sk_…` */
  apiKey: string;
  /** In the place of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** The server takes at most 20 calls in one request. */
const MAX_BATCH_SIZE = 20;
/** Well below the 16 KiB that Node's server takes for a request's line and headers together. */
const MAX_URL_LENGTH = 8_000;

/** Null for a call without one. @throws TypeError for one that is no text */
function idempotencyKeyOf({ context: { idempotencyKey } }: Operation): string | null {
  if (idempotencyKey === undefined || idempotencyKey === null) return null;
  if (typeof idempotencyKey !== 'string') throw new TypeError('context.idempotencyKey has to be a string.');
  return idempotencyKey;
}

/** Calls that are made in the same tick travel in one request. One with an Idempotency-Key, as `mutate(input, { context: { idempotencyKey } })`, and a
 *  subscription (`events.stream`) have a request of their own; a subscription goes on by itself after a break, where it was. A failure is thrown as
 *  `CallError`. */
export function createClient({ url, apiKey, fetch = globalThis.fetch }: ClientOptions): TRPCClient<AppRouter> {
  const target = `${url.replace(/\/+$/, '')}/trpc`;
  const authorization = `Bearer ${apiKey}`;
  return createTRPCClient<AppRouter>({
    links: [
      callErrors,
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({
          url: target,
          // The EventSource of browsers sends no key.
          EventSource,
          eventSourceOptions: {
            fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
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
