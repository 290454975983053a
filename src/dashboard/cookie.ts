/** The cookie that holds a session's token. Scripts cannot read it, other sites cannot make a browser send it. */
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

/** @param publicUrl when it is https, the browser sends the cookie over https only; its path is where the browser sees the dashboard */
export function createSessionCookie(publicUrl: string, lifetimeMs: number): SessionCookie {
  const { protocol, pathname } = new URL(publicUrl);
  const isSecure = protocol === 'https:';
  // Browsers take this prefix only together with Secure, so that plain http cannot set the cookie of an https service.
  const name = isSecure ? '__Secure-dashboard' : 'dashboard';
  const path = `${pathname.replace(/\/+$/, '')}/dashboard`;
  const attributes = { path, httpOnly: true, sameSite: 'strict', secure: isSecure } as const;
  return {
    read: ({ headers }) => parseCookie(headers.cookie ?? '')[name] ?? '',
    set: (value) => stringifySetCookie({ name, value, maxAge: lifetimeMs / 1000, ...attributes }),
    clear: () => stringifySetCookie({ name, value: '', maxAge: 0, ...attributes }),
  };
}
