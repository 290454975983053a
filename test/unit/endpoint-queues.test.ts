/** The time that a queue leaves for attempts, told by a clock that is advanced. */
import { pino } from 'pino';
import t from 'tap';
import type { WebhookDoc } from '../../src/stores/webhooks.js';
import { createEndpointQueues } from '../../src/webhooks/endpoint-queues.js';

const [timeoutMs, marginMs] = [3000, 2000];

t.test(
  'nothing starts in a queue that could last longer than its lease, however late the database answers',
  async (t) => {
    let nowMs = 0;
    const queues = createEndpointQueues({
      webhooks: {
        // What is asked for at one moment may be answered much later: the lease counts from the question.
        claimLeases: async ([_id]) => {
          nowMs += 700;
          return { held: [{ _id, status: 'ACTIVE' } as WebhookDoc], paused: [], gone: [] };
        },
        renewLeases: async () => undefined,
        releaseLeases: async () => undefined,
        heldBy: async () => [],
      },
      deliveries: { cancelPending: async () => undefined },
      holder: 'me',
      timeoutMs,
      marginMs,
      log: pino({ level: 'silent' }),
      monotonic: { nowMs: () => nowMs, sleep: async () => undefined },
    });
    await queues.claim(['hook_1']);
    const queue = queues.of('hook_1')!;
    t.ok(queues.mayStart(queue));
    for (; queues.mayStart(queue); nowMs += 1) if (nowMs > 10_000) break;
    const endsMs = timeoutMs + marginMs;
    t.ok(nowMs + timeoutMs < endsMs, `the last start is over ${endsMs - nowMs - timeoutMs} ms before the lease`);
    t.ok(nowMs > 700, 'there was time for something');
  },
);

t.test(
  'a paused webhook whose deliveries stay due is asked for every two seconds, and an active one at once',
  async (t) => {
    let nowMs = 0;
    const asked: string[][] = [];
    const queues = createEndpointQueues({
      webhooks: {
        claimLeases: async (ids) => {
          asked.push([...ids]);
          return { held: [], paused: ids.filter((id) => id === 'hook_paused'), gone: [] };
        },
        renewLeases: async () => undefined,
        releaseLeases: async () => undefined,
        heldBy: async () => [],
      },
      deliveries: { cancelPending: async () => undefined },
      ...{ holder: 'me', timeoutMs, marginMs, log: pino({ level: 'silent' }) },
      monotonic: { nowMs: () => nowMs, sleep: async () => undefined },
    });
    for (; nowMs <= 2000; nowMs += 500) await queues.claim(['hook_active', 'hook_paused']);
    t.same(
      asked.map((ids) => ids.includes('hook_paused')),
      [true, false, false, false, true],
    );
    t.ok(asked.every((ids) => ids.includes('hook_active')));
    t.equal(queues.pausedCount(), 1);
  },
);
