/** Users of an account: invited, signed in with a passkey in software, and calling like
 *  the dashboard. */

import { createAuthenticator } from './authenticator.js';
import type { TestService } from './service.js';

type Json = any;

export interface Person {
  id: string;
  cookie: string;
  authenticator: ReturnType<typeof createAuthenticator>;
  /** Calls a procedure like the dashboard. */
  call(name: string, isRead: boolean, input?: object): Promise<{ status: number; data: Json; code: string | null }>;
  /** Reads REST under the dashboard's path. */
  get(path: string): Promise<Response>;
}

/** Sends a request like the dashboard's own page. */
export async function post(service: Pick<TestService, 'url'>, path: string, body: object, headers = {}) {
  const answer = await fetch(`${service.url}/dashboard${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const { data, error } = (await answer.json()) as Json;
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? null;
  return { status: answer.status, data, error, cookie };
}

/** @param url of the invitation */
export async function accept(service: Pick<TestService, 'url'>, url: string, authenticator = passkeyFor(url)) {
  const token = url.split('/').at(-1)!;
  const { data } = await post(service, '/invitation/options', { token });
  const answer = await post(service, '/invitation', { token, response: authenticator.register(data.options) });
  return { ...answer, authenticator };
}

export const passkeyFor = (url: string) => createAuthenticator({ origin: new URL(url).origin });

export async function comeIn(service: TestService, role: string, name = role): Promise<Person> {
  const { data: user, error } = await service.api('POST', '/users', { name, role });
  if (error) throw new Error(JSON.stringify(error));
  const { cookie, authenticator, status } = await accept(service, user.url);
  if (!cookie) throw new Error(`not let in: ${status}`);
  return personOf(service, user.id, cookie, authenticator);
}

export function personOf(
  service: Pick<TestService, 'url'>,
  id: string,
  cookie: string,
  authenticator: ReturnType<typeof createAuthenticator>,
): Person {
  return {
    id,
    cookie,
    authenticator,
    async call(name, isRead, input = {}) {
      const json = JSON.stringify(input);
      const base = `${service.url}/dashboard/trpc/${name}`;
      const answer = await (isRead
        ? fetch(`${base}?input=${encodeURIComponent(json)}`, { headers: { cookie } })
        : fetch(base, { method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body: json }));
      const body = (await answer.json()) as Json;
      return {
        status: answer.status,
        data: body.result?.data ?? null,
        code: body.error?.data?.error.code ?? body.error?.code ?? null,
      };
    },
    get: (path) => fetch(`${service.url}/dashboard/api${path}`, { headers: { cookie } }),
  };
}
