/** `webhook listen`: a webhook of the developer's own machine. It registers itself with the running service, shows what comes, and removes itself. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { EVENT_TYPES, type EventType } from '../../contracts/events.js';
import { createClient } from '../client.js';
import type { Clock } from '../clock.js';
import { openDevelopmentCertificate } from '../webhooks/development-certificate.js';
import { type Heard, listenForWebhooks } from '../webhooks/listen.js';
import { print } from './program.js';

interface ListenOptions {
  key: string;
  url: string;
  port: string;
  json?: true;
}

export function registerWebhookCommands(
  program: Command,
  deps: { clock: Clock; settings: () => { url: string; dataDir: string; certificateFile: string } },
): void {
  const webhook = program.command('webhook').description('webhooks while you develop');

  webhook
    .command('listen')
    .description('receive, verify and print the events of an account on this machine, until Ctrl-C')
    .requiredOption('--key <key>', 'API key of the account, with scope FULL')
    .option('--url <url>', 'the running service', '')
    .option('--port <port>', 'port to listen on; 0 picks a free one', '0')
    .option('--json', 'print each event as one line of JSON')
    .action(async ({ key, url, port, json }: ListenOptions) => {
      if (!/^\d{1,5}$/.test(port)) throw new Error(`--port must be a port number, not "${port}".`);
      const settings = deps.settings();
      const service = url || settings.url;
      const collect = createClient({ url: service, apiKey: key });
      const certificate = await openDevelopmentCertificate(
        join(settings.dataDir, settings.certificateFile),
        deps.clock,
      );
      let secret: string | null = null;
      const listener = await listenForWebhooks({
        certificate,
        port: Number(port),
        secret: () => secret,
        onHeard: (heard) => show(heard, json === true),
        clock: deps.clock,
      });
      try {
        const events = [...EVENT_TYPES] as EventType[];
        const made = await collect.webhooks.create
          .mutate({ name: 'webhook listen', url: listener.url, events })
          .catch((error: Error) => {
            throw new Error(`${service} did not take the webhook: ${error.message}`);
          });
        secret = made.secret;
        print(
          json
            ? JSON.stringify({ listening: listener.url, webhookId: made.id })
            : `Listening at ${listener.url} as ${made.id}; Ctrl-C ends it.`,
        );
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

function show(heard: Heard, json: boolean): void {
  if ('refused' in heard) return void process.stderr.write(`refused: ${heard.refused}\n`);
  const { event } = heard;
  const { payment } = event.data;
  print(
    json
      ? JSON.stringify(event)
      : `${event.timestamp}  ${event.type}  ${payment.status}  ${payment.amount} ${payment.assetCode}  ${payment.id}`,
  );
}
