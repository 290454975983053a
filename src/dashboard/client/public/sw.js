/* Caches the till's shell: the page and its files, so that it opens without a network and says so. Answers of the service are never cached. */
const KEPT = 'till-1';
const SCOPE = new URL('./', self.location.href).pathname;
const PAGE = `${SCOPE}pos`;

const isAsset = (url) => url.pathname.startsWith(`${SCOPE}assets/`);

const assetsIn = (text) => [...text.matchAll(/(?:src|href)="([^"]*\/assets\/[^"]+)"/g)].map(([, path]) => path);

/** Caches the page with the files that it names. Files of another build are removed, and cached again on demand. */
async function keepShell(answer) {
  if (!answer.ok) return;
  const kept = await caches.open(KEPT);
  const text = await answer.clone().text();
  const known = await kept.match(PAGE);
  if (known && (await known.text()) === text) return;
  const named = assetsIn(text);
  await kept.addAll(named);
  await kept.put(PAGE, answer);
  const paths = new Set([PAGE, ...named.map((path) => new URL(path, self.location.href).pathname)]);
  for (const request of await kept.keys()) if (!paths.has(new URL(request.url).pathname)) await kept.delete(request);
}

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(fetch(PAGE).then(keepShell));
});

async function dropOthers() {
  for (const name of await caches.keys()) if (name.startsWith('till-') && name !== KEPT) await caches.delete(name);
}

self.addEventListener('activate', (event) => {
  event.waitUntil(Promise.all([self.clients.claim(), dropOthers()]));
});

async function assetOf(request) {
  const kept = await caches.open(KEPT);
  const known = await kept.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) await kept.put(request, answer.clone());
  return answer;
}

/** From the network, so that a new version is seen at once; without a network from the cache. */
async function pageOf(event) {
  try {
    const answer = await fetch(event.request);
    event.waitUntil(keepShell(answer.clone()));
    return answer;
  } catch (error) {
    const known = await (await caches.open(KEPT)).match(PAGE);
    if (known) return known;
    throw error;
  }
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (isAsset(url)) event.respondWith(assetOf(request));
  else if (request.mode === 'navigate' && url.pathname === PAGE) event.respondWith(pageOf(event));
});
