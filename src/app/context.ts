/** Composes the service; parts close in the reverse order of opening. */

import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { type Commit, createKeyWatch, type SetupCode, type WatchCaller } from '../accounts/index.js';
import { createHttpApp } from '../api/app.js';
import { createHealthApp } from '../api/health.js';
import { createMetrics } from '../api/metrics.js';
import { createReadiness } from '../api/readiness.js';
import { listen } from '../api/server.js';
import { createLedgerStamper, type LedgerStamper } from '../asking/index.js';
import type { Pair } from '../domain/rate.js';
import type { PayUri } from '../domain/sep7.js';
import { createEventNotifier, createEventTail, type EventNotifier, type EventTail } from '../events/index.js';
import type { Services } from '../kit/caller.js';
import { type Clock, monotonicClock, systemClock } from '../kit/clock.js';
import { createIds } from '../kit/ids.js';
import { createSecretBox, type SecretBox } from '../kit/secrets.js';
import type { LedgerClient } from '../local-ledger/index.js';
import type { ReadProof } from '../proving/index.js';
import type { NeedRate } from '../rates/index.js';
import { openPayRequests } from '../selling/index.js';
import type { Stores } from '../stores.js';
import {
  createKeyring,
  createPoster,
  createSend,
  type Keyring,
  type Poster,
  readDevelopmentCa,
} from '../webhooks/index.js';
import { type Api, createApi } from './api.js';
import { createAuditing } from './auditing.js';
import { type Config, originOf } from './config.js';
import { type Core, createCore } from './core.js';
import { setupCodeOf } from './installation.js';
import { startWorkerJobs } from './job-runs.js';
import { closeLedgers, createLedgers, refuseUnfitServers, requestsPerHourOf } from './ledgers.js';
import {
  checkBuiltInLedger,
  hasBuiltInLedger,
  openBuiltInLedger,
  toTestPayer,
  type UsablePort,
  usablePort,
} from './local-ledger.js';
import { composeMailer, mailBoundsOf } from './mailing.js';
import { createNamedMending } from './named-sources.js';
import { openDatabase, toStartupError } from './open-database.js';
import { createProving } from './proving.js';
import { createRates, type Rates } from './rates.js';
import { checkSecretsKey, openSecretsKey } from './secrets-key.js';
import { createOrders, createServices } from './services.js';
import { createWorker, type Worker } from './worker.js';

export type Role = 'all' | 'api' | 'worker';
export const ROLES: readonly Role[] = ['all', 'api', 'worker'];

export interface Context {
  config: Config;
  /** Where this process listens. */
  url: string;
  publicUrl: string;
  services: Services;
  stores: Stores;
  commit: Commit;
  setupCode: SetupCode;
  /** Null when LOCAL is not watched, or the settings name sources for it. */
  localLedger: { url: string; client: LedgerClient } | null;
  /** Waits at most `graceMs` for work in flight. */
  close(graceMs?: number): Promise<void>;
}

interface ContextDeps {
  config: Config;
  role: Role;
  clock: Clock;
  log: Logger;
  onProgress?: (line: string) => void;
}

const GRACE_MS = 8000;
/** Between the end of readiness and the end of listening. */
const NOTICE_MS = 1000;

type OnClose = (close: (graceMs: number) => unknown) => void;

/** @throws StartupError with one line for the operator, after closing what was opened */
export async function createContext(deps: ContextDeps): Promise<Context> {
  const opened: ((graceMs: number) => unknown)[] = [];
  const close = async (graceMs = GRACE_MS) => {
    for (;;) {
      const next = opened.pop();
      if (!next) return;
      try {
        await next(graceMs);
      } catch (error) {
        deps.log.warn({ err: error }, 'not closed cleanly');
      }
    }
  };
  try {
    return { ...(await compose(deps, (each) => void opened.push(each))), close };
  } catch (error) {
    await close(0);
    throw toStartupError(error);
  }
}

async function compose(deps: ContextDeps, onClose: OnClose): Promise<Omit<Context, 'close'>> {
  const { config, role, clock, log } = deps;
  const usable = await usablePort(config.host, config.port, 'PORT');
  onClose(usable.release);
  if (config.metricsPort !== null) {
    const { release } = await usablePort(config.host, config.metricsPort, 'METRICS_PORT');
    await release();
  }
  if (hasBuiltInLedger(config)) await checkBuiltInLedger(config);
  const url = originOf(config.host, usable.port);
  const publicUrl = config.publicUrl ?? url;

  const { core, database, secrets, localLedger } = await openCore(deps, publicUrl, onClose);
  const { stores } = core;
  const { networkStates, parkedRecords, mails } = stores.system;
  const metrics = createMetrics({ ...stores.system, networks: config.networks, clock });
  const poster = createPoster({
    allowPrivate: config.webhookAllowPrivate,
    timeoutMs: config.webhookTimeoutMs,
    clock,
    developmentCa: () => readDevelopmentCa(config.dataDir),
  });
  onClose(() => poster.close());
  const keyring = createKeyring({ webhookKeys: stores.system.webhookKeys, secrets, clock });
  const { signers } = keyring;
  const worker = role === 'api' ? null : composeWorker(core, config, { secrets, signers, poster, metrics });
  const events = openEventTail(core, {
    maxOpenPerAccount: config.maxStreamsPerAccount,
    isStreamLate: database.isSharded,
  });
  onClose(() => events.close());
  const { payUri, stellarToml } = await openPayRequests(
    { requestKeys: stores.system.requestKeys, secrets, clock },
    publicUrl,
  );
  const stamper = composeStamper(core);
  const rates = composeRates(core, config, { stamper, metrics, localUrl: localLedger?.url ?? null });
  onClose(() => rates.close());
  const proving = createProving(core, config, {
    localUrl: localLedger?.url ?? null,
    keyring,
    onTried: metrics.provingTried,
  });
  onClose(() => proving.close());
  const parts = {
    ...{ secrets, signers, poster, tail: events.tail, stamper, needRate: rates.sampler.need, payUri },
    readProof: proving.read,
  };
  const services = composeServices(core, config, parts);

  if (worker) await refuseUnfitServers(core.ledgers);
  const db = database.connection.db!;
  const auditor = worker && createAuditing(core, config);
  const jobs =
    worker &&
    auditor &&
    (await startWorkerJobs(core, worker, { db, config, auditor, prover: proving.prover, sampler: rates.sampler }));
  if (jobs) onClose(jobs.close);
  const setupCode = setupCodeOf(core, config, secrets);
  const api =
    role === 'worker'
      ? null
      : await createApi(core, {
          config,
          services,
          snapshot: database.snapshot,
          watch: events.watch,
          followEvents: database.isSharded ? events.follow : null,
          guard: database.guard,
          setupCode,
          webhookKeys: keyring.published,
          payUri,
          stellarToml,
          proofs: proving.pages,
          takeOrder: createOrders(core, { networks: config.networks, needRate: rates.sampler.need }),
          testPayer: localLedger && toTestPayer(localLedger.client),
        });
  if (api) onClose(() => api.close());

  const ratePairs = config.rates.sources.length > 0 ? stores.system.ratePairs : null;
  const watched = { networkStates, parkedRecords, ratePairs, mails: config.mail && mails, networks: config.networks };
  const readiness = createReadiness({ database, ...watched, clock });
  const closing = { readiness, events, api, jobs };
  await serve({ config, clock, log, usable, metrics: metrics.registry, ...closing }, onClose);
  return { config, url, publicUrl, services, stores, commit: core.commit, setupCode, localLedger };
}

async function openCore(deps: ContextDeps, publicUrl: string, onClose: OnClose) {
  const { config, clock, log, onProgress = () => undefined } = deps;
  const newId = createIds(clock);
  const { database, stores, close } = await openDatabase({ clock, newId, log, onProgress }, config);
  onClose(close);
  const { installation, requestBudgets, networkStates } = stores.system;
  const secrets = createSecretBox(await openSecretsKey(config.secretsKeys, config.dataDir), clock);
  await checkSecretsKey(installation, secrets);
  const localLedger = hasBuiltInLedger(config) ? await openBuiltInLedger({ database, clock, log }, config) : null;
  if (localLedger) onClose(localLedger.close);
  const monotonic = monotonicClock;
  const ledgers = createLedgers({ requestBudgets, networkStates, clock, monotonic, log }, config, {
    networks: config.networks,
    localUrl: localLedger?.url ?? null,
  });
  onClose(() => closeLedgers(ledgers));
  const { transaction, isSharded } = database;
  const processId = `p${clock.randomBytes(8).toString('hex')}`;
  const common = { stores, transaction, isSharded, ledgers, publicUrl, clock, monotonic, newId, processId, log };
  const core = createCore({ ...common, rateTimes: config.rates, mail: mailBoundsOf(config) });
  return { core, database, secrets, localLedger };
}

function composeWorker(
  core: Core,
  config: Config,
  deps: { secrets: SecretBox; signers: Keyring['signers']; poster: Poster; metrics: ReturnType<typeof createMetrics> },
): Worker {
  const { secrets, signers, poster, metrics } = deps;
  return createWorker(core, {
    secrets,
    signers,
    poster,
    delivery: {
      timeoutMs: config.webhookTimeoutMs,
      retryBaseMs: config.webhookRetryBaseMs,
      maxAttempts: config.webhookMaxAttempts,
    },
    onAttempt: ({ status }) => metrics.attempted(status),
    mailer: composeMailer(core, config, metrics.mailed),
    polling: {
      intervalMs: config.pollIntervalMs,
      requestsPerHour: (network) => requestsPerHourOf(network, config),
      metrics: metrics.ofWatcher,
      host: hostname(),
    },
  });
}

function composeStamper({ ledgers, stores, clock, monotonic }: Core): LedgerStamper {
  const { networkStates } = stores.system;
  return createLedgerStamper({ ledgers, networkStates, clock, monotonic, host: hostname() });
}

function composeRates(
  { stores, clock, log }: Core,
  config: Config,
  deps: { stamper: LedgerStamper; metrics: ReturnType<typeof createMetrics>; localUrl: string | null },
): Rates {
  const { stamper, metrics, localUrl } = deps;
  const { products, accounts } = stores.system;
  const stamp = (network: Network) => stamper.stamp(network);
  // A checkout names what it needs with the pair.
  const isInUse = async ({ currency, asset: { code: assetCode, issuer: assetIssuer } }: Pair) => {
    if (await products.isPriced({ currency, assetCode, assetIssuer })) return true;
    const keepers = await accounts.idsByBooks(currency);
    return keepers.length > 0 && (assetIssuer === null || products.isPaidIn(keepers, { assetCode, assetIssuer }));
  };
  return createRates({ stores: stores.system, stamp, isInUse, metrics: metrics.ofRates, localUrl, clock, log }, config);
}

function composeServices(
  core: Core,
  config: Config,
  deps: {
    secrets: SecretBox;
    signers: Keyring['signers'];
    poster: Poster;
    tail: EventTail;
    payUri: PayUri;
    stamper: LedgerStamper;
    needRate: NeedRate;
    readProof: ReadProof;
  },
): Services {
  const { clock, log } = core;
  const { secrets, signers, poster, tail, stamper, needRate, payUri, readProof } = deps;
  return createServices(core, {
    networks: config.networks,
    secrets,
    stamper,
    needRate,
    readProof,
    tail,
    payUri,
    send: createSend({ poster, secrets, signers, clock, log }),
    mendGaps: createNamedMending(core, { allowPrivate: config.webhookAllowPrivate }),
    allowPrivate: config.webhookAllowPrivate,
    hasMail: config.mail !== null,
    limits: {
      apiKeys: config.maxApiKeysPerAccount,
      users: config.maxUsersPerAccount,
      wallets: config.maxWalletsPerAccount,
      webhooks: config.maxWebhooksPerAccount,
    },
  });
}

async function serve(
  deps: {
    config: Config;
    clock: Clock;
    log: Logger;
    usable: UsablePort;
    metrics: ReturnType<typeof createMetrics>['registry'];
    readiness: ReturnType<typeof createReadiness>;
    events: OpenEventTail;
    api: Api | null;
    jobs: { close(): Promise<void> } | null;
  },
  onClose: OnClose,
): Promise<void> {
  const { config, clock, log, usable, metrics, readiness, events, api, jobs } = deps;
  const { host, metricsPort, trustProxy } = config;
  const operations = { checkReadiness: readiness.check, metrics };
  if (metricsPort !== null) {
    const served = await listen(createHealthApp(operations), host, metricsPort, clock, { setting: 'METRICS_PORT' });
    onClose((graceMs) => served.close(graceMs));
  }
  const hasMetricsPort = metricsPort !== null;
  const app = createHttpApp({ ...operations, trustProxy, hasMetricsPort, log, clock, api: api?.http });
  await usable.release();
  const server = await listen(app, host, usable.port, clock);
  onClose(async (graceMs) => {
    readiness.stop();
    // Otherwise the server would wait for open event streams.
    api?.http.pages.close();
    void events.close();
    // Load balancers notice while the server still answers.
    const noticeMs = Math.min(NOTICE_MS, graceMs / 8);
    const closing = systemClock.sleep(noticeMs).then(() => server.close(graceMs - noticeMs));
    await Promise.all([closing, jobs?.close()]);
  });
}

// Follows events in this process for all waiting pulls and all streams, composed around the core.

interface OpenEventTail {
  tail: EventTail;
  follow: EventNotifier['follow'];
  watch: WatchCaller;
  /** Ends all waiters. May be called several times. */
  close(): Promise<void>;
}

/** The first waiter opens the change stream. @param isStreamLate change streams lag, as on a
 *  sharded cluster */
export function openEventTail(
  core: Core,
  { maxOpenPerAccount, isStreamLate }: { maxOpenPerAccount: number; isStreamLate: boolean },
): OpenEventTail {
  const { stores, clock, log } = core;
  const { eventCounters } = stores.system;
  const notifier = createEventNotifier({ eventCounters, isStreamLate, clock, log });
  const keyWatch = createKeyWatch({ ...stores.system, clock, log });
  return {
    follow: notifier.follow,
    watch: keyWatch.watch,
    tail: createEventTail({ forAccount: stores.forAccount, notifier, keyWatch, maxOpenPerAccount }),
    async close() {
      await Promise.all([notifier.close(), keyWatch.close()]);
    },
  };
}
