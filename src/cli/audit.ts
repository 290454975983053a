/** `audit`: holds the balances of wallets against everything that moved them. */

import type { Command } from 'commander';
import type { Audit } from '../audit/index.js';
import { type Connect, connected, print, printTable } from './program.js';

export function registerAuditCommand(program: Command, connect: Connect<'audit'>): void {
  program
    .command('audit')
    .description('compare the balances of wallets with everything that moved them since the last audit')
    .option('--wallet <id>', 'only this wallet; else every active wallet')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { wallet?: string; json?: true }) =>
      connected(connect, async ({ audit }) => {
        const audits = audit(options.wallet ?? null);
        return options.json ? printJson(audits) : printRows(audits);
      }),
    );
}

/** There may be ten thousand: each is printed when it has ended. */
async function printRows(audits: AsyncIterable<Audit>): Promise<void> {
  let isEmpty = true;
  for await (const audit of audits) {
    printTable([toRow(audit)]);
    isEmpty = false;
  }
  if (isEmpty) printTable([]);
}

/** One line, in pieces. */
async function printJson(audits: AsyncIterable<Audit>): Promise<void> {
  let before = '{"audits":[';
  for await (const audit of audits) {
    process.stdout.write(before + JSON.stringify(audit));
    before = ',';
  }
  print(before === ',' ? ']}' : `${before}]}`);
}

const WIDEST_STATUS = 'DIFFERENT'.length;

const toRow = (audit: Audit): string[] => [
  audit.walletId,
  audit.status.padEnd(WIDEST_STATUS),
  audit.toLedger === null ? '' : `ledgers ${audit.fromLedger} to ${audit.toLedger}`,
  audit.missingPayments === 0 ? '' : `${audit.missingPayments} missing payments recorded`,
  audit.reason ??
    audit.assets
      .filter(({ difference }) => difference !== '0')
      .map(({ difference, assetCode }) => `${difference} ${assetCode}`)
      .join(', '),
];
