/** The machine's clock is set while the service runs. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const HOUR_MS = 3_600_000;

t.test('a clock that jumps by an hour, forth and back, stops nothing, and nothing is lost or told twice', async (t) => {
  let aheadMs = 0;
  const nowMs = () => Date.now() + aheadMs;
  const service = await startTestService(t, { clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const { link, wallet } = await startSelling(service);
  const events = ['payment.received', 'payment.completed'];
  await service.api('POST', '/webhooks', { name: 'shop', url: `${receiver.origin}/hook`, events });

  const paid: string[] = [];
  const told = () => receiver.requests.map(({ body }) => JSON.parse(body));
  for (const jumpMs of [0, HOUR_MS, -HOUR_MS, -24 * HOUR_MS, 0]) {
    aheadMs = jumpMs;
    const { hash } = await service.context.localLedger!.client.pay({
      to: wallet.address,
      amount: '25',
      memo: link.memo,
    });
    paid.push(hash);
    await eventually(
      async () => told().filter(({ data }) => data.payment.transactionHash === hash).length === 2,
      `what is paid with a clock ${jumpMs / HOUR_MS} h ahead is told`,
    );
    await eventually(
      async () => (await fetch(`${service.url}/health/ready`)).ok,
      `ready with a clock ${jumpMs / HOUR_MS} h ahead`,
    );
  }
  const { data } = await service.api('GET', '/payments');
  t.same(
    data.map(({ transactionHash, status }: Record<string, string>) => ({ transactionHash, status })).reverse(),
    paid.map((transactionHash) => ({ transactionHash, status: 'COMPLETED' })),
  );
  t.equal(told().length, 2 * paid.length, 'each event once');
});
