/** `account create`, `account list`. */

import type { Command } from 'commander';
import { nameInput } from '../../contracts/primitives.js';
import { openAccount, toAccount } from '../accounts/account.js';
import { allOf, type Connect, checkedBy, connected, print, printTable } from './program.js';

export function registerAccountCommands(
  program: Command,
  connect: Connect<'accounts' | 'apiKeyService' | 'commit' | 'clock' | 'newId'>,
): void {
  const account = program.command('account').description('accounts: owners of wallets, products, links and keys');

  account
    .command('create')
    .description('create an account and its first API key, which is shown once')
    .requiredOption('--name <name>', 'label of the account', checkedBy(nameInput))
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { name: string; json?: true }) =>
      connected(connect, async (admin) => {
        const { account, apiKey } = await openAccount(
          { ...admin, apiKeys: admin.apiKeyService, agent: 'cli' },
          options.name,
        );
        if (options.json) {
          const { id, name } = account;
          return print(JSON.stringify({ account: { id, name }, apiKey: { id: apiKey.id, key: apiKey.key } }));
        }
        printTable([
          ['account', account.id, account.name],
          ['API key', apiKey.id, apiKey.key],
        ]);
        print('The key is not shown again.');
      }),
    );

  account
    .command('list')
    .description('list all accounts, newest first')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ accounts }) => {
        const items = (await allOf(accounts.list)).map(toAccount);
        if (options.json) return print(JSON.stringify({ accounts: items }));
        printTable(items.map(({ id, name, createdAt }) => [id, createdAt, name]));
      }),
    );
}
