/** Administration from the shell, on the same database as the service, whether or not the service runs. */
import '../core/node-version.js';
import { pino } from 'pino';
import { NETWORKS } from '../../contracts/networks.js';
import { monotonicClock, systemClock } from '../clock.js';
import { retryParked } from '../collect/parked.js';
import { originOf, readConfig } from '../config.js';
import { createCore } from '../core/core.js';
import { openDatabase } from '../core/database.js';
import { closeLedgers, createLedgers } from '../core/ledgers.js';
import { checkSecretsKey, openSecretsKey, resealSecrets } from '../core/secrets-key.js';
import { createIds } from '../domain/ids.js';
import { createSecretBox } from '../domain/secrets.js';
import { jobsOf } from '../jobs/table.js';
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
  const { requestBudgets } = system;
  const ledgersDeps = { requestBudgets, clock, monotonic: monotonicClock, log };
  // A parked record may be of a network that is no longer watched.
  const ledgers = createLedgers(ledgersDeps, config, { networks: NETWORKS, localUrl: localLedgerUrl() });
  const core = createCore({
    stores,
    transaction,
    ledgers,
    publicUrl: config.publicUrl ?? originOf(config.host, config.port),
    clock,
    monotonic: monotonicClock,
    newId,
    processId: `cli${clock.randomBytes(8).toString('hex')}`,
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
    retryParked: (record) => retryParked({ ...system, ...core }, record),
    clock,
    newId,
    async close() {
      await closeLedgers(ledgers);
      await close();
    },
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
