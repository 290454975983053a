/** Detects requests from foreign pages. Only the dashboard's own pages may use a session: other sites, and other names of the same host, may not. */
import type { IncomingMessage } from 'node:http';

/** @param publicUrl its origin is allowed too, because behind a proxy the `Host` of a request may differ
 *  @returns whether the request comes from a foreign page; false without the headers of browsers */
export function createIsForeign(
  publicUrl: string,
): (req: Pick<IncomingMessage, 'headers'> & { protocol?: string }) => boolean {
  const publicOrigin = new URL(publicUrl).origin;
  return ({ headers, protocol = 'http' }) => {
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
    const { origin, host } = headers;
    if (origin === undefined || origin === publicOrigin) return false;
    return origin !== `${protocol}://${host}`;
  };
}
