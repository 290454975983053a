/** A local ledger for one test: on a free port, closing every 50 ms or on demand, closed with
 *  the test. */
import { mongo } from 'mongoose';
import pino from 'pino';
import { systemClock } from '../../src/kit/clock.js';
import {
  type Clock,
  createLedgerClient,
  createLocalLedger,
  type LedgerClient,
  type LocalLedger,
} from '../../src/local-ledger/index.js';

export interface TestLedger {
  url: string;
  ledger: LocalLedger;
  client: LedgerClient;
  close(): Promise<void>;
}

export interface TestLedgerOptions {
  /** Give either `db` or `uri`. */
  db?: mongo.Db;
  uri?: string;
  /** Time between ledgers, 50 by default; null closes only on `ledger.closeLedger()`. */
  closeMs?: number | null;
  clock?: Clock;
  /** By default that of LOCAL. */
  passphrase?: string;
}

export async function startTestLedger(
  t: { teardown(end: () => unknown): unknown },
  { db, uri, closeMs = 50, clock = systemClock, passphrase }: TestLedgerOptions,
): Promise<TestLedger> {
  const mongoClient = db === undefined ? new mongo.MongoClient(uri!) : null;
  const ledger = await createLocalLedger({
    db: db ?? mongoClient!.db(),
    clock,
    log: pino({ level: 'error' }),
    closeMs: closeMs ?? 1000,
    ...(passphrase === undefined ? {} : { passphrase }),
  });
  const { url } = await ledger.listen({ host: '127.0.0.1', port: 0 });
  if (closeMs !== null) ledger.startTimer();
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await ledger.close();
    await mongoClient?.close();
  };
  t.teardown(close);
  return { url, ledger, client: createLedgerClient({ url, passphrase: ledger.passphrase }), close };
}
