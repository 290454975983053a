/** The parts of an API process besides the services: authentication, the hosted pages,
 *  the specification. */

import { readFile } from 'node:fs/promises';
import {
  createAuthentication,
  createPasskeys,
  createSessionCookie,
  createSessions,
  createSetup,
  SESSION_MS,
  type SetupCode,
  type WatchCaller,
} from '../accounts/index.js';
import type { HttpApi } from '../api/app.js';
import { createRateLimit } from '../api/authorize.js';
import { clientAddressOf } from '../api/client-address.js';
import { createIdempotency } from '../api/idempotency.js';
import { createStoredRules } from '../api/stored-rules.js';
import { createDestinationCheck, createPayerLedger } from '../asking/index.js';
import type { PayUri } from '../domain/sep7.js';
import type { EventNotifier } from '../events/index.js';
import type { Guard } from '../kit/availability.js';
import type { Services } from '../kit/caller.js';
import type { Database } from '../kit/database.js';
import { PACKAGE_ROOT } from '../kit/package-root.js';
import { createListing } from '../kit/paging.js';
import { createPageRouter, type PageRouter } from '../page/router.js';
import { createPageSource, toPagePayment } from '../page/source.js';
import { createStatusFeed } from '../page/status-feed.js';
import type { PageProofs, TestPayer } from '../page/types.js';
import { createExportService, type Download, type ExportService, type TakeOrder } from '../selling/index.js';
import type { Config } from './config.js';
import type { Core } from './core.js';

export interface Api {
  http: HttpApi & { pages: PageRouter };
  /** Call after the server has closed. */
  close(): Promise<void>;
}

interface ApiOptions {
  config: Config;
  services: Services;
  snapshot: Database['snapshot'];
  /** Tells pages of payments by events; null where a change stream is fast enough. */
  followEvents: EventNotifier['follow'] | null;
  setupCode: SetupCode;
  guard: Guard;
  watch: WatchCaller;
  /** The published keys that verify deliveries. */
  webhookKeys: () => Promise<object>;
  payUri: PayUri;
  /** Null if payment requests are not signed. */
  stellarToml: string | null;
  takeOrder: TakeOrder;
  /** Proofs for payers. */
  proofs: PageProofs;
  /** Pays from a test account on the built-in ledger; null without one. */
  testPayer: TestPayer | null;
}

export async function createApi(
  core: Core,
  {
    config,
    services,
    snapshot,
    followEvents,
    setupCode,
    guard,
    watch,
    webhookKeys,
    payUri,
    stellarToml,
    proofs,
    takeOrder,
    testPayer,
  }: ApiOptions,
): Promise<Api> {
  const { stores, ledgers, rateBook, publicUrl, clock, monotonic, newId, log } = core;
  const { forAccount, system } = stores;
  const { apiKeys, payments } = system;
  const { networks, rateLimitPerMinute, publicRateLimitPerMinute } = config;
  const openapiJson = await readFile(new URL('openapi.json', PACKAGE_ROOT));
  const authentication = createAuthentication({ apiKeys, forAccount, clock, log });
  const events = followEvents && {
    follow: followEvents,
    subjectsAfter: (accountId: string, ...after: [number, number]) =>
      forAccount(accountId).events.subjectsAfter(...after),
  };
  const feed = createStatusFeed({ payments: payments.changes, events, toPagePayment, clock, log });
  const destinationCheck = createDestinationCheck({ ledgers, clock });
  const sessions = guardEach(
    guard,
    createSessions({ sessions: system.sessions, users: system.users, authentication, clock }),
  );
  const cookie = createSessionCookie(publicUrl, SESSION_MS);
  const pages = createPageRouter({
    pages: guardEach(guard, createPageSource({ ...system, forAccount, destinationCheck, rateBook, clock })),
    status: { ...feed, since: (...since) => guard(() => feed.since(...since)) },
    takeOrder: (...order) => guard(() => takeOrder(...order)),
    proofs: guardEach(guard, proofs),
    testPayer: testPayer && guardEach(guard, testPayer),
    payerLedger: guardEach(guard, createPayerLedger({ ledgers, monotonic })),
    clock,
    log,
    publicUrl,
    payUri,
    limit: createRateLimit(publicRateLimitPerMinute, clock),
    addressOf: clientAddressOf,
    receiptDays: config.receiptDays,
    signedInTo: async (req) => (await sessions.callerOf(cookie.read(req)))?.accountId ?? null,
  });
  return {
    http: {
      services,
      storedRules: createStoredRules({ forAccount, transaction: core.transaction }),
      exports: guardExports(
        guard,
        createExportService({ forAccount, snapshot, publicUrl, mostOfAccount: config.maxExportsPerAccount }),
      ),
      authenticate: (token) => guard(() => authentication.authenticate(token)),
      guard,
      listing: createListing(),
      watch,
      idempotency: createIdempotency({ forAccount, clock, newId, log }),
      networks,
      allowPrivate: config.webhookAllowPrivate,
      rateLimitPerMinute,
      publicRateLimitPerMinute,
      openapiJson,
      webhookKeys: () => guard(webhookKeys),
      stellarToml,
      pages,
      dashboard: {
        sessions,
        passkeys: guardEach(
          guard,
          createPasskeys({
            ...{ users: system.users, challenges: system.passkeyChallenges, setup: system.setup, forAccount },
            ...{ commit: core.commit, publicUrl, clock },
          }),
        ),
        setup: guardEach(
          guard,
          createSetup({
            ...{ ...core, ...system, forAccount, sessions, apiKeys: services.apiKeys, code: setupCode },
          }),
        ),
        cookie,
        publicUrl,
      },
    },
    async close() {
      await feed.close();
      await authentication.close();
    },
  };
}

// Wraps the functions that an API process hands out, so that no caller waits for a MongoDB that is
// away.

type AsyncFunctions<T> = { [Name in keyof T]: (...args: never[]) => Promise<unknown> };

/** The same functions, guarded. */
const guardEach = <T extends AsyncFunctions<T>>(guard: Guard, functions: T): T =>
  Object.fromEntries(
    Object.entries<(...args: never[]) => Promise<unknown>>(functions).map(([name, call]) => [
      name,
      (...args: never[]) => guard(() => call(...args)),
    ]),
  ) as T;

/** The same exports, with each of their chunks guarded. */
const guardExports = (guard: Guard, { payments, checkouts }: ExportService): ExportService => ({
  payments: { export: (...call) => guardChunks(guard, payments.export(...call)) },
  checkouts: { export: (...call) => guardChunks(guard, checkouts.export(...call)) },
});

const guardChunks = (guard: Guard, download: Download): Download => ({
  ...download,
  chunks: {
    [Symbol.asyncIterator]() {
      const chunks = download.chunks[Symbol.asyncIterator]();
      return {
        next: () => guard(() => chunks.next()),
        return: async () => {
          const ended = Promise.resolve(chunks.return?.());
          // An abandoned chunk still waits for MongoDB, so its end does too.
          await guard(() => ended).catch(() => undefined);
          ended.catch(() => undefined);
          return { done: true, value: undefined };
        },
      };
    },
  },
});
