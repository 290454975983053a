/** Connects the commands to the core around the database of these settings, whether or not the
 *  service runs. */

import { pino } from 'pino';
import { contract } from '../../contracts/index.js';
import { NETWORKS } from '../../contracts/networks.js';
import { createApiKeyService, createUserService, unlimited } from '../accounts/index.js';
import { withContextRules } from '../api/stored-rules.js';
import { auditByOperator } from '../app/auditing.js';
import { type Config, originOf, readConfig } from '../app/config.js';
import { type Core, createCore } from '../app/core.js';
import { setupCodeOf } from '../app/installation.js';
import { jobsOf } from '../app/jobs/table.js';
import { closeLedgers, createLedgers } from '../app/ledgers.js';
import { mailBoundsOf } from '../app/mailing.js';
import { mendByOperator } from '../app/named-sources.js';
import { openDatabase } from '../app/open-database.js';
import { dismissParked, rotateWebhookKey, storeResealed } from '../app/operator.js';
import { checkSecretsKey, openSecretsKey, resealSecrets, sealedRows } from '../app/secrets-key.js';
import { toAudit } from '../audit/index.js';
import { withDoing } from '../kit/caller.js';
import { monotonicClock, systemClock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import { createIds } from '../kit/ids.js';
import { createSecretBox } from '../kit/secrets.js';
import { createExportService } from '../selling/index.js';
import { retryParked } from '../watching/index.js';
import { createKeyring } from '../webhooks/index.js';
import type { Administration } from './program.js';

/** @param localLedgerUrl where LOCAL is read when it has no sources of its own */
export async function connect(localLedgerUrl: string): Promise<Administration> {
  const clock = systemClock;
  const newId = createIds(clock);
  const config = readConfig();
  const log = pino({ level: 'silent' });
  // Progress goes to stderr: stdout belongs to the command's answer.
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`);
  const { database, stores, close } = await openDatabase({ clock, newId, log, onProgress }, config);
  const { system } = stores;
  const { transaction } = database;
  const { parkedRecords, requestBudgets, networkStates, wallets } = system;
  const ledgersDeps = { requestBudgets, networkStates, clock, monotonic: monotonicClock, log };
  // A parked record may be of a network that is no longer watched.
  const ledgers = createLedgers(ledgersDeps, config, { networks: NETWORKS, localUrl: localLedgerUrl });
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
    mail: mailBoundsOf(config),
  });
  return {
    ...system,
    ...servicesOf(core, config, database),
    ...signingOf(core, config, database),
    commit: core.commit,
    async jobReports() {
      const jobs = jobsOf(config.networks);
      const states = await system.jobs.states(
        jobs.map(({ name }) => name),
        clock.now(),
      );
      return jobs.map((job, index) => ({ job, state: states[index]! }));
    },
    dismissParked: (id, why) => dismissParked(core, id, why),
    async *audit(walletId) {
      for await (const audit of auditByOperator(core, config, walletId)) yield toAudit(audit);
    },
    mendGaps: (url, walletId) => mendByOperator(core, url, walletId),
    retryParked(record) {
      const ledger = ledgers.get(record.network)!;
      const sessions = ledger.servers.map((server) => ledger.session({ purpose: 'parked' }).on(server));
      return retryParked({ wallets, parkedRecords, recorder: core.recorder, clock }, record, sessions);
    },
    clock,
    newId,
    async close() {
      await closeLedgers(ledgers);
      await close();
    },
  };
}

/** The services that commands call on behalf of an account, without the API's limits. */
function servicesOf(core: Core, config: Config, { snapshot }: Database) {
  const { commit, clock, newId, publicUrl } = core;
  const { forAccount } = core.stores;
  const quota = unlimited(commit);
  const apiKeys = withContextRules(
    contract.apiKeys,
    createApiKeyService({ forAccount, commit, clock, newId, quota }),
    () => ({ now: clock.now(), networks: config.networks, allowPrivate: config.webhookAllowPrivate }),
  );
  const users = createUserService({ forAccount, commit, clock, newId, publicUrl, quota });
  return {
    apiKeyService: withDoing('apiKeys', apiKeys),
    userService: withDoing('users', users),
    exports: createExportService({ forAccount, snapshot, publicUrl, mostOfAccount: 1 }),
  };
}

/** The keys that sign deliveries, and the values sealed with SECRETS_KEY. */
function signingOf(core: Core, config: Config, { connection }: Database) {
  const { installation, webhookKeys } = core.stores.system;
  const openSecrets = async () => {
    const secrets = createSecretBox(await openSecretsKey(config.secretsKeys, config.dataDir), core.clock);
    await checkSecretsKey(installation, secrets);
    return secrets;
  };
  const keyring = async () => createKeyring({ webhookKeys, secrets: await openSecrets(), clock: core.clock });
  return {
    setupCode: async () => setupCodeOf(core, config, await openSecrets()),
    keyring,
    rotateWebhookKey: async () => rotateWebhookKey(core, await keyring()),
    resealSecrets: async () => resealSecrets(sealedRows(connection.db!), await openSecrets(), storeResealed(core)),
  };
}
