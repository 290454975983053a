/** What an API process serves besides the services: who may call, the hosted pages, the specification. */
import { readFile } from 'node:fs/promises';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { createDestinationCheck } from '../collect/destination-check.js';
import { createPayerLedger } from '../collect/payer-ledger.js';
import type { Config } from '../config.js';
import type { HttpApi } from '../http/app.js';
import { clientAddressOf } from '../http/client-address.js';
import { createRateLimit } from '../http/rate-limit.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { createPageRouter, type PageRouter } from '../page/router.js';
import { createPageSource, toPagePayment } from '../page/source.js';
import { createStatusFeed } from '../page/status-feed.js';
import type { TestPayer } from '../page/types.js';
import { createAuthentication } from '../services/authentication.js';
import type { Services } from '../services/caller.js';
import { createExportService } from '../services/exports.js';
import { createIdempotency } from '../services/idempotency.js';
import { createSessions, SESSION_MS } from '../services/sessions.js';
import type { Database } from '../stores/database.js';
import { isResumable } from '../stores/payment-changes.js';
import type { Core } from './core.js';
import { requestsPerHourOf } from './ledgers.js';

export interface Api {
  http: HttpApi & { pages: PageRouter };
  /** After the server has closed. */
  close(): Promise<void>;
}

export interface ApiOptions {
  config: Config;
  services: Services;
  snapshot: Database['snapshot'];
  /** The keys that verify deliveries, as they are published. */
  webhookKeys: HttpApi['webhookKeys'];
  /** Pays from a test account on the built-in ledger; null without one. */
  testPayer: TestPayer | null;
}

export async function createApi(
  core: Core,
  { config, services, snapshot, webhookKeys, testPayer }: ApiOptions,
): Promise<Api> {
  const { stores, ledgers, publicUrl, clock, newId, log } = core;
  const { forAccount, system } = stores;
  const { apiKeys, checkouts, paymentLinks, payments } = system;
  const { networks, rateLimitPerMinute, publicRateLimitPerMinute } = config;
  const openapiJson = await readFile(new URL('openapi.json', PACKAGE_ROOT));
  const authentication = createAuthentication({ apiKeys, forAccount, clock, log });
  const status = createStatusFeed({ payments: payments.changes, isResumable, toPagePayment, clock, log });
  const destinationCheck = createDestinationCheck({ ledgers, clock });
  const pages = createPageRouter({
    pages: createPageSource({ paymentLinks, checkouts, forAccount, destinationCheck, clock }),
    status,
    testPayer,
    payerLedger: createPayerLedger({ ledgers, share: payersShare(config, clock) }),
    clock,
    log,
    publicUrl,
    limitWallet: createRateLimit(Math.min(WALLET_REQUESTS_PER_MINUTE, publicRateLimitPerMinute), clock),
    limit: createRateLimit(publicRateLimitPerMinute, clock),
    addressOf: clientAddressOf,
  });
  return {
    http: {
      services,
      exports: createExportService({ forAccount, snapshot, publicUrl }),
      authenticate: authentication.authenticate,
      idempotency: createIdempotency({ forAccount, clock, newId, log }),
      networks,
      rateLimitPerMinute,
      publicRateLimitPerMinute,
      openapiJson,
      webhookKeys,
      pages,
      dashboard: {
        sessions: createSessions({ sessions: system.sessions, authentication, clock }),
        sessionMs: SESSION_MS,
        publicUrl,
      },
    },
    async close() {
      await status.close();
      await authentication.close();
    },
  };
}

/** Of one client address: a payer needs two for a payment. */
const WALLET_REQUESTS_PER_MINUTE = 20;
/** The part of a network's request budget that payers may use, in each process. */
const PAYERS_PART = 1 / 4;

function payersShare(config: Config, clock: Clock): (network: Network) => number {
  const limits = new Map(
    config.networks.map((network) => {
      const requestsPerHour = requestsPerHourOf(network, config);
      const perMinute = requestsPerHour === null ? 0 : Math.max(1, Math.floor((requestsPerHour / 60) * PAYERS_PART));
      return [network, createRateLimit(perMinute, clock)];
    }),
  );
  return (network) => limits.get(network)!(network);
}
