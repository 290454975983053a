/** `parked list`, `parked retry`, `parked dismiss`: records of the ledger that could not
 *  be recorded. */

import type { Command } from 'commander';
import { BudgetUsedUp } from '../ledger/source.js';
import type { ParkedRecordDoc, ParkedRetry } from '../watching/index.js';
import { type Administration, allOf, type Connect, connected, print, printTable } from './program.js';

const MOST_WHY = 500;

export function registerParkedCommands(
  program: Command,
  connect: Connect<'parkedRecords' | 'retryParked' | 'dismissParked'>,
): void {
  const parked = program.command('parked').description('ledger records that could not be recorded');

  parked
    .command('list')
    .description('list open records, oldest first')
    .option('--dismissed', 'list dismissed records instead, each with its time and reason')
    .option('--json', 'print one line of JSON, with the records as they came')
    .action((options: { dismissed?: true; json?: true }) =>
      connected(connect, async ({ parkedRecords }) => {
        const { dismissed = false } = options;
        const items = await allOf((request) => parkedRecords.list({ ...request, dismissed }));
        if (options.json) {
          return print(JSON.stringify({ parked: items.map(({ _id, ...rest }) => ({ id: _id, ...rest })) }));
        }
        printTable(items.map(toRow));
      }),
    );

  parked
    .command('retry')
    .description(
      'retry one record, or all open ones, as after an upgrade; the service retries too, at growing intervals',
    )
    .argument('[id]', 'only this record')
    .option('--json', 'print one line of JSON and nothing else')
    .action((id: string | undefined, options: { json?: true }) =>
      connected(connect, async (administration) => {
        const results = await retryAll(administration, await toRetry(administration, id));
        if (options.json) return print(JSON.stringify({ retried: results }));
        printTable(results.map(({ id, payments, reason }) => [id, reason ?? `understood, ${payments} payments`]));
      }),
    );

  parked
    .command('dismiss')
    .description(
      'dismiss a record that paid no wallet here, or was dealt with; it no longer keeps checkouts open. The affected accounts see the reason in their activity',
    )
    .argument('<id>', 'of the record, as the list shows it')
    .requiredOption('--why <text>', 'reason, kept with the record and shown to those accounts')
    .option('--json', 'print one line of JSON and nothing else')
    .action((id: string, options: { why: string; json?: true }) => {
      const why = options.why.trim();
      if (why === '' || why.length > MOST_WHY) throw new Error(`--why: Must have 1 to ${MOST_WHY} characters.`);
      return connected(connect, async ({ dismissParked }) => {
        const dismissed = await dismissParked(id, why);
        if (!dismissed) throw new Error(`There is no open record ${id}.`);
        print(options.json ? JSON.stringify({ dismissed: { id, ...dismissed } }) : `dismissed ${id}`);
      });
    });
}

function toRow({ _id, createdAt, reason, dismissed, dismissing }: ParkedRecordDoc): string[] {
  const row = [_id, createdAt.toISOString(), reason];
  if (dismissed) return [...row, dismissed.at.toISOString(), dismissed.why];
  return dismissing ? [...row, 'being dismissed; if that was interrupted, dismiss it again'] : row;
}

/** The service takes from the same share of the budget: once that is used up, the records that are
 *  left wait for their turn there. */
async function retryAll(
  { retryParked }: Pick<Administration, 'retryParked'>,
  records: readonly ParkedRecordDoc[],
): Promise<(ParkedRetry & { id: string })[]> {
  const results: (ParkedRetry & { id: string })[] = [];
  for (const [index, record] of records.entries()) {
    try {
      results.push({ id: record._id, ...(await retryParked(record)) });
    } catch (error) {
      if (!(error instanceof BudgetUsedUp)) throw error;
      const { reason } = error;
      return [...results, ...records.slice(index).map(({ _id: id }) => ({ id, payments: 0, reason }))];
    }
  }
  return results;
}

async function toRetry(
  { parkedRecords }: Pick<Administration, 'parkedRecords'>,
  id: string | undefined,
): Promise<ParkedRecordDoc[]> {
  if (id === undefined) return allOf(parkedRecords.list);
  const record = await parkedRecords.byId(id);
  if (!record || record.dismissed) throw new Error(`There is no open record ${id}.`);
  return [record];
}
