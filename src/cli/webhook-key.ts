/** `webhook-key`: the keys of the service that sign deliveries beside each webhook's secret. */
import type { Command } from 'commander';
import { type Connect, connected, print, printTable } from './program.js';

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
