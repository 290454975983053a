/** The URL of a server: what of it is shown, and how requests to it are addressed. Keys may stand in its path, query or user info. */

/** Hosts, with their place in the list where two share one. */
export function labelsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) =>
    hosts.filter((each) => each === host).length > 1 ? `${host} (${index + 1})` : host,
  );
}

interface Endpoint {
  /** Basic authentication, where the URL has user info. */
  headers: Record<string, string>;
  /** @param path begins with `/`; added to the URL's own. */
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
