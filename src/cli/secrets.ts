/** `secrets reseal`: moves everything that is sealed to the first key of SECRETS_KEY. */
import type { Command } from 'commander';
import { type Connect, connected, print } from './program.js';

export function registerSecretsCommands(program: Command, connect: Connect<'resealSecrets'>): void {
  program
    .command('secrets')
    .description('encrypted secrets')
    .command('reseal')
    .description('re-encrypt all secrets with the first key of SECRETS_KEY; the other keys can be removed afterwards')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ resealSecrets }) => {
        const result = await resealSecrets();
        if (options.json) return print(JSON.stringify(result));
        print(`${result.resealed} resealed, ${result.kept} had the first key already.`);
      }),
    );
}
