/** Reads a SEP-7 request as a wallet would, with the platform's own URL parser. */
export function parsePayUri(uri: string): Record<string, string> {
  const url = new URL(uri);
  if (url.protocol !== 'web+stellar:' || url.pathname !== 'pay') throw new Error(`no payment request: ${uri}`);
  return Object.fromEntries(url.searchParams);
}
