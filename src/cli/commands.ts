/** Administration from the shell, on the same database as the service, whether or not the service runs; installed as a package, its command also starts
 *  the service. */

import { networkInfo } from '../../contracts/networks.js';
import { originOf, readClientSettings, readConfig } from '../app/config.js';
import { commandName } from '../domain/command-name.js';
import { systemClock } from '../kit/clock.js';
import { DEVELOPMENT_CA_FILE } from '../webhooks/development-ca.js';
import { registerAccountCommands } from './account.js';
import { registerAuditCommand } from './audit.js';
import { registerBackupCommands } from './backup.js';
import { registerEventCommands } from './events.js';
import { registerExportCommands } from './export.js';
import { registerGapCommands } from './gap.js';
import { registerJobCommands } from './jobs.js';
import { registerKeyCommands } from './key.js';
import { registerMcpCommand } from './mcp.js';
import { registerParkedCommands } from './parked.js';
import { type Administration, createProgram } from './program.js';
import { registerSecretsCommands } from './secrets.js';
import { registerUserCommands } from './user.js';
import { registerWebhookCommands } from './webhook.js';
import { registerWebhookKeyCommands } from './webhook-key.js';

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
