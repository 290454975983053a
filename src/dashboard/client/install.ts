/** Makes the till installable on a phone: its manifest, and the worker that caches its shell. Called only by the till. */
import { BASE } from './address.js';

export function installTill(): void {
  if (!document.querySelector('link[rel=manifest]')) {
    const link = document.createElement('link');
    link.rel = 'manifest';
    link.href = `${BASE}/pos.webmanifest`;
    document.head.append(link);
  }
  if (!('serviceWorker' in navigator)) return;
  navigator.serviceWorker.register(trusted(`${BASE}/sw.js`), { scope: `${BASE}/` }).catch(() => undefined);
}

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): {
    createScriptURL(url: string): string;
  };
}

/** The page's policy requires trusted types in browsers that support them. */
function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: Policies };
  return trustedTypes?.createPolicy('till', { createScriptURL: (given) => given }).createScriptURL(url) ?? url;
}
