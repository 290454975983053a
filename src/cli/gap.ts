/** `gap mend`: reads ledgers that wallets missed from a Horizon that still has them. */

import type { Command } from 'commander';
import type { MendOutcome } from '../watching/index.js';
import { type Connect, connected, print, printTable } from './program.js';

/** The result for a wallet's gaps. */
export interface MendReport {
  walletId: string;
  outcome: MendOutcome;
}

const REASONS = {
  no_source: 'it does not have these ledgers',
  away: 'it does not answer, or its answer cannot be understood',
  busy: 'they are being mended already',
};

export function registerGapCommands(program: Command, connect: Connect<'mendGaps'>): void {
  program
    .command('gap')
    .description('ledgers that wallets missed')
    .command('mend')
    .description('read missed ledgers from a Horizon that still has them, and record their payments')
    .requiredOption('--horizon <url>', 'base URL of the Horizon, which says what network it serves')
    .option('--wallet <id>', 'only this wallet; else every wallet of that network with a gap')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { horizon: string; wallet?: string; json?: true }) => {
      const url = URL.canParse(options.horizon) ? new URL(options.horizon) : null;
      if (!url || !/^https?:$/.test(url.protocol)) throw new Error('--horizon: Must be an http or https URL.');
      return connected(connect, async ({ mendGaps }) => {
        const reports = await mendGaps(url.href, options.wallet ?? null);
        if (options.json) return print(JSON.stringify({ wallets: reports.map(toJson) }));
        printTable(reports.map((report) => [report.walletId, sayOf(report.outcome)]));
      });
    });
}

const toJson = ({ walletId, outcome }: MendReport) =>
  typeof outcome === 'string'
    ? { walletId, error: REASONS[outcome] }
    : { walletId, mended: outcome.mended, open: outcome.open };
const sayOf = (outcome: MendOutcome): string =>
  typeof outcome === 'string' ? REASONS[outcome] : `${outcome.mended} mended, ${outcome.open} left`;
