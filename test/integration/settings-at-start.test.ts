/** What a person reads when a setting cannot work, before anything is opened; and what is told of
 *  networks that are no longer watched. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { createMetrics } from '../../src/api/metrics.js';
import { readConfig } from '../../src/app/config.js';
import { createContext } from '../../src/app/context.js';
import { usablePort } from '../../src/app/local-ledger.js';
import { systemClock } from '../../src/kit/clock.js';
import { StartupError } from '../../src/kit/startup-error.js';
import { manualClock } from '../helpers/manual-clock.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { TEST_SECRETS_KEY } from '../helpers/service.js';

const log = pino({ level: 'silent' });

t.test('a port that is taken and a host that is not there are one line that names the setting', async (t) => {
  const holder = createServer();
  const port = await new Promise<number>((resolve) => {
    holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port));
  });
  t.teardown(() => holder.close());
  const told = async (host: string, port: number, setting: string) => {
    const error = await usablePort(host, port, setting).then(
      () => null,
      (error: unknown) => error,
    );
    t.ok(error instanceof StartupError);
    return (error as StartupError).message;
  };
  t.equal(
    await told('127.0.0.1', port, 'METRICS_PORT'),
    `METRICS_PORT ${port} is taken on 127.0.0.1: set METRICS_PORT to a free one.`,
  );
  for (const host of ['203.0.113.7', 'no-such-host.invalid', '999.1.1.1']) {
    t.match(await told(host, 0, 'PORT'), new RegExp(`^HOST ${host} is not an address of this machine`));
  }
});

t.test('any free port is asked for → it is held until the service listens', async (t) => {
  const { port, release } = await usablePort('127.0.0.1', 0, 'PORT');
  await t.rejects(usablePort('127.0.0.1', port, 'PORT'), { message: /is taken/ }, 'no other process can choose it');
  await release();
  t.match(await usablePort('127.0.0.1', port, 'PORT'), { port });
  await release();
});

t.test('a port is taken while the service starts → one line, and its jobs have ended', async (t) => {
  const { uri, db } = await testDatabase(t);
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-start-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const port = await freePort();
  const given = {
    PORT: String(port),
    MONGODB_URI: uri,
    DATA_DIR: dataDir,
    LOCAL_LEDGER_PORT: '0',
    SECRETS_KEY: TEST_SECRETS_KEY,
  };
  const started = createContext({ config: readConfig(given), role: 'all', clock: systemClock, log });
  const failed = t.rejects(started, { message: `PORT ${port} is taken on 127.0.0.1: set PORT to a free one.` });
  // Once its jobs are there, and before it listens.
  const ofProcess = { name: / @/ };
  while (!(await db.collection('agendaJobs').findOne(ofProcess))) await systemClock.sleep(2);
  const holder = createServer().listen(port, '127.0.0.1');
  t.teardown(() => holder.close());
  await failed;
  t.equal(await db.collection('agendaJobs').countDocuments(ofProcess), 0);
});

t.test('series of networks that are not watched are not served', async (t) => {
  const state = { seenAt: new Date(0), clockAheadMs: 1, sourceWarning: null };
  const { registry } = createMetrics({
    networkStates: {
      all: async () => ['LOCAL', 'TESTNET'].map((_id) => ({ _id, ...state })),
      troublesOfUnread: async () => new Map(),
    } as never,
    parkedRecords: { count: async () => 0 } as never,
    mails: { waiting: async () => null },
    networks: ['LOCAL'],
    clock: manualClock(),
  });
  const text = await registry.metrics();
  for (const name of [
    'collect_network_silence_seconds',
    'collect_clock_ahead_seconds',
    'collect_source_outdated',
    'collect_protocol_too_new',
  ]) {
    t.match(text, new RegExp(`${name}\\{network="LOCAL"\\}`));
  }
  t.notMatch(text, /TESTNET/);
});
