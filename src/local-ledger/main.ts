#!/usr/bin/env node
/** `stellar-local-ledger`: serves the ledger; its commands operate a served one. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import { registerLedgerCommands } from './cli.js';
import { systemClock } from './clock.js';
import { openDatabase } from './database.js';
import { checkAddress, ListenError, serveLocalLedger } from './serve.js';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

interface ServeOptions {
  host: string;
  port: number;
  closeMs: number;
  dataDir: string;
  mongodbUri: string | null;
  logLevel: string;
}

const wholeNumber = (min: number, max: number) => (text: string) => {
  if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new InvalidArgumentError(`Must be a whole number from ${min} to ${max}.`);
};

const SERVE_OPTIONS = [
  new Option('--port <port>', 'port; 0 takes any free one')
    .env('LOCAL_LEDGER_PORT')
    .default(8000)
    .argParser(wholeNumber(0, 65_535)),
  new Option('--host <host>', 'address to listen on').env('HOST').default('127.0.0.1'),
  new Option('--close-ms <milliseconds>', 'time between two ledgers')
    .env('LOCAL_LEDGER_CLOSE_MS')
    .default(1000)
    .argParser(wholeNumber(10, 3_600_000)),
  new Option('--data-dir <directory>', 'where an embedded MongoDB keeps the ledger').env('DATA_DIR').default('./data'),
  new Option('--mongodb-uri <uri>', 'your own replica set instead').env('MONGODB_URI').default(null, 'embedded'),
  new Option('--log-level <level>', 'lowest level that is logged').env('LOG_LEVEL').choices(LOG_LEVELS).default('info'),
];

const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Serves until the process is told to end. */
async function serve({ host, port, closeMs, dataDir, mongodbUri, logLevel }: ServeOptions): Promise<void> {
  await checkAddress({ host, port });
  const log = pino({ level: logLevel }, pino.destination(2));
  const database = await openDatabase({ mongodbUri, dataDir, log, onProgress: print });
  const served = await serveLocalLedger({ db: database.db, clock: systemClock, log, host, port, closeMs });
  print(`The local ledger is at ${served.url} (a test account: ${served.url}/friendbot?addr=G...).`);

  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    await served.close();
    await database.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
}

const program = new Command('stellar-local-ledger')
  .exitOverride()
  .configureOutput({ writeErr: () => undefined })
  .action(serve);
for (const option of SERVE_OPTIONS) {
  // Compose files and shells produce empty variables: treat them as absent.
  if (option.envVar !== undefined && process.env[option.envVar]?.trim() === '') delete process.env[option.envVar];
  program.addOption(option);
}
registerLedgerCommands(program, () => ({ url: `http://127.0.0.1:${program.opts<ServeOptions>().port}` }));
program.description(
  'A Stellar network of one machine, for tests: Horizon, Stellar RPC, a friendbot. Without a command it serves.',
);

program.parseAsync().catch((error: Error) => {
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const hint = error instanceof ListenError ? ': check --host and --port.' : '';
  process.stderr.write(`${error.message}${hint}\n`);
  process.exit(1);
});
