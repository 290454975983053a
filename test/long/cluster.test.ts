/** A sharded cluster whose servers are killed under load: nothing is lost, and nothing
 *  happens twice. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { startEventReaders } from '../e2e/event-readers.js';
import { isReady, keepPaying, NO_FAULTS, openShop, prepareKillable, tally } from '../e2e/kill-rounds.js';
import { testCluster } from '../helpers/cluster.js';
import { freePort } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

t.test(
  'shards, routers and the config server are killed one after another: every payment is stored and told once',
  async (t) => {
    const cluster = await testCluster(t, { routers: 2 });
    const place = await prepareKillable(t, {
      MONGODB_URI: cluster.database().uri,
      SECRETS_KEY: randomBytes(32).toString('base64'),
    });
    const PORT = String(await freePort());
    const service = await place.start({ env: { PORT } });
    await eventually(() => isReady(service.url), 'the service is ready', 120_000);
    const shop = await openShop(place, service.url);
    const readers = await startEventReaders(t, place, shop, service.url);
    const paying = keepPaying(place, shop, 1);
    const paid = async (more: number) => {
      const before = paying.hashes.length;
      await eventually(async () => paying.hashes.length >= before + more, 'payments go on', 60_000);
    };
    for (const server of [...cluster.shards, ...cluster.routers, cluster.config]) {
      await paid(2);
      await server.kill();
      await paid(2);
      await server.start();
      await eventually(() => isReady(service.url), `the service is ready after the death of ${server.name}`, 60_000);
      t.comment(`${server.name} killed, ${paying.hashes.length} payments so far`);
      await readers.replay();
    }
    const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop(), 90_000);
    t.ok(payments >= 20);
    t.same(faults, NO_FAULTS);
    t.same(await readers.faults(), []);
    t.comment(`${payments} payments, ${repeated} deliveries sent again`);
  },
);
