/** `key create`, `key list`, `key revoke`: what the API does with keys, for the operator. */

import { type Command, Option } from 'commander';
import { momentInput, nameInput } from '../../contracts/primitives.js';
import type { AccountStore } from '../accounts/index.js';
import { notFound } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import { allOf, type Connect, checkedBy, connected, print, printTable } from './program.js';

interface CreateOptions {
  account: string;
  name: string;
  scope: Caller['scope'];
  expires?: string;
  json?: true;
}

export function registerKeyCommands(
  program: Command,
  connect: Connect<'accounts' | 'apiKeys' | 'apiKeyService'>,
): void {
  const key = program.command('key').description('API keys of an account');

  key
    .command('create')
    .description('create an API key, which is shown once')
    .requiredOption('--account <id>', 'owner of the key')
    .requiredOption('--name <name>', 'label of the key', checkedBy(nameInput))
    .addOption(new Option('--scope <scope>', 'READ keys change nothing').choices(['FULL', 'READ']).default('FULL'))
    .option('--expires <moment>', 'when it stops working: an ISO 8601 date or timestamp', checkedBy(momentInput))
    .option('--json', 'print one line of JSON and nothing else')
    .action(({ account, name, scope, expires, json }: CreateOptions) =>
      connected(connect, async ({ accounts, apiKeyService }) => {
        const caller = await administratorOf(accounts, account);
        const made = await apiKeyService.create(caller, { name, scope, expiresAt: expires });
        if (json) return print(JSON.stringify({ apiKey: made }));
        printTable([['API key', made.id, made.key]]);
        print('The key is not shown again.');
      }),
    );

  key
    .command('list')
    .description("list an account's API keys, newest first")
    .requiredOption('--account <id>', 'owner of the keys')
    .option('--json', 'print one line of JSON and nothing else')
    .action(({ account, json }: { account: string; json?: true }) =>
      connected(connect, async ({ accounts, apiKeyService }) => {
        const caller = await administratorOf(accounts, account);
        const items = await allOf(({ page, pageSize }) => apiKeyService.list(caller, { page, pageSize }));
        if (json) return print(JSON.stringify({ apiKeys: items }));
        printTable([
          ['ID', 'KEY', 'SCOPE', 'LAST USED', 'EXPIRES', 'NAME'],
          ...items.map((item) => [
            item.id,
            item.keyMasked,
            item.scope,
            item.lastUsedAt ?? 'never',
            item.expiresAt ?? 'never',
            item.name,
          ]),
        ]);
      }),
    );

  key
    .command('revoke')
    .description('revoke an API key: it gets 401 at once')
    .argument('<id>', 'id of the key')
    .action((id: string) =>
      connected(connect, async ({ apiKeys, apiKeyService }) => {
        const accountId = await apiKeys.ownerOf(id);
        if (accountId === null) throw notFound('API key');
        await apiKeyService.delete(administrator(accountId), { id });
        print(`${id} is revoked.`);
      }),
    );
}

/** Acts for the account, without a key. @throws ApiError where there is no such account */
export async function administratorOf(accounts: Pick<AccountStore, 'byId'>, accountId: string): Promise<Caller> {
  if (!(await accounts.byId(accountId))) throw notFound('account');
  return administrator(accountId);
}

/** Acts for any account, without a key. */
const administrator = (accountId: string): Caller => ({ accountId, keyId: '', scope: 'FULL', agent: 'cli' });
