/** `audit`: holds the balances of wallets against everything that moved them. */
import type { Command } from 'commander';
import type { Audit } from '../resources/audit.js';
import { type Connect, connected, print, printTable } from './program.js';

export function registerAuditCommand(program: Command, connect: Connect<'audit'>): void {
  program
    .command('audit')
    .description('hold the balances of wallets against everything that moved them since the last audit')
    .option('--wallet <id>', 'only this wallet; else every active wallet')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { wallet?: string; json?: true }) =>
      connected(connect, async ({ audit }) => {
        const audits = await audit(options.wallet ?? null);
        if (options.json) return print(JSON.stringify({ audits }));
        printTable(audits.map(toRow));
      }),
    );
}

const toRow = (audit: Audit): string[] => [
  audit.walletId,
  audit.status,
  audit.toLedger === null ? '' : `ledgers ${audit.fromLedger} to ${audit.toLedger}`,
  audit.missingPayments === 0 ? '' : `${audit.missingPayments} missing payments recorded`,
  audit.reason ??
    audit.assets
      .filter(({ difference }) => difference !== '0')
      .map(({ difference, assetCode }) => `${difference} ${assetCode}`)
      .join(', '),
];
