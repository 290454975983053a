/** Where the dashboard is opened. Browsers have no passkeys for an address, and every machine calls
 *  itself localhost. */

const OWN_ADDRESS = /^(?:127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/;

/** `PUBLIC_URL`, with localhost instead of an address of this machine. */
export function dashboardUrlOf(publicUrl: string): string {
  const url = new URL(publicUrl);
  if (!OWN_ADDRESS.test(url.hostname)) return publicUrl;
  url.hostname = 'localhost';
  return url.href.replace(/\/$/, '');
}
