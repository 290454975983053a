/** Wires everything by hand, in order; what was opened last is closed first. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type Network, networkInfo } from '../../contracts/networks.js';
import { type Clock, monotonicClock, systemClock } from '../clock.js';
import { createCheckoutExpiry } from '../collect/checkout-expiry.js';
import { createDestinationCheck } from '../collect/destination-check.js';
import { createFlagGap } from '../collect/flag-gap.js';
import { createLedgerStamper } from '../collect/ledger-stamper.js';
import { createRecorder } from '../collect/recorder.js';
import { createWatcher } from '../collect/watcher.js';
import { type Config, originOf } from '../config.js';
import { createIds } from '../domain/ids.js';
import { createSecretBox } from '../domain/secrets.js';
import { StartupError } from '../domain/startup-error.js';
import { createOutbox } from '../events/outbox.js';
import { createSequencer } from '../events/sequencer.js';
import { createHttpApp } from '../http/app.js';
import { clientAddressOf } from '../http/client-address.js';
import { createMetrics } from '../http/metrics.js';
import { createOperationsApp } from '../http/operations.js';
import { createRateLimit } from '../http/rate-limit.js';
import { createReadiness } from '../http/readiness.js';
import { listen } from '../http/server.js';
import { type Jobs, startJobs } from '../jobs/agenda.js';
import { WrongNetwork } from '../ledger/errors.js';
import { createHorizon, type Horizon } from '../ledger/horizon/source.js';
import { createLedgerClient, type LedgerClient } from '../local-ledger/client.js';
import { serveLocalLedger } from '../local-ledger/serve.js';
import { createPageRouter, type PageRouter } from '../page/router.js';
import { createPageSource, toPagePayment } from '../page/source.js';
import { createStatusFeed } from '../page/status-feed.js';
import type { TestPayer } from '../page/types.js';
import { createAccountService } from '../services/account.js';
import { createApiKeyService } from '../services/api-keys.js';
import { createAuthentication } from '../services/authentication.js';
import type { Services } from '../services/caller.js';
import { createCheckoutService } from '../services/checkouts.js';
import { createDeliveryService } from '../services/deliveries.js';
import { createEventService } from '../services/events.js';
import { createIdempotency } from '../services/idempotency.js';
import { createPaymentLinkService } from '../services/payment-links.js';
import { createPaymentService } from '../services/payments.js';
import { createProductService } from '../services/products.js';
import { createQuota } from '../services/quota.js';
import { createReadSync } from '../services/wallet-sync.js';
import { createWalletService } from '../services/wallets.js';
import { createWebhookService } from '../services/webhooks.js';
import type { Stores } from '../stores/index.js';
import { isResumable } from '../stores/payment-changes.js';
import { readDevelopmentCa } from '../webhooks/development-ca.js';
import { createDispatcher } from '../webhooks/dispatch.js';
import { createPause } from '../webhooks/pause.js';
import { createPoster } from '../webhooks/poster.js';
import { createSend } from '../webhooks/send.js';
import { openDatabase, toStartupError } from './database.js';
import { bindJobs, housekeeping, pollLedger, retryWebhooks } from './jobs.js';
import { checkSecretsKey, openSecretsKey } from './secrets-key.js';

export type Role = 'all' | 'api' | 'worker';
export const ROLES: readonly Role[] = ['all', 'api', 'worker'];

export interface Context {
  config: Config;
  /** Where this process listens. */
  url: string;
  publicUrl: string;
  services: Services;
  stores: Stores;
  /** Null when LOCAL is not watched, or is served by somebody else's Horizon. */
  localLedger: { url: string; client: LedgerClient } | null;
  /** Lets what is in flight finish, for at most `graceMs`. */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 8000;
/** Between the end of readiness and the end of listening. */
const NOTICE_MS = 1000;

/** @throws StartupError with one line for the operator. What was opened before is closed again. */
export async function createContext(deps: {
  config: Config;
  role: Role;
  clock: Clock;
  log: Logger;
  onProgress?: (line: string) => void;
}): Promise<Context> {
  const { config, role, clock, log, onProgress = () => undefined } = deps;
  const opened: ((graceMs: number) => unknown)[] = [];
  const onClose = (close: (graceMs: number) => unknown) => void opened.push(close);
  const close = async (graceMs = GRACE_MS) => {
    for (;;) {
      const next = opened.pop();
      if (!next) return;
      try {
        await next(graceMs);
      } catch (error) {
        log.warn({ err: error }, 'not closed cleanly');
      }
    }
  };

  try {
    const newId = createIds(clock);
    const processId = `p${clock.randomBytes(8).toString('hex')}`;
    const port = config.port === 0 ? await freePort(config.host) : config.port;
    const url = originOf(config.host, port);
    const publicUrl = config.publicUrl ?? url;
    await refuseTakenPort(config.host, port);

    const { database, stores, close: closeDatabase } = await openDatabase({ clock, newId, log, onProgress }, config);
    onClose(closeDatabase);
    const { connection, transaction } = database;
    const { forAccount, system } = stores;
    const secrets = createSecretBox(await openSecretsKey(config.secretsKeys, config.dataDir), clock);
    await checkSecretsKey(system.installation, secrets);

    const localLedger = await openLocalLedger();
    const horizons = new Map<Network, Horizon>();
    for (const network of config.networks) {
      const urls = config.horizonUrls[network].length > 0 ? config.horizonUrls[network] : [localLedger!.url];
      const budget = network === 'LOCAL' ? null : system.requestBudgets.of(network, config.horizonRequestsPerHour);
      const { passphrase } = networkInfo[network];
      const horizon = createHorizon({ network, urls, passphrase, budget, clock, monotonic: monotonicClock, log });
      onClose(() => horizon.close());
      horizons.set(network, horizon);
    }

    const poster = createPoster({
      allowPrivate: config.webhookAllowPrivate,
      timeoutMs: config.webhookTimeoutMs,
      clock,
      developmentCa: () => readDevelopmentCa(config.dataDir),
    });
    onClose(() => poster.close());
    const metrics = createMetrics({ ...system, clock });
    const outbox = createOutbox({ ...system, newId, publicUrl });
    const pause = createPause({ ...system, outbox, transaction, eventsStored: () => sequencer.wake() });
    const dispatcher = createDispatcher({
      ...system,
      pause,
      poster,
      secrets,
      clock,
      log,
      settings: {
        timeoutMs: config.webhookTimeoutMs,
        retryBaseMs: config.webhookRetryBaseMs,
        maxAttempts: config.webhookMaxAttempts,
      },
      onAttempt: ({ status }) => metrics.attempted(status),
    });
    const sequencer = createSequencer({
      ...system,
      transaction,
      holder: processId,
      clock,
      log,
      deliveriesOpened: () => dispatcher.wake(),
    });
    const stamper = createLedgerStamper({ ...system, horizons, clock, host: hostname() });
    const { networks } = config;
    const send = createSend({ poster, secrets, clock, log });
    const eventsStored = () => sequencer.wake();
    const deliveriesDue = () => dispatcher.wake();
    const quotaOf = (collection: 'apiKeys' | 'wallets' | 'webhooks', max: number, what: string) =>
      createQuota({
        transaction,
        forAccount,
        count: (accountId, session) => forAccount(accountId)[collection].count(session),
        max,
        what,
      });
    const services: Services = {
      account: createAccountService({ forAccount }),
      apiKeys: createApiKeyService({
        forAccount,
        transaction,
        clock,
        newId,
        quota: quotaOf('apiKeys', config.maxApiKeysPerAccount, 'API keys'),
      }),
      wallets: createWalletService({
        forAccount,
        readSync: createReadSync({ ...system, clock }),
        stamper,
        networks,
        clock,
        newId,
        quota: quotaOf('wallets', config.maxWalletsPerAccount, 'wallets'),
      }),
      products: createProductService({ forAccount, transaction, stamper, clock, newId }),
      paymentLinks: createPaymentLinkService({ forAccount, transaction, stamper, clock, newId, publicUrl }),
      checkouts: createCheckoutService({
        forAccount,
        paymentLinks: system.paymentLinks,
        outbox,
        transaction,
        stamper,
        clock,
        newId,
        publicUrl,
        eventsStored,
      }),
      payments: createPaymentService({ forAccount, outbox, transaction, eventsStored, clock }),
      events: createEventService({ forAccount, eventsStored, clock }),
      webhooks: createWebhookService({
        forAccount,
        secrets,
        send,
        deliveriesDue,
        clock,
        newId,
        publicUrl,
        quota: quotaOf('webhooks', config.maxWebhooksPerAccount, 'webhooks'),
      }),
      deliveries: createDeliveryService({ forAccount, deliveriesDue }),
    };

    const readiness = createReadiness({ database, ...system, networks, clock });

    let jobs: Jobs | null = null;
    if (role !== 'api') {
      await Promise.all([...horizons.values()].map(refuseWrongNetwork));
      const pollOf = (network: Network) => {
        const watcher = createWatcher({
          ...system,
          network,
          flagGap: createFlagGap({ ...system, outbox, transaction, eventsStored }),
          recorder: createRecorder({ ...system, outbox, transaction, newId }),
          clock,
          log,
          metrics: metrics.ofWatcher(network),
          host: hostname(),
          paymentsStored: eventsStored,
        });
        const requestsPerHour = network === 'LOCAL' ? null : config.horizonRequestsPerHour;
        return pollLedger({
          ...system,
          network,
          watcher,
          horizon: horizons.get(network)!,
          holder: processId,
          pollIntervalMs: config.pollIntervalMs,
          requestsPerHour,
          clock,
          monotonic: monotonicClock,
          log,
        });
      };
      const db = connection.db!;
      const bound = bindJobs(networks, {
        'poll ledger PUBLIC': () => pollOf('PUBLIC'),
        'poll ledger TESTNET': () => pollOf('TESTNET'),
        'poll ledger LOCAL': () => pollOf('LOCAL'),
        'number events': () => async (limits) => {
          await sequencer.run(limits.enough);
          return { result: {} };
        },
        'deliver webhooks': () => async (limits) => ({
          result: await dispatcher.drain(limits.ended, limits.enough),
        }),
        'expire checkouts': () => {
          const expiry = createCheckoutExpiry({ ...system, outbox, transaction, clock, log, eventsStored });
          return async ({ ended }) => ({ result: { looked: await expiry.run(ended) } });
        },
        'retry webhooks': () => retryWebhooks({ deliveries: system.deliveries, dispatcher, clock }),
        housekeeping: () =>
          housekeeping({ db, transaction, jobs: system.jobs, countSegments: system.countSegments, clock, log }, config),
      });
      jobs = await startJobs({ db, store: system.jobs, jobs: bound, processId, clock, log });
    }

    let pages: PageRouter | null = null;
    let api: Parameters<typeof createHttpApp>[0]['api'];
    if (role !== 'worker') {
      const authentication = createAuthentication({ apiKeys: system.apiKeys, forAccount, clock, log });
      onClose(() => authentication.close());
      const status = createStatusFeed({ payments: system.payments.changes, isResumable, toPagePayment, clock, log });
      onClose(() => status.close());
      pages = createPageRouter({
        pages: createPageSource({
          paymentLinks: system.paymentLinks,
          checkouts: system.checkouts,
          forAccount,
          destinationCheck: createDestinationCheck({ horizons, clock }),
          clock,
        }),
        status,
        testPayer: localLedger && toTestPayer(localLedger.client),
        clock,
        log,
        publicUrl,
        limit: createRateLimit(config.publicRateLimitPerMinute, clock),
        addressOf: clientAddressOf,
      });
      api = {
        services,
        authenticate: authentication.authenticate,
        idempotency: createIdempotency({ forAccount, clock, newId, log }),
        networks,
        rateLimitPerMinute: config.rateLimitPerMinute,
        publicRateLimitPerMinute: config.publicRateLimitPerMinute,
        openapiJson: await readOpenApi(),
        pages,
      };
    }
    const operations = { unreadiness: readiness.reasons, metrics: metrics.registry };
    if (config.metricsPort !== null) {
      const served = await listen(createOperationsApp(operations), config.host, config.metricsPort, clock, {
        setting: 'METRICS_PORT',
      });
      onClose((graceMs) => served.close(graceMs));
    }
    const app = createHttpApp({
      ...operations,
      trustProxy: config.trustProxy,
      hasMetricsPort: config.metricsPort !== null,
      log,
      clock,
      api,
    });
    const server = await listen(app, config.host, port, clock);
    onClose(async (graceMs) => {
      readiness.stop();
      // Open event streams would keep the server waiting.
      pages?.close();
      // Whoever asks in the meantime learns of it while there still is an answer.
      const noticeMs = Math.min(NOTICE_MS, graceMs / 8);
      const closing = systemClock.sleep(noticeMs).then(() => server.close(graceMs - noticeMs));
      await Promise.all([closing, jobs?.close()]);
    });
    return { config, url, publicUrl, services, stores, localLedger, close };

    async function openLocalLedger() {
      if (!config.networks.includes('LOCAL') || config.horizonUrls.LOCAL.length > 0) return null;
      const served = await serveLocalLedger({
        db: connection.db!,
        clock,
        log,
        host: config.host,
        port: config.localLedgerPort,
        closeMs: config.localLedgerCloseMs,
      });
      onClose(() => served.close());
      const client = createLedgerClient({ url: served.url, passphrase: networkInfo.LOCAL.passphrase });
      return { url: served.url, client };
    }
  } catch (error) {
    await close(0);
    throw toStartupError(error);
  }
}

function toTestPayer(client: LedgerClient): TestPayer {
  return {
    async pay({ destination, ...payment }) {
      try {
        const { hash } = await client.pay({ to: destination, ...payment });
        return { paid: true, transactionHash: hash };
      } catch (error) {
        return { paid: false, message: (error as Error).message };
      }
    },
  };
}

/** Refused at the start: money of another network must never be taken for money of this one. An absent Horizon is no reason not to start. */
async function refuseWrongNetwork(horizon: Horizon): Promise<void> {
  try {
    await horizon.checkNetwork();
  } catch (error) {
    if (error instanceof WrongNetwork) throw new StartupError(`${error.message}: check HORIZON_URLS and NETWORKS.`);
    throw error;
  }
}

/** Before anything is started or written: a second service that was started by mistake should say so at once. */
async function refuseTakenPort(host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE')
        reject(new StartupError(`PORT ${port} is taken on ${host}: set PORT to a free one.`));
      else resolve();
    });
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}

async function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host, port: 0 }, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/** The committed file, whether this runs from the sources or from dist. */
async function readOpenApi(): Promise<Buffer> {
  for (const path of ['../../openapi.json', '../../../openapi.json']) {
    const found = await readFile(new URL(path, import.meta.url)).catch(() => null);
    if (found) return found;
  }
  throw new Error('openapi.json is missing');
}
