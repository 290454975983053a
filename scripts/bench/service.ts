/** The service's API in its own process: prints its URL. Arguments: the URI of MongoDB, and the
 *  settings as JSON. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.js';
import { createContext, type Role } from '../../src/app/context.js';
import { systemClock } from '../../src/kit/clock.js';
import { TEST_SECRETS_KEY } from '../../test/helpers/service.js';

const [, , uri, settings = '{}', role = 'api'] = process.argv;
const context = await createContext({
  config: readConfig({
    PORT: '0',
    MONGODB_URI: uri!,
    SECRETS_KEY: TEST_SECRETS_KEY,
    DATA_DIR: join(tmpdir(), `stellar-collect-bench-${process.pid}`),
    NETWORKS: 'TESTNET',
    HORIZON_URLS_TESTNET: 'http://127.0.0.1:9',
    RATE_LIMIT_PER_MINUTE: '0',
    PUBLIC_RATE_LIMIT_PER_MINUTE: '0',
    ...JSON.parse(settings),
  }),
  role: role as Role,
  clock: systemClock,
  log: pino({ level: process.env.BENCH_LOG ?? 'silent' }, process.stderr),
});
console.log(context.url);
process.on('disconnect', () => process.exit(0));
