/** Administration from the shell, on the same database as the service, whether or not the service runs. */
import '../core/node-version.js';
import { pino } from 'pino';
import { type Network, networkInfo } from '../../contracts/networks.js';
import { systemClock } from '../clock.js';
import { retryParked } from '../collect/parked.js';
import { createRecorder } from '../collect/recorder.js';
import { originOf, readConfig } from '../config.js';
import { openDatabase } from '../core/database.js';
import { checkSecretsKey, openSecretsKey, resealSecrets } from '../core/secrets-key.js';
import { createIds } from '../domain/ids.js';
import { createSecretBox } from '../domain/secrets.js';
import { createOutbox } from '../events/outbox.js';
import { jobsOf } from '../jobs/table.js';
import { createHorizon } from '../ledger/horizon/source.js';
import { registerLedgerCommands } from '../local-ledger/cli.js';
import { createApiKeyService } from '../services/api-keys.js';
import { unlimited } from '../services/quota.js';
import { sealedValues } from '../stores/sealed-values.js';
import { DEVELOPMENT_CA_FILE } from '../webhooks/development-ca.js';
import { registerAccountCommands } from './account.js';
import { registerJobCommands } from './jobs.js';
import { registerKeyCommands } from './key.js';
import { registerParkedCommands } from './parked.js';
import { type Administration, createProgram, runProgram } from './program.js';
import { registerSecretsCommands } from './secrets.js';
import { registerWebhookCommands } from './webhook.js';

const clock = systemClock;
const newId = createIds(clock);

async function connect(): Promise<Administration> {
  const config = readConfig();
  const log = pino({ level: 'silent' });
  // Progress goes to stderr: stdout belongs to the command's answer.
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const { database, stores, close } = await openDatabase({ clock, newId, log, onProgress }, config);
  const { forAccount, system } = stores;
  const { transaction } = database;
  const apiKeyService = createApiKeyService({ forAccount, transaction, clock, newId, quota: unlimited });
  const publicUrl = config.publicUrl ?? originOf(config.host, config.port);
  const outbox = createOutbox({ ...system, newId, publicUrl });
  const recorder = createRecorder({ ...system, outbox, transaction, newId });
  const horizonOf = (network: Network) =>
    createHorizon({
      network,
      urls: network === 'LOCAL' ? [localLedgerUrl()] : config.horizonUrls[network],
      passphrase: networkInfo[network].passphrase,
      budget: network === 'LOCAL' ? null : system.requestBudgets.of(network, config.horizonRequestsPerHour),
      clock,
      log,
    });
  return {
    ...system,
    apiKeyService,
    async jobReports() {
      const jobs = jobsOf(config.networks);
      const states = await system.jobs.states(
        jobs.map(({ name }) => name),
        clock.now(),
      );
      return jobs.map((job, index) => ({ job, state: states[index]! }));
    },
    async resealSecrets() {
      const secrets = createSecretBox(await openSecretsKey(config.secretsKeys, config.dataDir), clock);
      await checkSecretsKey(system.installation, secrets);
      return resealSecrets(sealedValues(database.connection.db!), secrets);
    },
    retryParked: (record) => retryParked({ ...system, horizonOf, recorder, clock }, record),
    clock,
    newId,
    close,
  };
}

function localLedgerUrl(): string {
  const { host, localLedgerPort, horizonUrls } = readConfig();
  return horizonUrls.LOCAL[0] ?? originOf(host, localLedgerPort);
}

const program = createProgram('npm run cli --', 'Administration of stellar-collect.');
registerAccountCommands(program, connect);
registerJobCommands(program, connect);
registerKeyCommands(program, connect);
registerParkedCommands(program, connect);
registerSecretsCommands(program, connect);
registerWebhookCommands(program, {
  clock,
  settings: () => {
    const { host, port, publicUrl, dataDir } = readConfig();
    return { url: publicUrl ?? originOf(host, port), dataDir, certificateFile: DEVELOPMENT_CA_FILE };
  },
});
registerLedgerCommands(program, () => ({ url: localLedgerUrl() }));

process.exitCode = await runProgram(program, process.argv.slice(2));
