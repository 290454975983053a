/** The table of event kinds, and what follows from a change to a payment. */
import t from 'tap';
import { EVENT_KINDS, EVENT_TYPES, predecessorOf } from '../../contracts/event-kinds.js';
import { eventSchema, webhookPayloadSchema } from '../../contracts/events.js';
import { eventDataExample, eventExample } from '../../contracts/examples.js';
import { PAYMENT_STATUSES, type PaymentStatus } from '../../contracts/payments.js';
import { followingFrom } from '../../src/payments/settle.js';

const MATCHED = PAYMENT_STATUSES.filter((status) => status !== 'UNMATCHED');
const none = { events: [], counted: { payments: 0, received: 0, completed: 0 } };

t.test('what was read from the ledger is received, completed and counted by its status', (t) => {
  const first = (status: PaymentStatus, paymentLinkId: string | null) => followingFrom(null, { status, paymentLinkId });
  t.same(first('COMPLETED', 'link_1'), {
    events: ['payment.received', 'payment.completed'],
    counted: { payments: 1, received: 1, completed: 1 },
  });
  t.same(first('UNDERPAID', 'link_1'), {
    events: ['payment.received'],
    counted: { payments: 1, received: 1, completed: 0 },
  });
  t.same(first('REJECTED', 'link_1'), {
    events: ['payment.received'],
    counted: { payments: 0, received: 1, completed: 0 },
  });
  t.same(first('UNMATCHED', null), none);
  t.end();
});

t.test('an assigned payment has the effects of one that was read with its link', (t) => {
  for (const status of MATCHED) {
    const after = { status, paymentLinkId: 'link_1' };
    t.same(followingFrom({ status: 'UNMATCHED', paymentLinkId: null }, after), followingFrom(null, after), status);
  }
  t.end();
});

t.test('an accepted payment is completed once, and counted if it was not counted before', (t) => {
  const accept = (status: PaymentStatus) =>
    followingFrom({ status, paymentLinkId: 'link_1' }, { status: 'COMPLETED', paymentLinkId: 'link_1' });
  t.same(accept('UNDERPAID'), {
    events: ['payment.completed'],
    counted: { payments: 0, received: 0, completed: 1 },
  });
  t.same(accept('REJECTED'), {
    events: ['payment.completed'],
    counted: { payments: 1, received: 0, completed: 1 },
  });
  t.same(accept('COMPLETED'), none);
  t.end();
});

t.test('whatever the way to a state, its events and counts add up to the same', (t) => {
  const start = { status: 'UNMATCHED', paymentLinkId: null } as const;
  for (const judged of MATCHED) {
    const way = [
      null,
      start,
      { status: judged, paymentLinkId: 'l' },
      { status: 'COMPLETED' as const, paymentLinkId: 'l' },
    ];
    const steps = way.slice(1).map((after, index) => followingFrom(way[index]!, after!));
    t.same(
      steps.flatMap(({ events }) => events),
      ['payment.received', 'payment.completed'],
    );
    t.equal(
      steps.reduce((sum, { counted }) => sum + counted.payments, 0),
      1,
    );
    t.equal(
      steps.reduce((sum, { counted }) => sum + counted.received, 0),
      1,
    );
  }
  t.end();
});

t.test('each kind names its subject, and a predecessor has the same subject and none of its own', (t) => {
  t.equal(EVENT_KINDS['payment.completed'].subject(eventDataExample), eventDataExample.payment.id);
  for (const type of EVENT_TYPES) {
    const before = predecessorOf(type);
    if (!before) continue;
    t.ok(EVENT_TYPES.includes(before));
    t.equal(predecessorOf(before), null, 'no chains');
    t.equal(EVENT_KINDS[before].data, EVENT_KINDS[type].data);
  }
  t.equal(predecessorOf('payment.completed'), 'payment.received');
  t.end();
});

t.test('data has the shape of its kind', (t) => {
  const { createdAt, ...event } = eventExample;
  t.ok(eventSchema.safeParse(eventExample).success);
  t.notOk(eventSchema.safeParse({ ...eventExample, type: 'wallet.gap' }).success);
  t.ok(webhookPayloadSchema.safeParse({ ...event, timestamp: createdAt }).success);
  t.notOk(webhookPayloadSchema.safeParse({ ...event, timestamp: createdAt, type: 'payment.unknown' }).success);
  t.end();
});
