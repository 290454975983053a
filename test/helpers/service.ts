/** The whole service in the test's process, on its own database, with the built-in ledger
 *  closing quickly. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAccount } from '../../src/accounts/account.js';
import { readConfig } from '../../src/app/config.js';
import { type Context, createContext, type Role } from '../../src/app/context.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { DEVELOPMENT_CA_FILE } from '../../src/webhooks/development-ca.js';
import { request } from './api.js';
import { testDatabase } from './mongo.js';
import { testAuthority } from './receiver.js';

interface Test {
  teardown(end: () => unknown): void;
}

export interface TestService {
  url: string;
  context: Context;
  dataDir: string;
  /** FULL key of a fresh account. */
  apiKey: string;
  accountId: string;
  /** Opens another account. */
  openAccount(name?: string): Promise<{ apiKey: string; accountId: string }>;
  /** Calls REST; `path` is relative to `/api/v1`. Every answer is checked against openapi.json. */
  api<Data = any>(method: string, path: string, body?: unknown, key?: string): Promise<Answer<Data>>;
  /** Starts another process of the service on the same database. */
  join(role: Role): Promise<Context>;
}

export interface Answer<Data = any> {
  status: number;
  headers: Headers;
  data: Data;
  error: { message: string; code: string; details?: { path: string; message: string; code: string }[] } | null;
  meta?: { page: number; pageSize: number; total: number; totalPages: number };
}

export interface TestServiceOptions {
  /** Settings as environment variables. */
  env?: Record<string, string>;
  role?: Role;
  clock?: Clock;
  logLevel?: string;
  /** For starting the service again on the same database. */
  database?: { uri: string };
}

/** Not shorter, because each ledger costs every running service a few milliseconds of CPU, and
 *  tests run concurrently. */
export const CLOSE_MS = 100;
/** The same for all tests, so that a test can start a second service on the same database. */
export const TEST_SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

export async function startTestService(t: Test, options: TestServiceOptions = {}): Promise<TestService> {
  const { env = {}, role = 'all', clock = systemClock, logLevel = process.env.TEST_LOG_LEVEL ?? 'silent' } = options;
  const database = options.database ?? (await testDatabase(t));
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-test-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  // Makes the service trust the tests' receivers, like `webhook listen`.
  await writeFile(join(dataDir, DEVELOPMENT_CA_FILE), (await testAuthority()).cert);
  const config = readConfig({
    PORT: '0',
    MONGODB_URI: database.uri,
    SECRETS_KEY: TEST_SECRETS_KEY,
    DATA_DIR: dataDir,
    LOCAL_LEDGER_PORT: '0',
    LOCAL_LEDGER_CLOSE_MS: String(CLOSE_MS),
    // A service that looks five times a second costs a third of a core, half of it for the looks.
    POLL_INTERVAL_MS: '500',
    RATE_LIMIT_PER_MINUTE: '0',
    PUBLIC_RATE_LIMIT_PER_MINUTE: '0',
    ...env,
  });
  const log = pino({ level: logLevel });
  const start = async (as: Role) => {
    const context = await createContext({ config, role: as, clock, log });
    t.teardown(() => context.close(500));
    return context;
  };
  const context = await start(role);
  const newId = createIds(clock);
  const open = async (name = 'Test') => {
    const { account, apiKey } = await openAccount(
      {
        accounts: context.stores.system.accounts,
        commit: context.commit,
        apiKeys: context.services.apiKeys,
        ...{ clock, newId },
      },
      name,
    );
    return { apiKey: apiKey.key, accountId: account.id };
  };
  const first = await open();
  return {
    url: context.url,
    context,
    dataDir,
    ...first,
    openAccount: open,
    join: start,
    async api(method, path, body, key = first.apiKey) {
      const { status, headers, data, error, meta } = await request(context.url, method, path, {
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status, headers, data, error: error ?? null, meta };
    },
  };
}

/** Calls `ask` until it returns something, less and less often, because most calls are requests,
 *  which cost CPU. Fails naming `what`. */
export async function eventually<T>(
  ask: () => Promise<T | null | undefined | false>,
  what: string,
  withinMs = 30_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (let pauseMs = 20; ; pauseMs = Math.min(200, pauseMs * 1.5)) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Waits until lists show the events of everything that has happened: each is stored with what
 *  happened, and gets its number a moment later. */
export const allNumbered = ({ context }: Pick<TestService, 'context'>): Promise<true> =>
  eventually(
    async () => (await context.stores.system.events.accountsToNumber()).length === 0,
    'every event has its number',
  );

/** A wallet on the local ledger, a product and a link: the start of most tests. */
export async function startSelling(
  service: TestService,
  product: Record<string, unknown> = {},
  link: Record<string, unknown> = {},
) {
  const { address } = await service.context.localLedger!.client.fund();
  const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  const made = await service.api('POST', '/products', {
    name: 'T-shirt',
    walletId: wallet.id,
    assetCode: 'XLM',
    priceType: 'FIXED',
    price: '25',
    ...product,
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.error));
  const sold = await service.api('POST', '/payment-links', { productId: made.data.id, ...link });
  return { wallet, product: made.data, link: sold.data };
}
