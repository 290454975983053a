/** A typed client for programs that call the service, wherever there are web standards: Node, browsers, edge runtimes. */
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink, type TRPCClient } from '@trpc/client';
import { EventSource } from 'eventsource';
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

/** Calls that are made in the same tick travel in one request; a subscription (`events.stream`) has a request of its own and goes on by itself after
 *  a break, where it was. A failure is thrown as `TRPCClientError`, with REST's error object in `data.error`. */
export function createClient({ url, apiKey, fetch = globalThis.fetch }: ClientOptions): TRPCClient<AppRouter> {
  const target = `${url.replace(/\/+$/, '')}/trpc`;
  const authorization = `Bearer ${apiKey}`;
  return createTRPCClient<AppRouter>({
    links: [
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
        false: httpBatchLink({
          url: target,
          headers: { authorization },
          maxItems: MAX_BATCH_SIZE,
          maxURLLength: MAX_URL_LENGTH,
          fetch,
        }),
      }),
    ],
  });
}
