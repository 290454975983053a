/** A typed client for programs that call the service, in Node and in browsers. It carries no server code. */
import { createTRPCClient, httpBatchLink, type TRPCClient } from '@trpc/client';
import type { AppRouter } from './api/app-router.js';

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

/** Calls that are made in the same tick travel in one request. A failure is thrown as `TRPCClientError`, with REST's error object in `data.error`. */
export function createClient({ url, apiKey, fetch }: ClientOptions): TRPCClient<AppRouter> {
  return createTRPCClient<AppRouter>({
    links: [
      httpBatchLink({
        url: `${url.replace(/\/+$/, '')}/trpc`,
        headers: { authorization: `Bearer ${apiKey}` },
        maxItems: MAX_BATCH_SIZE,
        maxURLLength: MAX_URL_LENGTH,
        ...(fetch ? { fetch } : {}),
      }),
    ],
  });
}
