/** The local ledger alone, without the service: `npm run ledger`, with the same settings and the same database. */
import { resolve } from 'node:path';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { systemClock } from '../clock.js';
import { readConfig } from '../config.js';
import { StartupError } from '../domain/startup-error.js';
import { openMongo } from '../mongod/index.js';
import { serveLocalLedger } from './serve.js';

async function main(): Promise<void> {
  const { mongodbUri, dataDir, cacheDir, host, localLedgerPort, localLedgerCloseMs, logLevel } = readConfig();
  const log = pino({ level: logLevel }, pino.destination(2));
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  const database = await openMongo({ uri: mongodbUri, dataDir: resolve(dataDir), cacheDir, log, onProgress: say });
  const client = await mongo.MongoClient.connect(database.uri);
  const served = await serveLocalLedger({
    db: client.db(),
    clock: systemClock,
    log,
    host,
    port: localLedgerPort,
    closeMs: localLedgerCloseMs,
  });
  say(`The local ledger is at ${served.url} (a test account: ${served.url}/friendbot?addr=G...).`);

  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    await served.close();
    await client.close();
    await database.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof StartupError ? error.message : String((error as Error).stack)}\n`);
  process.exit(1);
});
