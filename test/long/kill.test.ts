/** The service and its mongod are killed; nothing is lost, nothing is doubled. */
import t from 'tap';
import {
  isReady,
  keepPaying,
  killRounds,
  NO_FAULTS,
  openShop,
  prepareKillable,
  tally,
  WEBHOOK_TIMEOUT_MS,
} from '../e2e/kill-rounds.js';
import { eventually } from '../helpers/service.js';

t.test(
  'SIGKILL of service and mongod at random moments loses, doubles and misjudges no payment, and hides no event',
  async (t) => {
    const { payments, repeated, misread, ...faults } = await killRounds(t, 2);
    t.ok(payments > 0);
    t.same(misread, []);
    t.same(faults, NO_FAULTS);
    t.comment(`${payments} payments, ${repeated} deliveries sent again`);
  },
);

t.test(
  'SIGTERM under load ends with 0 within 10 s, ready false first; what was in flight at a SIGKILL is sent again in time',
  async (t) => {
    const place = await prepareKillable(t);
    const first = await place.start();
    await eventually(() => isReady(first.url), 'the service is ready', 60_000);
    const shop = await openShop(place, first.url);
    place.receiver.behave(() => ({ delayMs: 300 }));
    const paying = keepPaying(place, shop);
    await place.receiver.until(() => place.receiver.requests.length > 5, 60_000);

    const stoppedAt = Date.now();
    first.process.kill('SIGTERM');
    const answers: number[] = [];
    const watching = (async () => {
      while (first.process.exitCode === null) {
        answers.push(
          await fetch(`${first.url}/health/ready`).then(
            ({ status }) => status,
            () => 0,
          ),
        );
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    t.equal(await first.ended, 0, 'exit code');
    await watching;
    t.ok(Date.now() - stoppedAt < 10_000, `within 10 s: ${Date.now() - stoppedAt} ms`);
    const lastGood = answers.lastIndexOf(200);
    t.ok(answers.slice(lastGood + 1).includes(503), 'ready says 503 before the process stops answering');

    const second = await place.start();
    await eventually(() => isReady(second.url), 'the service is ready again', 60_000);
    const hashes = await paying.stop();
    const { payments, repeated, ...faults } = await tally(place, shop, second.url, hashes);
    t.ok(payments > 0);
    t.same({ ...faults, repeated }, { ...NO_FAULTS, repeated: 0 }, 'a graceful stop repeats nothing');

    // An attempt that hangs when the process dies.
    place.receiver.behave(() => ({ trouble: 'hang' }));
    const before = place.receiver.requests.length;
    const { hash } = await place.ledger.pay({ to: shop.wallet.address, amount: '10', memo: shop.link.memo });
    await place.receiver.until(() => place.receiver.requests.length > before);
    const inFlight = JSON.parse(place.receiver.requests[before]!.body);
    t.equal(inFlight.data.payment.transactionHash, hash);
    second.process.kill('SIGKILL');
    await second.ended;
    place.receiver.behave(() => ({}));
    const third = await place.start();
    await eventually(async () => third.output().includes('is ready'), 'the service runs again', 60_000);
    const runningAt = Date.now();
    const again = () =>
      place.receiver.requests.slice(before + 1).find(({ body }) => JSON.parse(body).id === inFlight.id);
    await place.receiver.until(() => again() !== undefined, 60_000);
    const afterMs = again()!.at - runningAt;
    t.ok(afterMs <= WEBHOOK_TIMEOUT_MS + 5000, `sent again ${afterMs} ms after the restart`);
    third.process.kill('SIGTERM');
    t.equal(await third.ended, 0);
  },
);
