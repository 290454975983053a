/** Starts the dashboard. */
import './style.css';
import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { Router } from 'wouter-preact';
import { BASE } from './address.js';
import { queryClient } from './api.js';
import { App } from './app.js';

// After an upgrade the files of this build are gone. The page reloads, once for each build; where
// that does not help, what needs the file says so.

const PLACE = 'reloaded';
/** The name of this build's file, which holds the hash of all of it. */
const BUILD = import.meta.url;

function reloadWhenGone(): void {
  addEventListener('vite:preloadError', (event) => {
    // Without a network no file comes, and the page that is there is better than none.
    if (!navigator.onLine || !mayReload()) return;
    event.preventDefault();
    location.reload();
  });
}

/** False where it was done for this build, or could not be noted: it would be done for ever. */
function mayReload(): boolean {
  try {
    if (sessionStorage.getItem(PLACE) === BUILD) return false;
    sessionStorage.setItem(PLACE, BUILD);
    return true;
  } catch {
    return false;
  }
}

// Makes the till installable on a phone: its manifest, and the worker that caches its shell. Called
// only by the till.

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

reloadWhenGone();

render(
  <QueryClientProvider client={queryClient}>
    <Router base={BASE}>
      <App />
    </Router>
  </QueryClientProvider>,
  document.getElementById('app')!,
);
