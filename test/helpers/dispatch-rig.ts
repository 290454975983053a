/** A dispatcher on a real MongoDB with a sequencer, and a real HTTPS endpoint to send to. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { Test } from 'tap';
import type { EventType } from '../../contracts/event-kinds.js';
import { mask, newWebhookSecret } from '../../src/domain/signature.js';
import type { EventDoc } from '../../src/events/event-store.js';
import { createOutbox } from '../../src/events/outbox.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { type Clock, type MonotonicClock, monotonicClock, systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createStores } from '../../src/stores.js';
import type { DeliveryDoc, DeliveryStore } from '../../src/webhooks/delivery-store.js';
import { createDispatcher, type DispatcherDeps, type DispatchSettings } from '../../src/webhooks/dispatch.js';
import { createPause } from '../../src/webhooks/health.js';
import { createPoster } from '../../src/webhooks/poster.js';
import type { WebhookDoc, WebhookStore } from '../../src/webhooks/webhook-store.js';
import { testDatabase } from './mongo.js';
import { type Behave, type Received, startReceiver, testAuthority } from './receiver.js';

export const HOUR_MS = 3_600_000;
export const log = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Real time, that can be put forward. */
const movableClock = () => {
  let offsetMs = 0;
  const clock: Clock & { advance(ms: number): void } = {
    ...systemClock,
    nowMs: () => Date.now() + offsetMs,
    now: () => new Date(Date.now() + offsetMs),
    advance: (ms) => {
      offsetMs += ms;
    },
  };
  return clock;
};

export const SETTINGS: DispatchSettings = {
  timeoutMs: 20_000,
  retryBaseMs: 60_000,
  maxAttempts: 4,
  pollMs: 25,
  leaseMarginMs: 600,
};

export const rig = async (t: Test, behave: Behave = () => ({})) => {
  const { uri } = await testDatabase(t);
  const database = await connectDatabase(uri);
  t.teardown(() => database.close());
  const clock = movableClock();
  const newId = createIds(clock);
  const stores = createStores(database.connection, { newId, clock });
  const { webhooks, events, deliveries } = stores.system;
  await stores.ensureIndexes();
  const newSequencer = (opening: Pick<DeliveryStore, 'open'> = deliveries) =>
    createSequencer({
      ...stores.system,
      ...{ clock, log, deliveries: opening },
      transaction: database.transaction,
      holder: 'test',
      deliveriesDue: () => undefined,
    });
  const sequencer = newSequencer();
  const pause = createPause({
    webhooks,
    outbox: createOutbox({ events, newId }),
    ...{ activities: stores.system.activities, newId },
    transaction: database.transaction,
    eventsStored: () => undefined,
  });
  const key = randomBytes(32);
  const secrets = createSecretBox(key, clock);
  const receiver = await startReceiver({ behave });
  t.teardown(() => receiver.close());
  const { cert } = await testAuthority();

  const newPoster = (timeoutMs = SETTINGS.timeoutMs) => {
    const poster = createPoster({ allowPrivate: true, timeoutMs, clock, developmentCa: () => cert });
    t.teardown(() => poster.close());
    return poster;
  };
  const accountId = newId('acct');
  const secretOf = new Map<string, string>();

  return {
    ...{
      uri,
      key,
      database,
      clock,
      newId,
      webhooks,
      events,
      deliveries,
      pause,
      secrets,
      receiver,
      accountId,
      secretOf,
    },
    newPoster,
    forAccount: stores.forAccount,
    own: stores.forAccount(accountId),
    /** Runs until the test ends or `stop` is called. */
    dispatch(
      changes: Partial<DispatchSettings> = {},
      deps: Partial<
        Pick<DispatcherDeps, 'webhooks' | 'deliveries' | 'events' | 'pause' | 'signers' | 'monotonic'>
      > = {},
    ) {
      const settings = { ...SETTINGS, ...changes };
      const poster = newPoster(settings.timeoutMs);
      const ending = new AbortController();
      const dispatcher = createDispatcher({
        ...{ webhooks, deliveries, events, pause, poster, secrets, clock, log, settings },
        ...deps,
      });
      const running = dispatcher.drain(ending.signal);
      const stop = async () => {
        ending.abort();
        await running;
      };
      t.teardown(stop);
      return { stop, wake: dispatcher.wake };
    },
    async webhook(path: string, changes: Partial<WebhookDoc> = {}): Promise<WebhookDoc> {
      const secret = newWebhookSecret(clock);
      const _id = newId('hook');
      secretOf.set(_id, secret);
      const webhook: WebhookDoc = {
        _id,
        accountId,
        name: path,
        url: receiver.origin + path,
        events: ['payment.received', 'payment.completed'],
        status: 'ACTIVE',
        secretMasked: mask(secret),
        secrets: [{ sealed: secrets.seal(secret, _id), until: null }],
        failingSince: null,
        openedTo: await stores.forAccount(changes.accountId ?? accountId).eventCounters.last(),
        deliverySequence: 0,
        lease: null,
        createdAt: clock.now(),
        ...changes,
      };
      await stores.forAccount(webhook.accountId).webhooks.insert(webhook);
      return webhook;
    },
    eventsOf(paymentIds: string[], types: EventType[], owner = accountId): EventDoc[] {
      return paymentIds.flatMap((paymentId) =>
        types.map((type) => ({
          _id: newId('evt'),
          accountId: owner,
          type,
          subjectId: paymentId,
          occurrence: '',
          sequence: 0,
          data: JSON.stringify({ payment: { id: paymentId, amount: '10.5', memo: 'ünïcode ✓' } }),
          createdAt: clock.now(),
        })),
      );
    },
    ...{ sequencer, newSequencer },
    /** Stores events and opens their deliveries. */
    async publish(docs: EventDoc[]): Promise<void> {
      await database.transaction((session) => events.insert(docs, session));
      while (await sequencer.round());
    },
    all: () => database.connection.collection<DeliveryDoc>('deliveries').find().sort({ _id: 1 }).toArray(),
    delivered: () => database.connection.collection('deliveries').countDocuments({ status: 'DELIVERED' }),
    /** Resolves when the deliveries are as `check` wants them. */
    async settled(check: (all: DeliveryDoc[]) => boolean, ms = 30_000): Promise<DeliveryDoc[]> {
      for (const end = Date.now() + ms; ; ) {
        const all = await this.all();
        if (check(all)) return all;
        if (Date.now() > end) throw new Error(`not so: ${JSON.stringify(all.filter(isOpen).slice(0, 5))}`);
        await systemClock.sleep(15);
      }
    },
  };
};

export type Rig = Awaited<ReturnType<typeof rig>>;

/** What the recorder gathers, it gathers for longer. */
export const gathering: MonotonicClock['sleep'] = (ms, signal) => monotonicClock.sleep(ms === 10 ? 300 : ms, signal);

/** A store that takes a lease once and, while the database is away, renews none. */
export const unrenewable = (webhooks: WebhookStore, isAway = () => true): WebhookStore => {
  let isTaken = false;
  return {
    ...webhooks,
    async takeLeases(...args) {
      if (isTaken && isAway()) throw new Error('the database is away');
      isTaken = true;
      await webhooks.takeLeases(...args);
    },
    async renewLeases(...args) {
      if (isAway()) throw new Error('the database is away');
      await webhooks.renewLeases(...args);
    },
  };
};

export const payments = (count: number, name = 'pay') =>
  Array.from({ length: count }, (_, index) => `${name}_${index}`);
export const eventIdOf = (request: Received) => request.headers['webhook-id']!;
export const isDelivered = ({ status }: DeliveryDoc) => status === 'DELIVERED';
export const isOpen = (each: DeliveryDoc) => !isDelivered(each);

/** At each path the first attempt of a payment's `received` was answered before its
 *  `completed` began. */
export const inOrder = (t: Test, r: Rig, events: EventDoc[], delayMs: number) => {
  const eventOf = new Map(events.map((event) => [event._id, event]));
  const received = new Map<string, number>();
  let wrong = 0;
  for (const request of r.receiver.requests) {
    const { type, subjectId } = eventOf.get(eventIdOf(request))!;
    const key = `${request.path} ${subjectId}`;
    if (type === 'payment.received') received.set(key, received.get(key) ?? request.at);
    else if (!(request.at >= (received.get(key) ?? Number.POSITIVE_INFINITY) + delayMs - 2)) wrong += 1;
  }
  t.equal(wrong, 0, 'no payment.completed before its payment.received');
};
