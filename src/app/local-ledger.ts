/** The built-in ledger of a service that watches LOCAL without sources of its own. Its code is
 *  loaded only here. */
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { networkInfo } from '../../contracts/networks.js';
import { listenError } from '../api/server.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import { StartupError } from '../kit/startup-error.js';
import type { LedgerClient } from '../local-ledger/index.js';
import { freePort } from '../mongod/index.js';
import type { TestPayer } from '../page/types.js';
import type { Config } from './config.js';

// Where the service listens.

export interface UsablePort {
  port: number;
  /** Call right before the service listens, and where it does not start. */
  release(): Promise<void>;
}

/** Call before anything is started or written, so that a second service or a wrong address is
 *  reported at once.
 *  @param port 0 for any free one, which is held: the service listens seconds later, and another
 *  process may choose it, too
 *  @param setting the name of the setting that `port` comes from, for messages
 *  @throws StartupError */
export async function usablePort(host: string, port: number, setting: string): Promise<UsablePort> {
  const chosen = port === 0 ? await freePort() : port;
  const holder = createServer((socket) => socket.destroy());
  const release = () => new Promise<void>((resolve) => holder.close(() => resolve()));
  const error = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    holder.once('error', resolve);
    holder.listen({ host, port: chosen }, () => resolve(null));
  });
  if (error?.code === 'EADDRINUSE' && port === 0) return usablePort(host, port, setting);
  if (error) throw listenError(error, host, chosen, setting);
  if (port !== 0) await release();
  return { port: chosen, release };
}

interface BuiltInLedger {
  url: string;
  client: LedgerClient;
  close(): Promise<void>;
}

export const hasBuiltInLedger = ({ networks, horizonUrls, rpcUrls }: Config): boolean =>
  networks.includes('LOCAL') && horizonUrls.LOCAL.length === 0 && rpcUrls.LOCAL.length === 0;

/** Call before anything is opened. @throws StartupError when the port belongs to something other
 *  than a local ledger */
export async function checkBuiltInLedger({ host, localLedgerPort: port }: Config): Promise<void> {
  const { checkAddress, ListenError } = await import('../local-ledger/index.js');
  await checkAddress({ host, port }).catch((error: unknown) => {
    throw error instanceof ListenError ? addressError(error) : error;
  });
}

const addressError = ({ message }: Error) => new StartupError(`${message}: check HOST and LOCAL_LEDGER_PORT.`);

/** Serves the ledger, or finds the process on this database that does. @throws StartupError when
 *  the port belongs to something else */
export async function openBuiltInLedger(
  { database, clock, log }: { database: Database; clock: Clock; log: Logger },
  { host, localLedgerPort, localLedgerCloseMs }: Config,
): Promise<BuiltInLedger> {
  const { createLedgerClient, ListenError, serveLocalLedger } = await import('../local-ledger/index.js');
  const { passphrase } = networkInfo.LOCAL;
  const served = await serveLocalLedger({
    db: database.connection.db!,
    clock,
    log,
    host,
    port: localLedgerPort,
    closeMs: localLedgerCloseMs,
    passphrase,
  }).catch((error: unknown) => {
    throw error instanceof ListenError ? addressError(error) : error;
  });
  const client = createLedgerClient({ url: served.url, passphrase });
  return { url: served.url, client, close: () => served.close() };
}

/** Pays from a test account of the built-in ledger. */
export const toTestPayer = (client: LedgerClient): TestPayer => ({
  async pay({ destination, ...payment }) {
    try {
      const { hash } = await client.pay({ to: destination, ...payment });
      return { paid: true, transactionHash: hash };
    } catch (error) {
      const { codes, message } = error as Error & { codes?: readonly string[] };
      return { paid: false, code: codes?.at(-1) ?? null, message };
    }
  },
});
