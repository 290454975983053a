/** Several processes on one database, workers killed: work moves over, and no effect
 *  happens twice. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { startEventReaders } from '../e2e/event-readers.js';
import { isReady, keepPaying, NO_FAULTS, openShop, prepareKillable, type Service, tally } from '../e2e/kill-rounds.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually } from '../helpers/service.js';

/** The watcher's lease. */
const LEASE_MS = 5_000;
/** What a machine may take that has more to do than this. */
const BUSY_MS = 25_000;

t.test(
  'two APIs and three workers, workers killed one after another: work moves over, nothing happens twice, and readers by number see each event once',
  async (t) => {
    const { uri } = await testDatabase(t);
    const place = await prepareKillable(t, { MONGODB_URI: uri, SECRETS_KEY: randomBytes(32).toString('base64') });
    const PORT = String(await freePort());
    const [apis, workers] = await Promise.all([
      Promise.all([place.start({ role: 'api', env: { PORT } }), place.start({ role: 'api' })]),
      Promise.all([place.start({ role: 'worker' }), place.start({ role: 'worker' }), place.start({ role: 'worker' })]),
    ]);
    const [first, second] = apis as [Service, Service];
    for (const { url } of [...apis, ...workers]) await eventually(() => isReady(url), 'every process is ready', 60_000);
    const shop = await openShop(place, first.url);
    const readers = await startEventReaders(t, place, shop, first.url);
    const paying = keepPaying(place, shop);
    await place.receiver.until(() => place.receiver.requests.length > 4, 60_000);

    for (const worker of workers.slice(0, 2)) {
      worker.process.kill('SIGKILL');
      await worker.ended;
      const killedAt = Date.now();
      const before = paying.hashes.length;
      const stored = async () =>
        (await place.call(second.url, shop.key, 'GET', '/payments?pageSize=1')).meta.total as number;
      const paidSince = paying.hashes.length;
      // What is paid from now on can only have been read by a worker that lives.
      await eventually(
        async () => paying.hashes.length > before + 2 && (await stored()) > paidSince + 2,
        'another worker watches',
        LEASE_MS + BUSY_MS,
      );
      t.comment(`work moved over in ${Date.now() - killedAt} ms`);
      await readers.replay();
    }
    t.equal(readers.replays(), 2);
    first.process.kill('SIGKILL');
    await first.ended;
    const again = await place.start({ role: 'api', env: { PORT } });
    await eventually(() => isReady(again.url), 'the API is back', 60_000);
    const { payments, repeated, ...faults } = await tally(place, shop, second.url, await paying.stop());
    t.ok(payments > 5);
    t.same(faults, NO_FAULTS);
    t.same(await readers.faults(), []);
    t.comment(`${payments} payments, ${repeated} deliveries sent again`);

    const survivors = [again, second, workers[2]!];
    for (const { process } of survivors) process.kill('SIGTERM');
    t.same(await Promise.all(survivors.map(({ ended }) => ended)), [0, 0, 0], 'all that live end with 0');
  },
);
