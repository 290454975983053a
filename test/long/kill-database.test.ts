/** MongoDB goes away and comes back. */
import t from 'tap';
import { isReady, keepPaying, NO_FAULTS, openShop, prepareKillable, tally } from '../e2e/kill-rounds.js';
import { eventually } from '../helpers/service.js';

t.test('a MongoDB that hangs makes the service unready and is forgiven when it is back', async (t) => {
  const place = await prepareKillable(t);
  const service = await place.start();
  await eventually(() => isReady(service.url), 'the service is ready', 60_000);
  const shop = await openShop(place, service.url);
  const paying = keepPaying(place, shop);
  await place.receiver.until(() => place.receiver.requests.length > 2, 60_000);

  const pid = (await place.mongodPid())!;
  process.kill(pid, 'SIGSTOP');
  t.teardown(() => {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It has ended.
    }
  });
  const reasons = await eventually(
    async () => {
      const response = await fetch(`${service.url}/health/ready`);
      return response.status === 503 && (await response.text());
    },
    'the service says that it is not ready',
    10_000,
  );
  t.match(reasons, 'MongoDB does not answer');
  t.equal((await fetch(`${service.url}/health/live`)).status, 200, 'it lives');
  const paidBefore = paying.hashes.length;
  await eventually(async () => paying.hashes.length > paidBefore + 4, 'payments continue in that time', 20_000);
  process.kill(pid, 'SIGCONT');
  await eventually(() => isReady(service.url), 'the service is ready again', 30_000);
  const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop());
  t.ok(payments > 4);
  t.same({ ...faults, repeated }, { ...NO_FAULTS, repeated: 0 });
});
