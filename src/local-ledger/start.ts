/** A local ledger inside a program, such as a test, with its own database, served until it
 *  is closed. */
import { pino } from 'pino';
import { createLedgerClient, type LedgerClient } from './client.js';
import { systemClock } from './clock.js';
import { openDatabase } from './database.js';
import { createLocalLedger } from './local-ledger.js';

export interface StartOptions {
  host?: string;
  /** Any free port by default. */
  port?: number;
  /** Interval between ledgers in milliseconds, 1000 by default; null closes only
   *  on `closeLedger()`. */
  closeMs?: number | null;
  passphrase?: string;
  /** A directory that keeps the ledger; without it and `mongodbUri`, everything is gone
   *  after closing. */
  dataDir?: string;
  /** An existing replica set instead of an embedded MongoDB. */
  mongodbUri?: string;
  /** Gets lines for a person while MongoDB is downloaded, which happens once for each user. */
  onProgress?: (line: string) => void;
}

/** A client, and what only the ledger's own process can do. */
export interface StartedLedger extends LedgerClient {
  horizonUrl: string;
  /** Closes one ledger now; resolves with its sequence. */
  closeLedger(): Promise<number>;
  close(): Promise<void>;
}

/** @throws Error with one line when the port is taken or MongoDB is unavailable */
export async function startLocalLedger(options: StartOptions = {}): Promise<StartedLedger> {
  const { host = '127.0.0.1', port = 0, closeMs = 1000, passphrase, dataDir = null, mongodbUri = null } = options;
  const log = pino({ level: 'silent' });
  const database = await openDatabase({ mongodbUri, dataDir, log, onProgress: options.onProgress });
  try {
    const deps = { db: database.db, clock: systemClock, log, closeMs: closeMs ?? 1000, passphrase };
    const ledger = await createLocalLedger(deps);
    const { url } = await ledger.listen({ host, port });
    if (closeMs !== null) ledger.startTimer();
    return {
      ...createLedgerClient({ url, passphrase: ledger.passphrase }),
      horizonUrl: url,
      closeLedger: ledger.closeLedger,
      async close() {
        await ledger.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
