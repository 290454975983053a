// biome-ignore-all lint/suspicious/noExplicitAny: the package is not installed, so it has no types here.
/** Webhooks: waiting deliveries sent, signed and recorded, beside BullMQ and beside a bare loop, all to the same HTTPS endpoint. */
import { once } from 'node:events';
import { pino } from 'pino';
import { generate } from 'selfsigned';
import { Agent, request } from 'undici';
import { systemClock } from '../../src/clock.js';
import { createIds } from '../../src/domain/ids.js';
import { createSecretBox } from '../../src/domain/secrets.js';
import { newWebhookSecret } from '../../src/domain/signature.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { sampleEvent } from '../../src/services/sample-event.js';
import { connectDatabase } from '../../src/stores/database.js';
import type { EventDoc } from '../../src/stores/events.js';
import { createStores } from '../../src/stores/index.js';
import type { WebhookDoc } from '../../src/stores/webhooks.js';
import { createDispatcher } from '../../src/webhooks/dispatch.js';
import { createKeyring } from '../../src/webhooks/keyring.js';
import { createPoster } from '../../src/webhooks/poster.js';
import { signedHeaders, toBody } from '../../src/webhooks/request.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { testAuthority } from '../../test/helpers/receiver.js';
import { type Queueing, startQueueing } from './bullmq.js';
import { startProgram } from './program.js';
import type { Section } from './report.js';
import { cpuMsOf, createScope, median, type Scope, timed } from './scope.js';

const DELIVERIES = Number(process.env.BENCH_DELIVERIES ?? 10_000);
const ROUNDS = Number(process.env.BENCH_WEBHOOK_ROUNDS ?? 3);
/** In flight at once, in each way of sending: what the service allows one endpoint. */
const AT_ONCE = 32;

const clock = systemClock;
const newId = createIds(clock);
const log = pino({ level: 'silent' });
const secrets = createSecretBox(Buffer.alloc(32, 7), clock);

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
    /** Resolves, once it counts anew, with a promise of so many requests. */
    async expect(count: number) {
      child.send(count);
      await once(child, 'message');
      return { all: once(child, 'message') };
    },
  };
}

function makeWebhook(accountId: string, url: string): WebhookDoc {
  const _id = newId('hook');
  const sealed = secrets.seal(newWebhookSecret(clock), _id);
  return {
    _id,
    accountId,
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

export async function webhooks(): Promise<Section> {
  const scope = createScope();
  try {
    const endpoint = await startEndpoint(scope);
    const { uri, db } = await testDatabase(scope);
    const database = await connectDatabase(uri);
    scope.teardown(database.close);
    const stores = createStores(database.connection, { clock, newId });
    await stores.ensureIndexes();
    const accountId = newId('acct');
    const webhook = makeWebhook(accountId, endpoint.url);
    await stores.forAccount(accountId).webhooks.insert(webhook);
    const settings = { timeoutMs: 15_000, retryBaseMs: 5000, maxAttempts: 11 };
    const poster = createPoster({
      allowPrivate: true,
      timeoutMs: settings.timeoutMs,
      clock,
      developmentCa: () => endpoint.ca,
    });
    scope.teardown(() => poster.close());
    const { signers } = createKeyring({ webhookKeys: stores.system.webhookKeys, secrets, clock });
    const dispatcher = createDispatcher({
      ...stores.system,
      pause: async () => undefined,
      poster,
      secrets,
      signers,
      clock,
      log,
      settings,
    });

    const sequencer = createSequencer({
      ...stores.system,
      transaction: database.transaction,
      holder: 'bench',
      clock,
      log,
      deliveriesOpened: () => undefined,
    });

    const happen = async () => {
      const events = Array.from({ length: DELIVERIES }, (_, n): EventDoc => {
        const { _id, type, data, createdAt } = sampleEvent(newId, clock.now(), 'https://pay.example');
        return { _id, accountId, type, subjectId: `pay_${_id}${n}`, occurrence: '', sequence: 0, data, createdAt };
      });
      for (let from = 0; from < events.length; from += 500) {
        await database.transaction(async (session) => {
          const some = events.slice(from, from + 500);
          await stores.system.events.insert(some, session);
        });
      }
      while (await sequencer.round());
    };

    const { pid: mongoPid } = await db.admin().serverStatus();
    const cpuMs = () => [process.pid, mongoPid, endpoint.pid].map(cpuMsOf);
    /** For each delivery, by round: in the worker, in MongoDB, in the endpoint. */
    const spent = { ours: [] as number[][], bullmq: [] as number[][] };
    const since = (before: number[]) => cpuMs().map((ms, n) => (ms - before[n]!) / DELIVERIES);
    const ours = async () => {
      await happen();
      const before = cpuMs();
      const { all } = await endpoint.expect(DELIVERIES);
      const stop = new AbortController();
      let draining: Promise<unknown> = Promise.resolve();
      const tookMs = await timed(async () => {
        draining = dispatcher.drain(stop.signal);
        await all;
        // Until the last of them is recorded.
        while (
          (await db
            .collection('deliveries')
            .countDocuments({ webhookId: webhook._id, status: 'PENDING' }, { limit: 1 })) > 0
        );
      });
      spent.ours.push(since(before));
      stop.abort();
      await draining;
      return DELIVERIES / (tookMs / 1000);
    };

    const agent = new Agent({ connections: AT_ONCE, connect: { ca: endpoint.ca } });
    scope.teardown(() => agent.close());
    const post = async (eventId: string, body: Buffer) => {
      const headers = {
        ...(await signedHeaders(webhook, secrets, eventId, body, clock.now(), await signers(clock.now()))),
        'content-type': 'application/json',
      };
      const answer = await request(endpoint.url, { method: 'POST', headers, body, dispatcher: agent });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
    };
    const bodies = Array.from({ length: DELIVERIES }, () => {
      const event = sampleEvent(newId, clock.now(), 'https://pay.example');
      return { id: event._id, body: toBody(event) };
    });

    const bare = async () => {
      const { all } = await endpoint.expect(DELIVERIES);
      let next = 0;
      const tookMs = await timed(async () => {
        await Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            for (let each = bodies[next++]; each; each = bodies[next++]) await post(each.id, each.body);
          }),
        );
        await all;
      });
      return DELIVERIES / (tookMs / 1000);
    };

    const queueing = await startQueueing(scope).catch((error: Error) => error);
    let round = 0;
    const queued = async ({ bullmq, connection }: Queueing) => {
      const name = `deliveries-${round++}`;
      const queue = new bullmq.Queue(name, { connection });
      await queue.addBulk(
        bodies.map(({ id, body }) => ({
          name: 'deliver',
          data: { id, body: body.toString() },
          opts: { attempts: 11, backoff: { type: 'exponential', delay: 5000 }, removeOnComplete: true },
        })),
      );
      const { all } = await endpoint.expect(DELIVERIES);
      let done = 0;
      let worker: any;
      const before = cpuMs();
      const tookMs = await timed(async () => {
        const completed = new Promise<void>((resolve) => {
          worker = new bullmq.Worker(name, (job: any) => post(job.data.id, Buffer.from(job.data.body)), {
            connection,
            concurrency: AT_ONCE,
          });
          worker.on('completed', () => ++done === DELIVERIES && resolve());
        });
        await all;
        await completed;
      });
      spent.bullmq.push(since(before));
      await worker.close();
      await queue.close();
      return DELIVERIES / (tookMs / 1000);
    };

    const rates = { ours: [] as number[], bullmq: [] as number[], bare: [] as number[] };
    for (let n = -1; n < ROUNDS; n++) {
      // The first round warms up.
      const keep = (list: number[], rate: number) => void (n >= 0 && list.push(rate));
      keep(rates.ours, await ours());
      if (!(queueing instanceof Error)) keep(rates.bullmq, await queued(queueing));
      keep(rates.bare, await bare());
    }
    const ratio = (theirs: number[]) => median(rates.ours.map((rate, n) => rate / theirs[n]!));
    const inWorker = (rounds: readonly number[][]) => median(rounds.map(([worker]) => worker!));
    const rows: Section['rows'] = [
      {
        name: 'beside a bare loop of undici',
        values: { 'ours/s': median(rates.ours), 'theirs/s': median(rates.bare) },
        ratio: null,
      },
    ];
    rows[0]!.values = { ...rows[0]!.values, 'ratio to bare': ratio(rates.bare) };
    if (!(queueing instanceof Error)) {
      rows.unshift({
        name: 'beside BullMQ and Redis',
        values: {
          'ours/s': median(rates.ours),
          'theirs/s': median(rates.bullmq),
          'CPU of our worker, ms': inWorker(spent.ours),
          'of theirs': inWorker(spent.bullmq),
        },
        ratio: ratio(rates.bullmq),
      });
    }
    for (const row of rows) console.log(`  ${JSON.stringify(row)}`);
    return {
      name: 'webhooks',
      title: `${DELIVERIES.toLocaleString('en')} waiting deliveries to one endpoint, ${AT_ONCE} at once`,
      aim: 'at least as many deliveries/s as BullMQ, at best twice as many',
      bound: { least: 1 },
      rows,
      notes: [
        'Each sends the same kind of body, signed anew, over kept connections to an HTTPS server in a process of its own, and is done when the last result is recorded. MongoDB has each result on disk in the journal of a majority; Redis, as Debian ships it, in memory. The bare loop records nothing.',
        `Milliseconds of CPU for each delivery of ours: ${['worker', 'MongoDB', 'endpoint'].map((name, n) => `${name} ${median(spent.ours.map((each) => each[n]!)).toFixed(3)}`).join(', ')}.`,
        ...(queueing instanceof Error ? [`BullMQ was left out: ${queueing.message.split('\n')[0]}`] : []),
      ],
    };
  } finally {
    await scope.close();
  }
}
