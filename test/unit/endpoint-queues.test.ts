/** Which leases a dispatcher takes and gives back, and the time that they leave for attempts, told
 *  by a clock that is advanced. */
import t from 'tap';
import type { LoadedDelivery } from '../../src/webhooks/endpoint-queue.js';
import { EndpointQueues } from '../../src/webhooks/endpoint-queues.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';

const [timeoutMs, marginMs] = [3000, 2000];

type Webhooks = ConstructorParameters<typeof EndpointQueues>[0]['webhooks'];

const leaseOf = (holder: string) => ({ holder, until: new Date(0), lastsMs: timeoutMs + marginMs });
const webhook = (_id: string, changes: Partial<WebhookDoc> = {}) =>
  ({ _id, status: 'ACTIVE', lease: leaseOf('me'), ...changes }) as WebhookDoc;
const numbered = (...numbers: number[]) => numbers.map((n) => `hook_${n}`);

/** Queues by a clock that is advanced. Unless `webhooks` says otherwise, each lease that is asked
 *  for is given. */
const queuesBy = (nowMs: () => number, webhooks: Partial<Webhooks> = {}, maxQueues?: number) =>
  new EndpointQueues({
    webhooks: {
      takeLeases: async () => undefined,
      renewLeases: async () => undefined,
      wantLeases: async () => undefined,
      byIds: async (ids) => ids.map((id) => webhook(id)),
      releaseLeases: async () => undefined,
      ...webhooks,
    },
    deliveries: { cancelPending: async () => undefined },
    ...{ holder: 'me', timeoutMs, marginMs, maxQueues },
    monotonic: { nowMs, sleep: async () => undefined },
  });

const idsOf = (queues: EndpointQueues) => queues.all().map((queue) => queue.webhook._id);

t.test('no attempt starts that could outlast its lease, however late the database answers', async (t) => {
  let nowMs = 0;
  const queues = queuesBy(() => nowMs, {
    // The lease counts from the question, however much later the answer comes.
    takeLeases: async () => {
      nowMs += 700;
    },
  });
  await queues.claim(['hook_1']);
  const queue = queues.of('hook_1')!;
  t.ok(queues.mayStart(queue));
  for (; queues.mayStart(queue); nowMs += 1) if (nowMs > 10_000) break;
  const endsMs = timeoutMs + marginMs;
  t.ok(nowMs + timeoutMs < endsMs, `the last start is over ${endsMs - nowMs - timeoutMs} ms before the lease`);
  t.ok(nowMs > 700, 'there was time for something');

  nowMs = 10_000;
  await queues.renew();
  t.ok(queues.mayStart(queue), 'a renewed lease lasts longer');
});

t.test('a lease that another dispatcher took is not taken for renewed', async (t) => {
  let lease = leaseOf('me');
  const queues = queuesBy(() => 0, { byIds: async (ids) => ids.map((id) => webhook(id, { lease })) });
  await queues.claim(['hook_1']);
  const queue = queues.of('hook_1')!;
  queue.leaseEndsMs = 0;
  lease = leaseOf('other');
  await queues.renew();
  t.match(queue, { stopped: true, leaseEndsMs: 0 });
});

t.test(
  'a paused webhook whose deliveries stay due is asked for every two seconds, and an active one at once',
  async (t) => {
    let nowMs = 0;
    const asked: string[][] = [];
    const queues = queuesBy(() => nowMs, {
      byIds: async (ids) => {
        asked.push([...ids]);
        return ids.map((id) =>
          id === 'hook_paused' ? webhook(id, { status: 'PAUSED' }) : webhook(id, { lease: null }),
        );
      },
    });
    const looks: string[][] = [];
    for (; nowMs <= 2000; nowMs += 500) {
      await queues.claim(['hook_active', 'hook_paused']);
      looks.push(asked.splice(0).flat());
    }
    t.same(
      looks.map((ids) => ids.includes('hook_paused')),
      [true, false, false, false, true],
    );
    t.ok(looks.every((ids) => ids.includes('hook_active')));
    nowMs = 3500;
    t.equal(queues.untilClaimableMs(), 500);
  },
);

t.test('half of the webhooks are claimed at a time, the other half where others have the first', async (t) => {
  let theirs: string[] = [];
  const queues = queuesBy(() => 0, {
    byIds: async (ids) => ids.map((id) => webhook(id, theirs.includes(id) ? { lease: null } : {})),
  });
  const due = numbered(1, 2, 3, 4, 5);
  t.equal(await queues.claim(due), true, 'there is more');
  t.same(idsOf(queues), numbered(1, 2, 3));
  theirs = numbered(4);
  t.equal(await queues.claim(due), false);
  t.same(idsOf(queues), numbered(1, 2, 3, 5));
  t.equal(await queues.claim(due), false, 'webhooks of other dispatchers are not asked for again and again');
});

t.test('what was read later stands, in whatever order the database answers', async (t) => {
  const answers: ((found: WebhookDoc[]) => void)[] = [];
  const queues = queuesBy(() => 0, { byIds: () => new Promise((resolve) => answers.push(resolve)) });
  const claimed = queues.claim(['hook_1']);
  await new Promise(setImmediate);
  answers.shift()!([webhook('hook_1', { url: 'claimed' })]);
  await claimed;
  const [queue] = queues.all();
  const refreshed = [queues.refresh([queue!]), queues.refresh([queue!])];
  answers[1]!([webhook('hook_1', { url: 'rotated' })]);
  await refreshed[1];
  t.equal(queue!.webhook.url, 'rotated');
  answers[0]!([webhook('hook_1', { url: 'before' })]);
  await refreshed[0];
  t.match(queue, { stopped: false, webhook: { url: 'rotated' } });

  const paused = queues.refresh([queue!]);
  answers[2]!([webhook('hook_1', { url: 'rotated', status: 'PAUSED' })]);
  await paused;
  t.ok(queue!.stopped);
});

/** A delivery that waits for nothing but a free slot. */
const readyFor = (webhookId: string) =>
  ({
    delivery: { _id: `del_${webhookId}`, webhookId, attemptCount: 1, isReplayed: false },
    body: null,
  }) as LoadedDelivery;

/** One look of a dispatcher: which leases it has after it. */
const look = async (queues: EndpointQueues, due: string[]) => {
  queues.endTurns();
  await queues.release(queues.all().filter(({ stopped }) => stopped));
  while (await queues.claim(due));
  return idsOf(queues);
};

t.test('with more webhooks than leases, each has its turn, however much is due for those before it', async (t) => {
  let nowMs = 0;
  const queues = queuesBy(() => nowMs, {}, 2);
  const due = numbered(1, 2, 3, 4, 5);
  t.same(await look(queues, due), numbered(1, 2));
  nowMs = 4999;
  t.same(await look(queues, due), numbered(1, 2), 'not before their time is over');
  nowMs = 5000;
  t.same(await look(queues, due), numbered(2, 3));
  nowMs = 10_000;
  t.same(await look(queues, due), numbered(3, 4));
  nowMs = 15_000;
  t.same(await look(queues, due), numbered(4, 5));
  nowMs = 20_000;
  t.same(await look(queues, due), numbered(5, 1), 'none is passed over');

  await look(queues, numbered(1, 5));
  nowMs = 60_000;
  t.same(await look(queues, numbered(1, 5)), numbered(5, 1), 'where none waits, both are kept');
});

t.test('leases that another dispatcher wants are left to it after their turn, at most half of all', async (t) => {
  let nowMs = 0;
  let wanted = numbered(1, 2, 3, 4, 5);
  const released: string[] = [];
  const queues = queuesBy(() => nowMs, {
    byIds: async (ids) => ids.map((id) => webhook(id, { lease: { ...leaseOf('me'), isWanted: wanted.includes(id) } })),
    releaseLeases: async (ids) => void released.push(...ids),
  });
  const due = numbered(1, 2, 3, 4, 5, 6);
  await look(queues, due);
  // All that the second one has is in flight, and may hang: the other dispatcher would win nothing.
  for (const queue of queues.all()) queue.offer(readyFor(queue.webhook._id));
  queues.of('hook_2')!.take(2);
  nowMs = 4999;
  t.same(await look(queues, due), due, 'not before their time is over');
  nowMs = 5000;
  t.same(await look(queues, due), numbered(2, 5, 6));
  t.same(released, numbered(1, 3, 4));
  t.equal(queues.untilClaimableMs(), 600);
  nowMs = 5599;
  t.same(await look(queues, due), numbered(2, 5, 6), 'there is time to take them');
  nowMs = 5600;
  wanted = [];
  t.same(await look(queues, due), numbered(2, 5, 6, 1, 3, 4), 'which the other one did not');
  nowMs = 60_000;
  await queues.renew();
  t.same((await look(queues, due)).length, 6, 'a lease that none wants is kept');
});

t.test('a dispatcher with nothing to send wants half of what others have', async (t) => {
  const wanted: string[] = [];
  let holder = 'other';
  const queues = queuesBy(() => 0, {
    wantLeases: async (ids) => void wanted.push(...ids),
    byIds: async (ids) => ids.map((id) => webhook(id, { lease: leaseOf(holder) })),
  });
  t.equal(await queues.claim(numbered(1, 2, 3, 4, 5)), false);
  t.same(wanted, numbered(2, 4));
  await queues.claim(['hook_6']);
  t.same(wanted, numbered(2, 4), 'the only webhook of another is left to it');
  holder = 'me';
  await queues.claim(['hook_7']);
  holder = 'other';
  await queues.claim(numbered(1, 2, 3, 4, 5, 7));
  t.same(wanted, numbered(2, 4), 'with something to send it wants none');
});

t.test('deliveries of a webhook that is gone are cancelled', async (t) => {
  const cancelled: string[] = [];
  const queues = new EndpointQueues({
    webhooks: {
      takeLeases: async () => undefined,
      renewLeases: async () => undefined,
      wantLeases: async () => undefined,
      byIds: async () => [],
      releaseLeases: async () => undefined,
    },
    deliveries: { cancelPending: async (ids) => void cancelled.push(...ids) },
    ...{ holder: 'me', timeoutMs, marginMs },
  });
  await queues.claim(['hook_1']);
  t.same(cancelled, ['hook_1']);
});
