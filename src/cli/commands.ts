/** Administration from the shell, on the same database as the service, whether or not the service
 *  runs; installed as a package, its command also starts the service. */
import type { Command } from 'commander';
import { networkInfo } from '../../contracts/networks.js';
import { originOf, readClientSettings, readConfig } from '../app/config.js';
import type { Audit } from '../audit/index.js';
import { commandName } from '../domain/command-name.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { DEVELOPMENT_CA_FILE } from '../webhooks/development-ca.js';
import { registerBackupCommands } from './backup.js';
import { registerEventCommands } from './events.js';
import { registerExportCommands } from './export.js';
import { registerAccountCommands, registerKeyCommands, registerSetupCommand, registerUserCommands } from './key.js';
import { registerParkedCommands } from './parked.js';
import {
  type Administration,
  type Connect,
  connected,
  createProgram,
  packageVersion,
  print,
  printTable,
} from './program.js';
import { registerGapCommands, registerJobCommands, toHttpUrl } from './service.js';
import { registerWebhookCommands, registerWebhookKeyCommands } from './webhook.js';

// `secrets reseal`: moves everything that is sealed to the first key of SECRETS_KEY.

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

// `audit`: holds the balances of wallets against everything that moved them.

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

// `mcp`: the operations of a running service as tools for assistants.

interface Options {
  key?: string;
  url?: string;
}

/** What the environment says, read only when the command runs. */
interface Settings {
  given: () => { apiKey: string | null; url: string | null };
  /** URL of the service that is configured here. */
  serviceUrl: () => string;
}

export function registerMcpCommand(program: Command, { clock, given, serviceUrl }: Settings & { clock: Clock }): void {
  program
    .command('mcp')
    .description('serve a running service as tools of the Model Context Protocol, on stdin and stdout')
    .option(
      '--key <key>',
      'API key of the account, or STELLAR_COLLECT_API_KEY; with scope READ only tools that read are offered',
    )
    .option('--url <url>', 'the running service, or STELLAR_COLLECT_URL; the configured one by default', toHttpUrl)
    .action(async (options: Options) => {
      const apiKey = options.key?.trim() || given().apiKey;
      if (!apiKey) throw new Error('Give an API key with --key, or set STELLAR_COLLECT_API_KEY.');
      // A header with this key would be refused with an error that repeats it.
      if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new Error('The API key has invalid characters.');
      const url = options.url ?? given().url ?? serviceUrl();
      // Loaded by nothing else: the package is large.
      const { serveMcp } = await import('../api/mcp/serve.js');
      await serveMcp({ apiKey, url, version: packageVersion() }, clock);
    });
}

/** Loaded only by the commands that need a database: the others answer at once. */
async function connect(): Promise<Administration> {
  const administration = await import('./administration.js');
  return administration.connect(localLedgerUrl());
}

function localLedgerUrl(): string {
  const { host, localLedgerPort, horizonUrls, rpcUrls } = readConfig();
  return horizonUrls.LOCAL[0] ?? rpcUrls.LOCAL[0]?.replace(/\/rpc$/, '') ?? originOf(host, localLedgerPort);
}

function serviceUrl(): string {
  const { host, port, publicUrl } = readConfig();
  return publicUrl ?? originOf(host, port);
}

export const program = createProgram(commandName(process.argv[1]), 'Administration of stellar-collect.');
program
  .command('start')
  .description('start the service; --role api or --role worker starts one role, as npm start does')
  .allowUnknownOption()
  .allowExcessArguments()
  .helpOption(false)
  .action(async () => {
    process.argv.splice(2, 1);
    await import('../app/start.js');
  });
registerAccountCommands(program, connect);
registerAuditCommand(program, connect);
registerBackupCommands(program, { clock: systemClock, settings: readConfig });
registerExportCommands(program, connect);
registerGapCommands(program, connect);
registerJobCommands(program, connect);
registerKeyCommands(program, connect);
registerMcpCommand(program, { clock: systemClock, given: readClientSettings, serviceUrl });
registerParkedCommands(program, connect);
registerSecretsCommands(program, connect);
registerSetupCommand(program, connect);
registerUserCommands(program, connect);
registerWebhookKeyCommands(program, connect);
const settings = () => ({ url: serviceUrl(), dataDir: readConfig().dataDir, certificateFile: DEVELOPMENT_CA_FILE });
registerEventCommands(program, { clock: systemClock, settings });
registerWebhookCommands(program, { clock: systemClock, settings });
export const args = process.argv.slice(2);
const ledger = program
  .command('ledger')
  .description('test accounts, assets and payments on the local ledger, and its faults on demand');
// They bring the Stellar SDK: other commands start without it.
if (args.includes('ledger')) {
  const { registerLedgerCommands } = await import('../local-ledger/index.js');
  registerLedgerCommands(ledger, () => ({ url: localLedgerUrl(), passphrase: networkInfo.LOCAL.passphrase }));
}
