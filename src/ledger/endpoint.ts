/** A server's URL: its label, and the addressing of requests. Its path, query and user info may hold keys. */

/** Hosts, numbered by their place in the list where several URLs share one. */
export function labelsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.filter((each) => each === host).length > 1 ? `${host} (${index + 1})` : host,
  );
}

interface Endpoint {
  /** Basic authentication if the URL has user info. */
  headers: Record<string, string>;
  /** @param path begins with `/` and is appended to the URL's own path */
  urlOf(path: string, query?: Record<string, string>): string;
}

export function endpointOf(text: string): Endpoint {
  const base = new URL(text);
  const credentials = [base.username, base.password].map(decodeURIComponent).join(':');
  return {
    headers: credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    urlOf(path, query = {}) {
      const url = new URL(base);
      url.username = '';
      url.password = '';
      url.hash = '';
      url.pathname = base.pathname.replace(/\/+$/, '') + path;
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return url.href;
    },
  };
}
