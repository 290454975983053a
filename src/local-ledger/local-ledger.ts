/** The local ledger: a development stand-in for Horizon and Stellar RPC. It takes real signed
 *  transactions and keeps its state in MongoDB. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Db } from 'mongodb';
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import type { Faults } from './faults.js';
import { createApp } from './http/app.js';
import type { Injection } from './injection.js';
import { createLedger, type Ledger } from './ledger.js';
import { PASSPHRASE } from './passphrase.js';

export interface LocalLedgerDeps {
  db: Db;
  clock: Clock;
  log: Logger;
  /** Interval between ledgers, in milliseconds. */
  closeMs: number;
  passphrase?: string;
}

export interface ServedAt {
  /** The host given for listening. */
  host: string;
  /** The URL for clients on this machine. */
  url: string;
}

export interface LocalLedger {
  ledger: Ledger;
  faults: Faults;
  passphrase: string;
  /** Serves, and takes the right to close ledgers on this database. Rejects with the error of
   *  `listen`, such as EADDRINUSE. */
  listen(address: { host: string; port: number }): Promise<{ url: string }>;
  /** Like `listen`, on a server that already listens. The ledger then owns and closes it. */
  serve(server: Server, at: ServedAt): Promise<void>;
  /** Closes one ledger now; resolves with its sequence. */
  closeLedger(): Promise<number>;
  /** Closes a ledger at every whole multiple of `closeMs`. */
  startTimer(): void;
  stopTimer(): void;
  /** Starts a new chain at ledger 1. */
  reset(): Promise<void>;
  /** Puts a made-up record into the next ledger; resolves with its operation id. */
  inject(injection: Injection): Promise<string>;
  close(): Promise<void>;
}

export async function createLocalLedger(deps: LocalLedgerDeps): Promise<LocalLedger> {
  const passphrase = deps.passphrase ?? PASSPHRASE;
  const ledger = await createLedger({ ...deps, passphrase });
  const app = createApp(ledger, deps.log, () => listensOn);
  let server: Server | null = null;
  let listensOn = 'localhost';

  async function serve(listening: Server, { host, url }: ServedAt): Promise<void> {
    server = listening;
    listensOn = host.toLowerCase();
    await ledger.closer.claim(url);
    listening.on('request', app);
  }

  return {
    ledger,
    passphrase,
    faults: ledger.faults,

    async listen({ host, port }) {
      const opening = createServer();
      opening.listen(port, host);
      await once(opening, 'listening');
      const url = `http://${host.includes(':') ? `[${host}]` : host}:${(opening.address() as AddressInfo).port}`;
      await serve(opening, { host, url });
      return { url };
    },
    serve,

    closeLedger: ledger.closer.closeLedger,
    startTimer: ledger.closer.startTimer,
    stopTimer: ledger.closer.stopTimer,
    reset: ledger.closer.reset,
    inject: ledger.closer.inject,

    async close() {
      for (const stream of ledger.streams) stream.abort();
      await ledger.closer.close();
      if (server === null) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      server = null;
    },
  };
}
