/** The cookie with a session's token. Scripts cannot read it, and other sites cannot make a browser
 *  send it. */
import type { IncomingMessage } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';

export interface SessionCookie {
  /** Token of the request's session; `''` without one. */
  read(req: IncomingMessage): string;
  /** The `Set-Cookie` that keeps the token. */
  set(token: string): string;
  /** The `Set-Cookie` that forgets it. */
  clear(): string;
}

/** @param publicUrl for https the browser sends the cookie only over https, and takes it from this
 *  host alone; else it is for the service's path */
export function createSessionCookie(publicUrl: string, lifetimeMs: number): SessionCookie {
  const { protocol, pathname } = new URL(publicUrl);
  const isSecure = protocol === 'https:';
  // Browsers accept this prefix only with Secure, for the whole of one host: neither plain http nor
  // a neighbour's domain can set the cookie.
  const name = isSecure ? '__Host-dashboard' : 'dashboard';
  // Not the dashboard's alone: the page of a checkout shows its shop what it no longer
  // shows others.
  const path = isSecure ? '/' : pathname.replace(/\/+$/, '') || '/';
  const attributes = { path, httpOnly: true, sameSite: 'strict', secure: isSecure } as const;
  return {
    read: ({ headers }) => parseCookie(headers.cookie ?? '')[name] ?? '',
    set: (value) => stringifySetCookie({ name, value, maxAge: lifetimeMs / 1000, ...attributes }),
    clear: () => stringifySetCookie({ name, value: '', maxAge: 0, ...attributes }),
  };
}
