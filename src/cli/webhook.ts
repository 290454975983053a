/** `webhook listen`: a webhook of the developer's own machine. It registers itself with the running
 *  service, shows what comes, and removes itself. */

import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { EVENT_TYPES } from '../../contracts/event-kinds.js';
import type { WebhookPayload } from '../../contracts/events.js';
import { makeDirectory } from '../app/directory.js';
import { createClient } from '../client/index.js';
import type { Clock } from '../kit/clock.js';
import type { Heard } from '../webhooks/listen.js';
import { allOf, type Connect, connected, print, printTable } from './program.js';
import { refusal, toHttpUrl } from './service.js';

// `webhook-key`: the keys of the service that sign deliveries beside each webhook's secret.

export function registerWebhookKeyCommands(program: Command, connect: Connect<'keyring' | 'rotateWebhookKey'>): void {
  const command = program.command('webhook-key').description('the keys that sign deliveries (v1a)');

  command
    .command('rotate')
    .description('sign with a new key from now on; earlier keys keep signing for 24 h')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ rotateWebhookKey }) => {
        const made = await rotateWebhookKey();
        if (options.json) return print(JSON.stringify(made));
        print(
          `${made.id} ${made.publicKey} signs from now on; earlier keys sign until ${made.previousRetireAt.toISOString()}.`,
        );
      }),
    );

  command
    .command('list')
    .description('the keys that sign now, newest first')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ keyring }) => {
        const { keys } = await (await keyring()).published();
        if (options.json) return print(JSON.stringify({ keys }));
        printTable([
          ['ID', 'PUBLIC KEY', 'CREATED', 'SIGNS UNTIL'],
          ...keys.map(({ id, publicKey, createdAt, retiresAt }) => [id, publicKey, createdAt, retiresAt ?? '-']),
        ]);
      }),
    );
}

/** By it a later run knows what an earlier one left. */
const NAME = 'webhook listen';

interface ListenOptions {
  key: string;
  url?: string;
  port: number;
  forward?: string;
  json?: true;
}

export function registerWebhookCommands(
  program: Command,
  deps: { clock: Clock; settings: () => { url: string; dataDir: string; certificateFile: string } },
): void {
  const webhook = program.command('webhook').description('webhooks for development');

  webhook
    .command('listen')
    .description('receive, verify and print the events of an account on this machine, until Ctrl-C')
    .requiredOption('--key <key>', 'API key of the account, with scope FULL')
    .option('--url <url>', 'the running service; the configured one by default', toHttpUrl)
    .option('--port <port>', 'port to listen on; 0 picks a free one', toPort, 0)
    .option('--forward <url>', 'pass each event on to your own endpoint; plain http is allowed', toHttpUrl)
    .option('--json', 'print each event as one line of JSON')
    .action(async ({ key, url, port, forward, json }: ListenOptions) => {
      const settings = deps.settings();
      const service = url ?? settings.url;
      const collect = createClient({ url: service, apiKey: key });
      const dataDir = resolve(settings.dataDir);
      makeDirectory(dataDir);
      const { listenForWebhooks, openDevelopmentCertificate } = await import('../webhooks/listen.js');
      const certificate = await openDevelopmentCertificate(join(dataDir, settings.certificateFile), deps.clock);
      let secret: string | null = null;
      const listener = await listenForWebhooks({
        certificate,
        port,
        secret: () => secret,
        publicKeys: () => publishedKeys(service),
        forward,
        onHeard: (heard) => show(heard, json === true),
        clock: deps.clock,
      }).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE')
          throw new Error(`Port ${port} is in use: choose another with --port, or leave it out.`);
        throw error;
      });
      try {
        const made = await register(collect, listener.url).catch((error: unknown) => {
          throw refusal(error, service, 'the webhook');
        });
        secret = made.secret;
        if (json) print(JSON.stringify({ listening: listener.url, webhookId: made.id, secret }));
        else {
          print(`Listening at ${listener.url} as ${made.id}; Ctrl-C ends it.`);
          print(`Signing secret, for as long as this runs: ${secret}`);
        }
        await new Promise<void>((resolve) => {
          for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
        });
        await collect.webhooks.delete.mutate({ id: made.id }).catch(() => {
          process.stderr.write(`${made.id} could not be removed: the service does not answer.\n`);
        });
      } finally {
        await listener.close();
      }
    });
}

/** Asked for each event: a key may have been rotated since the last. Null when they cannot
 *  be read. */
async function publishedKeys(service: string): Promise<string[] | null> {
  try {
    const url = `${service.replace(/\/+$/, '')}/.well-known/webhook-keys.json`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(KEYS_TIMEOUT_MS) });
    const { keys } = publishedSchema.parse(await answer.json());
    return keys.map(({ publicKey }) => publicKey);
  } catch {
    return null;
  }
}
const KEYS_TIMEOUT_MS = 5000;
const publishedSchema = z.object({ keys: z.array(z.object({ publicKey: z.string() })) });

type Collect = ReturnType<typeof createClient>;

/** The webhooks of earlier runs that were killed go away first: they would be tried for days. */
async function register(collect: Collect, url: string) {
  const webhooks = await allOf((request) => collect.webhooks.list.query(request));
  for (const { id, name, url } of webhooks) {
    if (name === NAME && !(await isListening(url))) await collect.webhooks.delete.mutate({ id });
  }
  return collect.webhooks.create.mutate({ name: NAME, url, events: [...EVENT_TYPES] });
}

/** Another run may be going on beside this one. */
function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

function toPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new InvalidArgumentError('Must be a number from 0 to 65535.');
}

function show(heard: Heard, json: boolean): void {
  if ('refused' in heard) return void process.stderr.write(`refused: ${heard.refused}\n`);
  const { event, status } = heard;
  if (status >= 300) process.stderr.write(`${event.id}: the endpoint answered ${status}; it will be tried again\n`);
  print(json ? JSON.stringify(event) : `${event.timestamp}  ${event.type}  ${summaryOf(event)}`);
}

function summaryOf(event: WebhookPayload): string {
  switch (event.type) {
    case 'wallet.gap':
      return `${event.data.wallet.id}  ledgers ${event.data.fromLedger} to ${event.data.toLedger}`;
    case 'wallet.difference': {
      const different = event.data.assets.filter(({ difference }) => difference !== '0');
      return `${event.data.wallet.id}  ${different.map(({ difference, assetCode }) => `${difference} ${assetCode}`).join(', ')}`;
    }
    case 'webhook.paused':
      return `${event.data.webhook.id}  ${event.data.reason}`;
    case 'checkout.paid':
    case 'checkout.expired': {
      const { checkout } = event.data;
      return `${checkout.status}  ${checkout.receivedAmount} of ${checkout.amount} ${checkout.assetCode}  ${checkout.id}`;
    }
    default: {
      const { payment } = event.data;
      return `${payment.status}  ${payment.amount} ${payment.assetCode}  ${payment.id}`;
    }
  }
}
