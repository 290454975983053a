/** `user invite`, `user list`: the first people of an account are invited by who runs the service. */
import { type Command, Option } from 'commander';
import { emailInput, nameInput } from '../../contracts/primitives.js';
import { ROLES, type Role } from '../../contracts/roles.js';
import { administratorOf } from './key.js';
import { allOf, type Connect, checkedBy, connected, print, printTable } from './program.js';

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
