/** The numbers of events and deliveries, whatever the order, the batches and the clocks. */
import fc from 'fast-check';
import t from 'tap';
import type { EventType } from '../../contracts/event-kinds.js';
import { type NumberedEvent, numberEvents, planOpening, type Subscriber } from '../../src/events/event-numbers.js';

const event = (n: number, more: Partial<NumberedEvent> = {}): NumberedEvent => ({
  _id: `evt_${String(n).padStart(4, '0')}`,
  accountId: 'acct_a',
  type: 'payment.received',
  subjectId: `pay_${n}`,
  sequence: n,
  ...more,
});
const hook = (id: string, more: Partial<Subscriber> = {}): Subscriber => ({
  _id: id,
  accountId: 'acct_a',
  events: ['payment.received', 'payment.completed'],
  openedTo: 0,
  deliverySequence: 0,
  ...more,
});

t.test('each account counts on from its latest number, in the order of the ids', (t) => {
  const batch = [event(3), event(1), event(2, { accountId: 'acct_b' })];
  const numbered = numberEvents(batch, new Map([['acct_a', 7]]));
  t.same(
    numbered.map(({ _id, sequence }) => [_id, sequence]),
    [
      ['evt_0001', 8],
      ['evt_0002', 1],
      ['evt_0003', 9],
    ],
  );
  t.end();
});

t.test('payment.completed comes after its payment.received, whatever the clocks of their processes', (t) => {
  const completed = event(1, { type: 'payment.completed', subjectId: 'pay_x' });
  const received = event(5, { subjectId: 'pay_x' });
  const numbered = numberEvents([completed, event(2), received], new Map());
  t.same(
    numbered.map(({ _id }) => _id),
    [received._id, completed._id, 'evt_0002'],
  );
  t.end();
});

t.test('a webhook gets the kinds that it asked for, of its account, after where it was, and none about itself', (t) => {
  const types: EventType[] = ['payment.received', 'payment.completed', 'payment.received'];
  const events = [
    ...types.map((type, index) => event(index + 1, { type })),
    event(4, { type: 'webhook.paused', subjectId: 'hook_a' }),
    event(1, { accountId: 'acct_b', _id: 'evt_b' }),
  ];
  const all: EventType[] = [...types, 'webhook.paused'];
  const plan = planOpening(
    [
      hook('hook_a', { events: all, openedTo: 1, deliverySequence: 9 }),
      hook('hook_b', { events: ['webhook.paused'] }),
      hook('hook_c', { accountId: 'acct_b', events: ['payment.completed'] }),
    ],
    events,
    { perAccount: 100, inAll: 100 },
  );
  t.same(
    plan.deliveries.map(({ webhookId, event, sequence }) => [webhookId, event.sequence, sequence]),
    [
      ['hook_a', 2, 10],
      ['hook_a', 3, 11],
      ['hook_b', 4, 1],
    ],
  );
  t.same(plan.moves, [
    { webhookId: 'hook_a', from: 1, openedTo: 4, deliverySequence: 11 },
    { webhookId: 'hook_b', from: 0, openedTo: 4, deliverySequence: 1 },
    { webhookId: 'hook_c', from: 0, openedTo: 1, deliverySequence: 0 },
  ]);
  t.end();
});

t.test(
  'batch by batch, every webhook gets every event once, numbered without holes, and every batch is bounded',
  (t) => {
    const kinds = fc.subarray(['payment.received', 'payment.completed'] as EventType[], { minLength: 1 });
    fc.assert(
      fc.property(
        fc.array(kinds, { minLength: 1, maxLength: 6 }),
        fc.array(fc.constantFrom<EventType>('payment.received', 'payment.completed'), { maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        (hooks, types, limit) => {
          const events = types.map((type, index) => event(index + 1, { type }));
          const subscribers = hooks.map((events, index) => hook(`hook_${index}`, { events }));
          const got = new Map<string, [number, number][]>();
          for (let round = 0; ; round++) {
            const plan = planOpening(subscribers, events, { perAccount: limit, inAll: limit });
            if (plan.deliveries.length > limit) return false;
            for (const { webhookId, event, sequence } of plan.deliveries)
              got.set(webhookId, [...(got.get(webhookId) ?? []), [event.sequence, sequence]]);
            for (const { webhookId, openedTo, deliverySequence } of plan.moves)
              Object.assign(subscribers.find(({ _id }) => _id === webhookId)!, { openedTo, deliverySequence });
            if (plan.moves.length === 0) break;
            if (round > 1000) return false;
          }
          return subscribers.every(({ _id, events: wanted }) => {
            const expected = events
              .filter(({ type }) => wanted.includes(type))
              .map((each, n) => [each.sequence, n + 1]);
            return JSON.stringify(got.get(_id) ?? []) === JSON.stringify(expected);
          });
        },
      ),
    );
    t.end();
  },
);
