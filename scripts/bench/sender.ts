// biome-ignore-all lint/suspicious/noExplicitAny: BullMQ is not installed, so it has no types here.
/** A sender of waiting deliveries in its own process: prints a line when ready, begins on a
 *  message, and stops on another, which it answers. Argument: the kind of sender and the common
 *  plan, as JSON. */
import { createRequire } from 'node:module';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createStores } from '../../src/stores.js';
import { createDispatcher } from '../../src/webhooks/dispatch.js';
import { createKeyring } from '../../src/webhooks/keyring.js';
import { createPoster, signedHeaders } from '../../src/webhooks/poster.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';

export interface SenderPlan {
  kind: 'ours' | 'bullmq' | 'bare';
  /** URI of the MongoDB that holds the signing keys. */
  uri: string;
  /** Key that seals the endpoints' secrets, in base64. */
  secretsKey: string;
  /** Authority of the endpoint's certificate. */
  ca: string;
  /** Webhook that BullMQ and the bare loop sign for; ours loads it itself. */
  webhook: WebhookDoc;
  atOnce: number;
  /** Folder of the package, and its Redis. */
  bullmq: { folder: string; connection: object } | null;
}

/** Messages from the parent. */
export type Order =
  | { begin: true; queue: string | null; bodies: readonly { id: string; url: string; body: string }[] }
  | { begin: false };

const plan = JSON.parse(process.argv[2]!) as SenderPlan;
const clock = systemClock;
const secrets = createSecretBox(Buffer.from(plan.secretsKey, 'base64'), clock);
const { connection } = await connectDatabase(plan.uri);
const stores = createStores(connection, { clock, newId: createIds(clock) }).system;
const { signers } = createKeyring({ webhookKeys: stores.webhookKeys, secrets, clock });
const agent = new Agent({ connections: plan.atOnce, connect: { ca: plan.ca } });

type Begin = (order: Extract<Order, { begin: true }>) => () => Promise<unknown>;

function ours(): Begin {
  const settings = { timeoutMs: 15_000, retryBaseMs: 5000, maxAttempts: 11 };
  const { timeoutMs } = settings;
  const poster = createPoster({ allowPrivate: true, timeoutMs, clock, developmentCa: () => plan.ca });
  const dispatcher = createDispatcher({
    ...stores,
    pause: async () => undefined,
    poster,
    secrets,
    signers,
    clock,
    log: pino({ level: 'silent' }),
    settings,
  });
  return () => {
    const stop = new AbortController();
    const draining = dispatcher.drain(stop.signal);
    return () => {
      stop.abort();
      return draining;
    };
  };
}

async function post(eventId: string, url: string, text: string): Promise<void> {
  const body = Buffer.from(text);
  const at = clock.now();
  const headers = {
    ...(await signedHeaders(plan.webhook, { eventId, body, at, keys: await signers(at) }, secrets)),
    'content-type': 'application/json',
  };
  const answer = await request(url, { method: 'POST', headers, body, dispatcher: agent });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
}

function bullmq(): Begin {
  const { folder, connection } = plan.bullmq!;
  const { Worker } = createRequire(`${folder}/any.js`)('bullmq');
  return ({ queue }) => {
    const worker = new Worker(queue, ({ data }: any) => post(data.id, data.url, data.body), {
      connection,
      concurrency: plan.atOnce,
    });
    return () => worker.close();
  };
}

/** Records nothing, to measure only signing and sending. */
const bare = (): Begin => {
  return ({ bodies }) => {
    let next = 0;
    const all = Promise.all(
      Array.from({ length: plan.atOnce }, async () => {
        for (let each = bodies[next++]; each; each = bodies[next++]) await post(each.id, each.url, each.body);
      }),
    );
    return () => all;
  };
};

const begin = { ours, bullmq, bare }[plan.kind]();
let end: () => Promise<unknown> = async () => undefined;
process.on('message', async (order: Order) => {
  if (order.begin) end = begin(order);
  else {
    await end();
    process.send!('stopped');
  }
});
process.on('disconnect', () => process.exit(0));
console.log('ready');
