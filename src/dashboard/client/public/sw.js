/* Keeps the till's shell: the page and its files, so that it opens without a network and says so. What the service answers is never kept. */
const KEPT = 'till-1';
const SCOPE = new URL('./', self.location.href).pathname;
const PAGE = `${SCOPE}pos`;

const isAsset = (url) => url.pathname.startsWith(`${SCOPE}assets/`);

/** The page with the files that it names. */
async function keepShell() {
  const kept = await caches.open(KEPT);
  const answer = await fetch(PAGE);
  if (!answer.ok) return;
  const text = await answer.clone().text();
  const named = [...text.matchAll(/(?:src|href)="([^"]*\/assets\/[^"]+)"/g)].map(([, path]) => path);
  await kept.addAll(named);
  await kept.put(PAGE, answer);
}

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(keepShell());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(self.clients.claim());
});

async function assetOf(request) {
  const kept = await caches.open(KEPT);
  const known = await kept.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) await kept.put(request, answer.clone());
  return answer;
}

/** From the network, so that a new version is seen at once; else as it was kept. */
async function pageOf(request) {
  try {
    return await fetch(request);
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
  else if (request.mode === 'navigate' && url.pathname === PAGE) event.respondWith(pageOf(request));
});
