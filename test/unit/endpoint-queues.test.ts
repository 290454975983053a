/** Which leases a dispatcher asks for and gives back, and the time that they leave for attempts, told by a clock that is advanced. */
import { pino } from 'pino';
import t from 'tap';
import { systemClock } from '../../src/clock.js';
import type { WebhookDoc } from '../../src/stores/webhooks.js';
import { createEndpointQueues } from '../../src/webhooks/endpoint-queues.js';

const [timeoutMs, marginMs] = [3000, 2000];

type Deps = Parameters<typeof createEndpointQueues>[0];

/** Queues by a clock that is advanced, whose leases are given as `webhooks` says. */
const queuesBy = (
  nowMs: () => number,
  webhooks: Pick<Deps['webhooks'], 'claimLeases'> & Partial<Deps['webhooks']>,
  { maxQueues, due = () => 0 }: { maxQueues?: number; due?: () => number } = {},
) =>
  createEndpointQueues({
    webhooks: {
      countClaimable: async (ids) => ids.length,
      renewLeases: async () => undefined,
      releaseLeases: async () => undefined,
      askForLeases: async () => undefined,
      askedFor: async () => [],
      heldBy: async () => [],
      ...webhooks,
    },
    deliveries: { cancelPending: async () => undefined, countDue: async (_ids, _now, limit) => Math.min(due(), limit) },
    clock: systemClock,
    ...{ holder: 'me', timeoutMs, marginMs, maxQueues, log: pino({ level: 'silent' }) },
    monotonic: { nowMs, sleep: async () => undefined },
  });

t.test(
  'nothing starts in a queue that could last longer than its lease, however late the database answers',
  async (t) => {
    let nowMs = 0;
    const queues = queuesBy(() => nowMs, {
      // What is asked for at one moment may be answered much later: the lease counts from the question.
      claimLeases: async ([_id]) => {
        nowMs += 700;
        return { held: [{ _id, status: 'ACTIVE' } as WebhookDoc], paused: [], gone: [], leased: new Map() };
      },
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
    const queues = queuesBy(() => nowMs, {
      claimLeases: async (ids) => {
        asked.push([...ids]);
        return { held: [], paused: ids.filter((id) => id === 'hook_paused'), gone: [], leased: new Map() };
      },
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

t.test(
  'with nothing to do, half of what the busiest has is asked for, in time, and not again while it answers',
  async (t) => {
    let nowMs = 0;
    const asked: { atMs: number; ids: readonly string[]; from: string }[] = [];
    let leased = new Map([
      ['small', ['hook_1', 'hook_2']],
      ['busy', ['hook_3', 'hook_4', 'hook_5', 'hook_6', 'hook_7']],
    ]);
    let held: WebhookDoc[] = [];
    const queues = queuesBy(() => nowMs, {
      claimLeases: async () => ({ held, paused: [], gone: [], leased }),
      askForLeases: async (ids, from) => void asked.push({ atMs: nowMs, ids, from }),
    });
    const look = async (untilMs: number) => {
      for (; nowMs <= untilMs; nowMs += 50) await queues.claim([...leased.values()].flat());
    };
    await look(150);
    t.same(asked, [], 'what is sent quickly stays where it is');
    await look(1500);
    t.same(asked, [{ atMs: 200, ids: ['hook_4', 'hook_6'], from: 'busy' }]);
    await look(2500);
    t.equal(asked.length, 2, 'a dead one is asked again');

    leased = new Map([['busy', ['hook_3']]]);
    await look(6000);
    t.equal(asked.length, 2, 'the only webhook of another is left to it');

    leased = new Map([['busy', ['hook_3', 'hook_4']]]);
    held = [{ _id: 'hook_5', status: 'ACTIVE' } as WebhookDoc];
    await look(9000);
    t.equal(asked.length, 2, 'nobody asks who has something to send');
  },
);

t.test('where much is due, half of it is asked for at the first look', async (t) => {
  let nowMs = 0;
  let due = 511;
  const asked: number[] = [];
  const queues = queuesBy(
    () => nowMs,
    {
      claimLeases: async (ids) => ({ held: [], paused: [], gone: [], leased: new Map([['busy', [...ids]]]) }),
      askForLeases: async () => void asked.push(nowMs),
    },
    { due: () => due },
  );
  const look = () => queues.claim(['hook_1', 'hook_2']);
  await look();
  t.same(asked, [], 'others have this much in flight');
  t.notOk(queues.expectsLeases());
  due = 512;
  await look();
  t.same(asked, [0]);
  t.ok(queues.expectsLeases(), 'the next look comes soon');
  nowMs = 500;
  t.notOk(queues.expectsLeases(), 'but not for ever, when nobody answers');
});

t.test('a lease that is being released is not claimed before that is over, whether it was done or not', async (t) => {
  let answer: (error: Error) => void = () => undefined;
  const claimed: string[] = [];
  const queues = queuesBy(() => 0, {
    claimLeases: async (ids) => {
      claimed.push(...ids);
      return { held: ids.map((_id) => ({ _id }) as WebhookDoc), paused: [], gone: [], leased: new Map() };
    },
    releaseLeases: () => new Promise((_, reject) => (answer = reject)),
  });
  await queues.claim(['hook_1']);
  const released = queues.release(queues.all());
  await queues.claim(['hook_1', 'hook_2']);
  t.same(claimed, ['hook_1', 'hook_2']);
  answer(new Error('away'));
  await t.rejects(released);
  await queues.claim(['hook_1']);
  t.same(claimed, ['hook_1', 'hook_2', 'hook_1']);
});

t.test('what was read later stands, in whatever order the database answers', async (t) => {
  const webhook = (url: string) => ({ _id: 'hook_1', status: 'ACTIVE', url }) as WebhookDoc;
  const answers: ((found: WebhookDoc[]) => void)[] = [];
  const queues = queuesBy(() => 0, {
    claimLeases: async () => ({ held: [webhook('claimed')], paused: [], gone: [], leased: new Map() }),
    heldBy: () => new Promise((resolve) => answers.push(resolve)),
  });
  await queues.claim(['hook_1']);
  const [queue] = queues.all();
  const refreshed = [queues.refresh([queue!]), queues.refresh([queue!])];
  answers[1]!([webhook('rotated')]);
  await refreshed[1];
  t.equal(queue!.webhook.url, 'rotated');
  answers[0]!([webhook('before')]);
  t.same(await refreshed[0], [queue], 'it is held all the same');
  t.equal(queue!.webhook.url, 'rotated');

  const paused = queues.refresh([queue!]);
  answers[2]!([{ ...webhook('rotated'), status: 'PAUSED' }]);
  await paused;
  t.ok(queue!.stopped);
});

t.test('with more webhooks than leases, each has its turn, however much is due for those before it', async (t) => {
  let nowMs = 0;
  const all = ['hook_1', 'hook_2', 'hook_3', 'hook_4', 'hook_5'];
  const queues = queuesBy(
    () => nowMs,
    {
      claimLeases: async (ids) => {
        const held = ids.map((_id) => ({ _id, status: 'ACTIVE' }) as WebhookDoc);
        return { held, paused: [], gone: [], leased: new Map() };
      },
    },
    { maxQueues: 2 },
  );
  const held = () => queues.all().map(({ webhook }) => webhook._id);
  const round = async (due: string[]) => {
    await queues.endTurns();
    await queues.release(queues.all().filter(({ stopped }) => stopped));
    await queues.claim(due);
    return held();
  };
  t.same(await round(all), ['hook_1', 'hook_2']);
  nowMs = 4999;
  t.same(await round(all), ['hook_1', 'hook_2'], 'not before their time is over');
  nowMs = 5000;
  t.same(await round(all), ['hook_3', 'hook_4']);
  nowMs = 10_000;
  t.same(await round(all), ['hook_5', 'hook_1'], 'nobody is passed over');
  nowMs = 15_000;
  t.same(await round(['hook_1', 'hook_2', 'hook_5']), ['hook_2', 'hook_5']);
  await round(['hook_2', 'hook_5']);
  nowMs = 60_000;
  const kept = queues.all();
  await round(['hook_2', 'hook_5']);
  t.ok(
    queues.all().every((queue, index) => queue === kept[index]),
    'those that leave nobody out are kept',
  );
});

t.test('a turn ends only for a webhook that can take the lease', async (t) => {
  let nowMs = 0;
  let claimable = 0;
  const asked: (readonly string[])[] = [];
  const queues = queuesBy(
    () => nowMs,
    {
      claimLeases: async (ids) => {
        const held = ids.map((_id) => ({ _id, status: 'ACTIVE' }) as WebhookDoc);
        return { held, paused: [], gone: [], leased: new Map() };
      },
      countClaimable: async (ids, limit) => {
        asked.push(ids);
        return Math.min(claimable, limit);
      },
    },
    { maxQueues: 3 },
  );
  const due = ['hook_1', 'hook_2', 'hook_3', 'hook_4', 'hook_5'];
  await queues.claim(due);
  const ended = async () => {
    await queues.endTurns();
    return queues.all().filter(({ stopped }) => stopped).length;
  };
  t.equal(await ended(), 0);
  t.same(asked, [], 'nobody asks before a turn is over');
  nowMs = 5000;
  t.equal(await ended(), 0, 'those that are left out are paused, or held by another dispatcher');
  t.same(asked, [['hook_4', 'hook_5']]);
  claimable = 1;
  nowMs = 5999;
  t.equal(await ended(), 0, 'nobody asks in each round');
  nowMs = 6000;
  t.equal(await ended(), 1);
  nowMs = 7000;
  t.equal(await ended(), 1, 'its lease is on the way already');
});
