/** An API process of an installation without any account, which a person sets up with a code. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.js';
import { createContext } from '../../src/app/context.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { post } from './people.js';
import { TEST_SECRETS_KEY } from './service.js';

export const CODE = 'open-sesame-0123456789';
/** Nothing answers there: an API process needs no ledger to be set up. */
export const SETUP_ENV = {
  NETWORKS: 'TESTNET',
  HORIZON_URLS_TESTNET: 'http://127.0.0.1:9',
  SECRETS_KEY: TEST_SECRETS_KEY,
  PORT: '0',
  PUBLIC_RATE_LIMIT_PER_MINUTE: '0',
};

/** As many processes as there are calls. */
export async function startEmpty(
  t: { teardown(end: () => unknown): void },
  { uri }: { uri: string },
  env: Record<string, string> = {},
  clock: Clock = systemClock,
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-setup-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const config = readConfig({ ...SETUP_ENV, MONGODB_URI: uri, DATA_DIR: dataDir, SETUP_CODE: CODE, ...env });
  const context = await createContext({ config, role: 'api', clock, log: pino({ level: 'silent' }) });
  t.teardown(() => context.close(500));
  const setUp = (body: object, headers = {}) => post(context, '/setup', body, headers);
  const get = async (path: string, cookie = '') => {
    const answer = await fetch(context.url + path, { redirect: 'manual', headers: { cookie } });
    return { status: answer.status, location: answer.headers.get('location'), answer };
  };
  return { context, url: context.url, setUp, get };
}
