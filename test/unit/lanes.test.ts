/** The time that a lane leaves for attempts, told by a clock that is advanced. */
import { pino } from 'pino';
import t from 'tap';
import type { WebhookDoc } from '../../src/stores/webhooks.js';
import { createLanes } from '../../src/webhooks/lanes.js';

const [timeoutMs, marginMs] = [3000, 2000];

t.test(
  'nothing starts in a lane that could last longer than its lease, however late the database answers',
  async (t) => {
    let nowMs = 0;
    const lanes = createLanes({
      webhooks: {
        // What is asked for at one moment may be answered much later: the lease counts from the question.
        claimLanes: async ([_id]) => {
          nowMs += 700;
          return { held: [{ _id, status: 'ACTIVE' } as WebhookDoc], gone: [] };
        },
        renewLanes: async () => undefined,
        releaseLanes: async () => undefined,
        heldBy: async () => [],
      },
      deliveries: { cancelPending: async () => undefined },
      by: 'me',
      timeoutMs,
      marginMs,
      log: pino({ level: 'silent' }),
      monotonic: { nowMs: () => nowMs, sleep: async () => undefined },
    });
    await lanes.claim(['hook_1']);
    const lane = lanes.of('hook_1')!;
    t.ok(lanes.mayStart(lane));
    for (; lanes.mayStart(lane); nowMs += 1) if (nowMs > 10_000) break;
    const endsMs = timeoutMs + marginMs;
    t.ok(nowMs + timeoutMs < endsMs, `the last start is over ${endsMs - nowMs - timeoutMs} ms before the lease`);
    t.ok(nowMs > 700, 'there was time for something');
  },
);
