/** Which page a request comes from. Only the dashboard's own may use a session: another site, and another name of the same host, may not. */
import type { IncomingMessage } from 'node:http';

/** @param publicUrl its origin is allowed too: behind a proxy the `Host` of a request may be another one
 *  @returns whether the request comes from a foreign page. Without the headers that browsers send it comes from none. */
export function createIsForeign(publicUrl: string): (req: Pick<IncomingMessage, 'headers'>) => boolean {
  const publicOrigin = new URL(publicUrl).origin;
  return ({ headers }) => {
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
    const { origin, host } = headers;
    if (origin === undefined || origin === publicOrigin) return false;
    return !URL.canParse(origin) || new URL(origin).host !== host;
  };
}
