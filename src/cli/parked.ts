/** `parked list`, `parked retry`: records of the ledger that could not be understood. */
import type { Command } from 'commander';
import { allOf, type Connect, connected, print, printTable } from './program.js';

export function registerParkedCommands(program: Command, connect: Connect<'parkedRecords' | 'retryParked'>): void {
  const parked = program.command('parked').description('ledger records that could not be understood');

  parked
    .command('list')
    .description('list them, oldest first')
    .option('--json', 'print one line of JSON, with the records as they came')
    .action((options: { json?: true }) =>
      connected(connect, async ({ parkedRecords }) => {
        const items = await allOf(parkedRecords.list);
        if (options.json) {
          return print(JSON.stringify({ parked: items.map(({ _id, ...rest }) => ({ id: _id, ...rest })) }));
        }
        printTable(items.map(({ _id, createdAt, reason }) => [_id, createdAt.toISOString(), reason]));
      }),
    );

  parked
    .command('retry')
    .description('try them all again, as after an upgrade')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { json?: true }) =>
      connected(connect, async ({ parkedRecords, retryParked }) => {
        const results = [];
        for (const record of await allOf(parkedRecords.list))
          results.push({ id: record._id, ...(await retryParked(record)) });
        if (options.json) return print(JSON.stringify({ retried: results }));
        printTable(results.map(({ id, payments, reason }) => [id, reason ?? `understood, ${payments} payments`]));
      }),
    );
}
