/** `account`, `key` and `user`: who may use the service, for the operator. */
import { type Command, Option } from 'commander';
import { emailInput, momentInput, nameInput } from '../../contracts/primitives.js';
import { ROLES, type Role } from '../../contracts/roles.js';
import { openAccount, toAccount } from '../accounts/account.js';
import type { AccountStore } from '../accounts/index.js';
import { notFound } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import { allOf, type Connect, checkedBy, connected, print, printTable } from './program.js';

// `account create`, `account list`.

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

// `setup-code`: for who runs the service, and missed the line of its start.

export function registerSetupCommand(program: Command, connect: Connect<'setupCode'>): void {
  program
    .command('setup-code')
    .description('print the link that sets the installation up in the browser')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ setupCode }) => {
        const { stage, line, awaitsDemo } = await setupCode();
        const text = (await stage()) === 'DONE' ? null : await line();
        if (options.json) return print(JSON.stringify({ url: text?.replace('Set up at ', '') ?? null }));
        if (text !== null) return print(text);
        const isComing = await awaitsDemo();
        print(isComing ? 'The first start makes a demo account, and shows its key.' : 'This installation is set up.');
      }),
    );
}

// `user invite`, `user list`: the first people of an account are invited by who runs the service.

interface InviteOptions {
  account: string;
  name: string;
  role: Role;
  email?: string;
  json?: true;
}

export function registerUserCommands(program: Command, connect: Connect<'accounts' | 'userService'>): void {
  const user = program.command('user').description('people who sign in to the dashboard of an account');

  user
    .command('invite')
    .description('create a user, and an invitation link for the first sign-in: it works once, within 72 h')
    .requiredOption('--account <id>', 'account of the user')
    .requiredOption('--name <name>', 'name of the user', checkedBy(nameInput))
    .addOption(new Option('--role <role>', 'what they may do').choices([...ROLES]).makeOptionMandatory())
    .option('--email <address>', 'address for notices of security changes', checkedBy(emailInput))
    .option('--json', 'print one line of JSON and nothing else')
    .action(({ account, name, role, email, json }: InviteOptions) =>
      connected(connect, async ({ accounts, userService }) => {
        const caller = await administratorOf(accounts, account);
        const { id, url, expiresAt } = await userService.create(caller, { name, role, email });
        if (json) return print(JSON.stringify({ user: { id, name, role }, url, expiresAt }));
        printTable([
          ['user', id],
          ['name', name],
          ['invitation', url],
        ]);
        print(`It works once, until ${expiresAt}, and is not shown again.`);
      }),
    );

  user
    .command('list')
    .description("list an account's users, newest first")
    .requiredOption('--account <id>', 'account of the users')
    .option('--json', 'print one line of JSON and nothing else')
    .action(({ account, json }: { account: string; json?: true }) =>
      connected(connect, async ({ accounts, userService }) => {
        const caller = await administratorOf(accounts, account);
        const items = await allOf(({ page, pageSize }) => userService.list(caller, { page, pageSize }));
        if (json) return print(JSON.stringify({ users: items }));
        printTable([
          ['ID', 'ROLE', 'STATUS', 'NAME'],
          ...items.map(({ id, role, status, name }) => [id, role, status, name]),
        ]);
      }),
    );
}

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
async function administratorOf(accounts: Pick<AccountStore, 'byId'>, accountId: string): Promise<Caller> {
  if (!(await accounts.byId(accountId))) throw notFound('account');
  return administrator(accountId);
}

/** Acts for any account, without a key. */
const administrator = (accountId: string): Caller => ({ accountId, keyId: '', scope: 'FULL', agent: 'cli' });
