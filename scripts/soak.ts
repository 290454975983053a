/** `node --import=tsx scripts/soak.ts [minutes]`: runs the service in its own process under steady
 *  payments and API reads; prints its memory now and then, and finally the losses. */
import { readFile } from 'node:fs/promises';
import { isReady, keepPaying, openShop, prepareKillable, tally } from '../test/e2e/kill-rounds.js';
import { eventually } from '../test/helpers/service.js';

const minutes = Number(process.argv[2] ?? 10);
const ends: (() => unknown)[] = [];
const t = { teardown: (end: () => unknown) => void ends.unshift(end) };
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const residentMb = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024);
};

try {
  const place = await prepareKillable(t);
  const service = await place.start();
  await eventually(() => isReady(service.url), 'the service is ready', 60_000);
  const shop = await openShop(place, service.url);
  const paying = keepPaying(place, shop, 3);
  const end = Date.now() + minutes * 60_000;
  let reads = 0;
  const reading = (async () => {
    while (Date.now() < end) {
      await place.call(service.url, shop.key, 'GET', '/payments?pageSize=100');
      await fetch(`${service.url}/metrics`).then((response) => response.text());
      reads += 2;
      await sleep(50);
    }
  })();
  const startedMs = Date.now();
  while (Date.now() < end) {
    const mongod = await place.mongodPid();
    console.log(
      `${Math.round((Date.now() - startedMs) / 1000)} s: service ${await residentMb(service.process.pid!)} MB, mongod ${mongod === null ? '-' : await residentMb(mongod)} MB, ` +
        `${paying.hashes.length} payments, ${place.receiver.requests.length} deliveries, ${reads} reads`,
    );
    await sleep(Math.min(30_000, Math.max(0, end - Date.now())));
  }
  await reading;
  console.log(await tally(place, shop, service.url, await paying.stop(), 60_000));
} finally {
  for (const each of ends) await each();
}
process.exit();
