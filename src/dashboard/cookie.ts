/** The cookie that holds a session's token. Scripts cannot read it, other sites cannot make a browser send it. */
import type { IncomingMessage } from 'node:http';

export interface SessionCookie {
  /** Of the request's session; `''` without one. */
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
  // Browsers take this prefix only together with Secure, so that nobody on plain http can set the cookie of an https service.
  const name = isSecure ? '__Secure-dashboard' : 'dashboard';
  const attributes = `Path=${pathname.replace(/\/+$/, '')}/dashboard; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return {
    read({ headers }) {
      const cookies = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
      return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
    },
    set: (token) => `${name}=${token}; Max-Age=${lifetimeMs / 1000}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}
