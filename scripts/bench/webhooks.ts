/** Webhooks: waiting deliveries signed, sent and recorded, compared with BullMQ and with a bare
 *  loop, all to the same HTTPS endpoint, each in its own processes. */
import { once } from 'node:events';
import { pino } from 'pino';
import { generate } from 'selfsigned';
import { newWebhookSecret } from '../../src/domain/signature.js';
import type { EventDoc } from '../../src/events/event-store.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { toBody } from '../../src/webhooks/poster.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';
import { sampleEvent } from '../../src/webhooks/webhooks.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { testAuthority } from '../../test/helpers/receiver.js';
import { openStoresOn } from '../../test/helpers/stores.js';
import { startQueueing } from './bullmq.js';
import { type CpuShare, confine } from './cpu-share.js';
import { startProgram } from './program.js';
import type { Row, Section } from './report.js';
import { cpuMsOf, createScope, median, type Scope, timed } from './scope.js';
import type { Order, SenderPlan } from './sender.js';

const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 10_000);
const ROUNDS = Number(process.env.BENCH_WEBHOOK_ROUNDS ?? 3);
/** Concurrent requests of each side: the service's limit for one endpoint. */
const AT_ONCE = 32;
/** Share of a core for each sender, so that MongoDB and the endpoint have as much CPU as
 *  they need. */
const SHARE = Number(process.env.BENCH_CPU_SHARE ?? 0.4);
const SECRETS_KEY = Buffer.alloc(32, 7);

const clock = systemClock;
const newId = createIds(clock);
const secrets = createSecretBox(SECRETS_KEY, clock);
const sample = () => sampleEvent(newId, clock.now(), 'https://pay.example');

async function startEndpoint(scope: Scope) {
  const authority = await testAuthority();
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: authority,
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const certificate = JSON.stringify({ key: made.private, cert: made.cert });
  const { child, line: port } = await startProgram(scope, './endpoint.ts', certificate);
  return {
    url: `https://127.0.0.1:${port}/hook`,
    ca: authority.cert,
    pid: child.pid!,
    /** Resets the count. @returns a promise of `count` requests */
    async expect(count: number) {
      child.send(count);
      await once(child, 'message');
      return { all: once(child, 'message') };
    },
  };
}

function makeWebhook(url: string): WebhookDoc {
  const _id = newId('hook');
  const sealed = secrets.seal(newWebhookSecret(clock), _id);
  return {
    _id,
    accountId: newId('acct'),
    name: 'Hook',
    url,
    events: ['payment.completed'],
    status: 'ACTIVE',
    secretMasked: '',
    secrets: [{ sealed, until: null }],
    failingSince: null,
    openedTo: 0,
    deliverySequence: 0,
    lease: null,
    createdAt: clock.now(),
  };
}

/** Starts senders of one kind. */
async function startSenders(scope: Scope, count: number, plan: SenderPlan) {
  const children = await Promise.all(
    Array.from({ length: count }, async () => (await startProgram(scope, './sender.ts', JSON.stringify(plan))).child),
  );
  const shares: CpuShare[] = [];
  return {
    /** @throws when processes cannot be confined */
    limitTo(share: number | null): void {
      if (shares.length === 0 && share === null) return;
      for (const { pid } of shares.length === 0 ? children : []) shares.push(confine(`${plan.kind}-${pid}`, [pid!]));
      for (const each of shares) each.limitTo(share);
    },
    cpuMs: () => children.reduce((sum, { pid }) => sum + cpuMsOf(pid!), 0),
    begin(workers: number, order: Omit<Extract<Order, { begin: true }>, 'begin'>): () => Promise<unknown> {
      const some = children.slice(0, workers);
      for (const child of some) child.send({ begin: true, ...order } satisfies Order);
      return () =>
        Promise.all(
          some.map((child) => {
            const stopped = once(child, 'message');
            child.send({ begin: false } satisfies Order);
            return stopped;
          }),
        );
    },
  };
}

/** Waiting deliveries, spread evenly over endpoints and accounts. */
interface Waiting {
  accounts: number;
  endpoints: number;
}
const ONE_ENDPOINT: Waiting = { accounts: 1, endpoints: 1 };
const EIGHT: Waiting = { accounts: 8, endpoints: 8 };
const AN_ENDPOINT_EACH: Waiting = { accounts: DELIVERIES / 100, endpoints: DELIVERIES };

interface Run {
  perSecond: number;
  /** Milliseconds of CPU for each delivery: in all senders, and in MongoDB. */
  cpu: { senders: number; mongo: number };
}

/** One way of sending. */
interface Side {
  limitTo(share: number | null): void;
  run(workers: number, waiting: Waiting): Promise<Run>;
}

type Scene = Awaited<ReturnType<typeof openScene>>;

/** Shared by all sides: the endpoint, MongoDB, and the CPU that they use. */
async function openScene(scope: Scope) {
  const endpoint = await startEndpoint(scope);
  const { uri, db } = await testDatabase(scope);
  const { stores, transaction } = await openStoresOn(scope, uri);
  const queueing = await startQueueing(scope).catch((error: Error) => error);
  const { pid: mongoPid } = await db.admin().serverStatus();
  const plan = (kind: SenderPlan['kind']): SenderPlan => ({
    kind,
    uri,
    secretsKey: SECRETS_KEY.toString('base64'),
    ca: endpoint.ca,
    webhook: makeWebhook(endpoint.url),
    atOnce: AT_ONCE,
    bullmq: queueing instanceof Error ? null : { folder: queueing.folder, connection: queueing.connection },
  });
  /** Sends the waiting deliveries until the last one is recorded. */
  async function send(
    senders: Awaited<ReturnType<typeof startSenders>>,
    { begin, isOver }: { begin: () => () => Promise<unknown>; isOver: () => Promise<boolean> },
  ): Promise<Run> {
    const { all } = await endpoint.expect(DELIVERIES);
    const before = { senders: senders.cpuMs(), mongo: cpuMsOf(mongoPid) };
    let end = async (): Promise<unknown> => undefined;
    const tookMs = await timed(async () => {
      end = begin();
      await all;
      while (!(await isOver()));
    });
    const cpu = {
      senders: (senders.cpuMs() - before.senders) / DELIVERIES,
      mongo: (cpuMsOf(mongoPid) - before.mongo) / DELIVERIES,
    };
    await end();
    return { perSecond: DELIVERIES / (tookMs / 1000), cpu };
  }
  return { scope, endpoint, db, stores: stores.system, transaction, queueing, plan, send };
}

async function openOurs({ scope, endpoint, db, stores, transaction, plan, send }: Scene): Promise<Side> {
  const sequencer = createSequencer({
    ...stores,
    transaction,
    holder: 'bench',
    clock,
    log: pino({ level: 'silent' }),
    deliveriesDue: () => undefined,
  });

  /** Makes new endpoints with waiting deliveries. */
  async function happen({ accounts, endpoints }: Waiting): Promise<void> {
    await db.collection('webhooks').deleteMany({});
    const accountIds = Array.from({ length: accounts }, () => newId('acct'));
    const accountIdOf = (n: number) => accountIds[n % accounts]!;
    const hooks = Array.from({ length: endpoints }, (_, n) => ({
      ...makeWebhook(endpoint.url),
      accountId: accountIdOf(n),
    }));
    await db.collection('webhooks').insertMany(hooks as never[]);
    const events = Array.from({ length: (DELIVERIES * accounts) / endpoints }, (_, n): EventDoc => {
      const { _id, type, data, createdAt } = sample();
      const subjectId = `pay_${_id}${n}`;
      return { _id, accountId: accountIdOf(n), type, subjectId, occurrence: '', sequence: 0, data, createdAt };
    });
    for (let from = 0; from < events.length; from += 500) {
      await transaction(async (session) => stores.events.insert(events.slice(from, from + 500), session));
    }
    while (await sequencer.round());
  }

  const senders = await startSenders(scope, 2, plan('ours'));
  const pending = () =>
    db
      .collection('deliveries')
      .countDocuments({ webhookId: { $gt: '' }, nextAttemptAt: { $gte: new Date(0) } }, { limit: 1 });
  return {
    limitTo: senders.limitTo,
    async run(workers, waiting) {
      await happen(waiting);
      const begin = () => senders.begin(workers, { queue: null, bodies: [] });
      return send(senders, { begin, isOver: async () => (await pending()) === 0 });
    },
  };
}

const bodiesFor = (url: string) =>
  Array.from({ length: DELIVERIES }, () => {
    const event = sample();
    return { id: event._id, url, body: toBody(event).toString() };
  });

async function openBullmq({ scope, endpoint, queueing, plan, send }: Scene): Promise<Side> {
  if (queueing instanceof Error) throw queueing;
  const { bullmq, connection } = queueing;
  const senders = await startSenders(scope, 2, plan('bullmq'));
  const bodies = bodiesFor(endpoint.url);
  let runs = 0;
  return {
    limitTo: senders.limitTo,
    async run(workers) {
      const name = `deliveries-${runs++}`;
      const queue = new bullmq.Queue(name, { connection });
      await queue.addBulk(
        bodies.map((data) => ({
          name: 'deliver',
          data,
          opts: { attempts: 11, backoff: { type: 'exponential', delay: 5000 }, removeOnComplete: true },
        })),
      );
      const begin = () => senders.begin(workers, { queue: name, bodies: [] });
      const isOver = async () => (await queue.getJobCountByTypes('waiting', 'active', 'delayed')) === 0;
      const done = await send(senders, { begin, isOver });
      await queue.close();
      return done;
    },
  };
}

async function openBare({ scope, endpoint, plan, send }: Scene): Promise<Side> {
  const senders = await startSenders(scope, 1, plan('bare'));
  const bodies = bodiesFor(endpoint.url);
  return {
    limitTo: senders.limitTo,
    run: (workers) =>
      send(senders, {
        begin: () => senders.begin(workers, { queue: null, bodies }),
        isOver: async () => true,
      }),
  };
}

/** Alternates two sides, with a first round to warm up. `isAim`: the section has an aim for
 *  this ratio. */
async function compare(name: string, one: () => Promise<Run>, other: () => Promise<Run>, isAim = true): Promise<Row> {
  const rounds: [Run, Run][] = [];
  for (let n = -1; n < ROUNDS; n++) {
    const round: [Run, Run] = [await one(), await other()];
    if (n >= 0) rounds.push(round);
  }
  const of = (pick: (round: [Run, Run]) => number) => median(rounds.map(pick));
  const ratio = of(([a, b]) => a.perSecond / b.perSecond);
  const row: Row = {
    name,
    values: {
      'this/s': of(([a]) => a.perSecond),
      'that/s': of(([, b]) => b.perSecond),
      'CPU of this, ms': of(([a]) => a.cpu.senders),
      'of that': of(([, b]) => b.cpu.senders),
      'MongoDB for this': of(([a]) => a.cpu.mongo),
      ...(isAim ? {} : { 'ratio to it': ratio }),
    },
    ratio: isAim ? ratio : null,
  };
  console.log(`  ${JSON.stringify(row)}`);
  return row;
}

export async function webhooks(): Promise<Section> {
  const scope = createScope();
  const rows: Row[] = [];
  const notes: string[] = [];
  try {
    const scene = await openScene(scope);
    const { queueing } = scene;
    const ours = await openOurs(scene);
    const bare = await openBare(scene);
    const bullmq = queueing instanceof Error ? null : await openBullmq(scene);
    if (queueing instanceof Error) notes.push(`BullMQ was left out: ${queueing.message.split('\n')[0]}`);
    const one = (side: Side) => () => side.run(1, ONE_ENDPOINT);

    if (bullmq) rows.push(await compare('beside BullMQ and Redis', one(ours), one(bullmq)));
    rows.push(await compare('beside a bare loop of undici', one(ours), one(bare), false));
    const many = () => ours.run(1, AN_ENDPOINT_EACH);
    rows.push(await compare('an endpoint for each delivery beside one for all', many, one(ours), false));
    try {
      // Warms up both senders of each side before they are confined to a share of a core.
      for (const side of [ours, bullmq]) await side?.run(2, EIGHT);
      for (const side of [ours, bullmq]) side?.limitTo(SHARE);
      const each = `${SHARE} of a core each`;
      if (bullmq) rows.push(await compare(`beside BullMQ and Redis, ${each}`, one(ours), one(bullmq)));
      for (const [name, side, isAim] of [
        ['workers', ours, true],
        ['of BullMQ', bullmq, false],
      ] as const) {
        const two = async () => side!.run(2, EIGHT);
        if (side) rows.push(await compare(`two ${name} beside one, ${each}`, two, () => side.run(1, EIGHT), isAim));
      }
    } catch (error) {
      notes.push(`Nothing was confined to a share of a core: ${(error as Error).message}`);
    }
    return {
      name: 'webhooks',
      title: `${DELIVERIES.toLocaleString('en')} waiting deliveries, ${AT_ONCE} at once to an endpoint`,
      aim: 'at least 1.25 times as many deliveries/s as BullMQ; two workers at least 1.8 times as many as one',
      bound: { least: 1.25 },
      rows,
      notes: [
        'Each sends the same kind of body, signed each time, over kept connections to an HTTPS server in a process of its own, and is done when the last result is recorded. MongoDB has each result on disk in the journal of a majority; Redis, as Debian ships it, in memory. The bare loop records nothing.',
        `What sends is a process of its own. With ${SHARE} of a core for each of them, MongoDB and the endpoint have what they ask for on two cores, as they have on cores of their own. Two send to eight endpoints.`,
        ...notes,
      ],
    };
  } finally {
    await scope.close();
  }
}
