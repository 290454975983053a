/** `npm run simulate [-- --seeds N] [--from N] [--real] [--first]` runs seeds of the simulation on several processes; `--first` stops at the first
 *  that breaks a promise; `--hardship NAME` makes every run have that one. `--seed N` replays one and prints every step. `--real` uses a real mongod instead of the one in memory.
 *  Exit code 1 when a seed broke a promise. */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { openMongo } from '../src/mongod/index.js';
import { openDatabaseServer } from '../test/simulation/database.js';
import { HARDSHIPS, type HardshipName } from '../test/simulation/hardships.js';
import { type Outcome, simulate } from '../test/simulation/simulate.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    real: { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    hardship: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    share: { type: 'string' },
    uri: { type: 'string' },
  },
});
const kind = values.real ? 'real' : 'memory';
const hardship = (values.hardship ?? null) as HardshipName | null;
if (hardship && !(hardship in HARDSHIPS)) throw new Error(`hardships are ${Object.keys(HARDSHIPS).join(', ')}`);

async function replay(uri: string, seed: number): Promise<boolean> {
  const server = await openDatabaseServer(uri, kind);
  const outcome = await simulate(server, seed, (line) => console.log(line), hardship);
  await server.close();
  console.log(outcome);
  return outcome.violations.length === 0;
}

/** One of several processes: runs every n-th seed. */
async function work(uri: string, share: number, shares: number): Promise<void> {
  const server = await openDatabaseServer(uri, kind);
  const from = Number(values.from);
  for (let seed = from + share; seed < from + Number(values.seeds); seed += shares) {
    const outcome = await simulate(server, seed, null, hardship);
    process.send!(outcome);
    if (values.first && outcome.violations.length > 0) break;
  }
  await server.close();
  process.disconnect();
}

async function all(uri: string): Promise<boolean> {
  const processes = Number(values.processes);
  const flags = `${values.real ? ' --real' : ''}${hardship ? ` --hardship ${hardship}` : ''}`;
  const startedMs = Date.now();
  const sum = { seeds: 0, broken: 0, crashes: 0, payments: 0, arrivals: 0, steps: 0 };
  const report = () =>
    console.log(
      `${sum.seeds} seeds, ${sum.broken} with violations; ${sum.steps} steps, ${sum.crashes} crashes, ${sum.payments} payments, ` +
        `${sum.arrivals} requests at endpoints; ${Math.round((Date.now() - startedMs) / 1000)} s`,
    );
  await Promise.all(
    Array.from({ length: processes }, (_, share) => {
      const args = [...process.argv.slice(2), '--uri', uri, '--share', `${share}/${processes}`];
      const child = fork(fileURLToPath(import.meta.url), args, { execArgv: process.execArgv });
      child.on('message', (outcome: Outcome) => {
        sum.seeds += 1;
        sum.crashes += outcome.crashes;
        sum.payments += outcome.payments;
        sum.arrivals += outcome.arrivals;
        sum.steps += outcome.steps;
        if (outcome.violations.length > 0) {
          sum.broken += 1;
          console.log(
            `seed ${outcome.seed} (npm run simulate -- --seed ${outcome.seed}${flags}) ${outcome.hardships.join(' ')}:`,
          );
          if (sum.broken <= 20) for (const violation of outcome.violations.slice(0, 5)) console.log(`  ${violation}`);
        }
        if (sum.seeds % 500 === 0) report();
      });
      return new Promise<void>((resolve) =>
        child.on('exit', (code, signal) => {
          if (code !== 0) {
            sum.broken += 1;
            console.log(`a process of the simulation ended with ${code ?? signal}`);
          }
          resolve();
        }),
      );
    }),
  );
  report();
  return sum.broken === 0 && sum.seeds > 0;
}

async function main(): Promise<void> {
  if (values.uri) {
    if (!values.share) {
      process.exitCode = (await replay(values.uri, Number(values.seed))) ? 0 : 1;
      return;
    }
    const [share, shares] = values.share.split('/').map(Number) as [number, number];
    return work(values.uri, share, shares);
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'stellar-collect-simulation-'));
  const given = process.env.TEST_MONGODB_URI;
  const mongo = given
    ? { uri: given, close: async () => undefined }
    : await openMongo({
        uri: null,
        dataDir,
        log: pino({ level: 'warn' }, process.stderr),
        onProgress: (line) => console.log(line),
      });
  try {
    const good = values.seed === undefined ? await all(mongo.uri) : await replay(mongo.uri, Number(values.seed));
    process.exitCode = good ? 0 : 1;
  } finally {
    await mongo.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await main();
