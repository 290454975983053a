/** `npm run simulate`: runs seeds of the simulation in several processes, or replays one. Exit code
 *  1 when a seed breaks a guarantee or many seeds leave out what can happen, 2 for invalid
 *  options. */
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

const USAGE = `Usage: npm run simulate -- [options]

  --seeds N        how many seeds to run (default 10000)
  --from N         the first of them (default 1)
  --processes N    side by side (default one for each core)
  --first          each process stops at the first seed that breaks a promise
  --seed N         replays one seed and prints every step
  --hardship NAMES every run has these hardships, separated by commas, and no other:
                   ${Object.keys(HARDSHIPS).join(', ')}
  --real           a real mongod instead of the one in memory
  --help`;

const options = {
  seeds: { type: 'string', default: '10000' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  real: { type: 'boolean', default: false },
  first: { type: 'boolean', default: false },
  hardship: { type: 'string' },
  processes: { type: 'string', default: String(availableParallelism()) },
  help: { type: 'boolean', default: false },
  // Passed by the parent process to its workers.
  share: { type: 'string' },
  uri: { type: 'string' },
} as const;

/** Ends the process for invalid options and for `--help`. */
function readOptions() {
  const end = (text: string, code: number): never => {
    (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
    return process.exit(code);
  };
  try {
    const { values } = parseArgs({ options });
    if (values.help) end(USAGE, 0);
    for (const name of ['seeds', 'from', 'seed', 'processes'] as const)
      if (!/^[1-9]\d{0,8}$/.test(values[name] ?? '1')) throw new Error(`--${name} takes a whole number from 1 on`);
    if (values.hardship?.split(',').some((name) => !Object.hasOwn(HARDSHIPS, name)))
      throw new Error(`--hardship takes names among ${Object.keys(HARDSHIPS).join(', ')}`);
    return values;
  } catch (error) {
    const [line] = (error as Error).message.split(/\.? To specify|\n/);
    return end(`${line}; --help lists the options`, 2);
  }
}

/** So many seeds reach every kind of event, and every act of a merchant succeeds in some. */
const REACHING_SEEDS = 1000;

const values = readOptions();
const kind = values.real ? 'real' : 'memory';
const hardships = (values.hardship?.split(',') ?? []) as HardshipName[];

async function replay(uri: string, seed: number): Promise<boolean> {
  const server = await openDatabaseServer(uri, kind);
  const outcome = await simulate(server, seed, (line) => console.log(line), hardships);
  await server.close();
  console.log(outcome);
  return outcome.violations.length === 0;
}

/** Runs every n-th seed, as one of several processes. */
async function work(uri: string, share: number, shares: number): Promise<void> {
  const server = await openDatabaseServer(uri, kind);
  const from = Number(values.from);
  for (let seed = from + share; seed < from + Number(values.seeds); seed += shares) {
    const outcome = await simulate(server, seed, null, hardships);
    process.send!(outcome);
    if (values.first && outcome.violations.length > 0) break;
  }
  await server.close();
  process.disconnect();
}

async function all(uri: string): Promise<boolean> {
  const processes = Number(values.processes);
  const flags = `${values.real ? ' --real' : ''}${values.hardship ? ` --hardship ${values.hardship}` : ''}`;
  const startedMs = Date.now();
  const sum = {
    seeds: 0,
    broken: 0,
    crashes: 0,
    payments: 0,
    arrivals: 0,
    audits: 0,
    differences: 0,
    healed: 0,
    steps: 0,
  };
  const reached = new Map<string, number>();
  const report = () =>
    console.log(
      `${sum.seeds} seeds, ${sum.broken} with violations; ${sum.steps} steps, ${sum.crashes} crashes, ${sum.payments} payments, ` +
        `${sum.arrivals} requests at endpoints, ${sum.audits} audits, ${sum.differences} of them with a planted difference, ` +
        `${sum.healed} hidden payments recorded; ${Math.round((Date.now() - startedMs) / 1000)} s`,
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
        sum.audits += outcome.audits;
        sum.differences += outcome.differences;
        sum.healed += outcome.healed;
        sum.steps += outcome.steps;
        for (const [what, times] of Object.entries(outcome.reached))
          reached.set(what, (reached.get(what) ?? 0) + times);
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
  const names = [...reached.keys()].sort();
  console.log(`Reached: ${names.map((name) => `${name} ${reached.get(name)}`).join(', ')}`);
  // Seeds in which all that could go wrong is refused find nothing.
  const missing = names.filter((name) => reached.get(name) === 0 && !name.startsWith('merchant tries to'));
  const isHollow = sum.seeds >= REACHING_SEEDS && hardships.length === 0 && missing.length > 0;
  if (isHollow) console.log(`${sum.seeds} seeds never reached: ${missing.join(', ')}`);
  return sum.broken === 0 && sum.seeds > 0 && !isHollow;
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
