/** Starts the service in one role and stops it on a signal: exit code 0 after a graceful stop, 1
 *  with one line when it cannot start. Importing it starts it: it exports nothing. */
import { parseArgs } from 'node:util';
import { commandName } from '../domain/command-name.js';
import { dashboardUrlOf } from '../domain/dashboard-url.js';
import { systemClock } from '../kit/clock.js';
import { createIds } from '../kit/ids.js';
import { StartupError } from '../kit/startup-error.js';
import { misspeltIn, readConfig } from './config.js';
import { type Context, createContext, ROLES, type Role } from './context.js';
import { completeMarket, createDemo, type Demo } from './demo.js';
import { makesDemo } from './installation.js';
import { createLog } from './log.js';

const USAGE = `Usage: npm start -- [--role ${ROLES.join('|')}]`;
/** Below the promised 10 s; work that hangs longer is dropped. */
const STOP_WITHIN_MS = 9500;

const say = (line: string) => process.stdout.write(`${line}\n`);

function readRole(args: readonly string[]): Role | 'help' {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { role: { type: 'string', default: 'all' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) return 'help';
    const role = ROLES.find((each) => each === values.role);
    if (role) return role;
    throw new StartupError(`--role must be one of ${ROLES.join(', ')}, not "${values.role}".`);
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`${(error as Error).message.split('\n')[0]} ${USAGE}`);
  }
}

async function main(): Promise<void> {
  const role = readRole(process.argv.slice(2));
  if (role === 'help') return void say(USAGE);
  for (const line of misspeltIn()) process.stderr.write(`${line}\n`);
  const config = readConfig();
  const log = createLog(config.logLevel);
  const clock = systemClock;

  const stopped = new AbortController();
  let context: Awaited<ReturnType<typeof createContext>> | null = null;
  const stop = (signal: string) => {
    if (stopped.signal.aborted) return;
    stopped.abort();
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(0), STOP_WITHIN_MS).unref();
    // During the start, the start itself checks the signal.
    if (context) void context.close().then(() => process.exit(0));
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(signal));

  context = await createContext({ config, role, clock, log, onProgress: say });
  if (stopped.signal.aborted) {
    await context.close();
    process.exit(0);
  }
  const ready = { context, role, networks: config.networks };
  if (role === 'worker') return sayReady(ready, null);
  const tools = { clock, newId: createIds(clock), log };
  if (!makesDemo(config)) {
    const setUp = (await context.setupCode.stage()) === 'NEW' ? await context.setupCode.line() : null;
    return sayReady(ready, null, setUp);
  }
  await createDemo(context, tools, (demo) => sayReady(ready, demo));
  // Its ledgers take time, so the start does not wait for it; the next start adds what is missing.
  void completeMarket(context, tools).catch((err: unknown) => log.debug({ err }, 'no demo market'));
}

function sayReady(
  { context, role, networks }: { context: Context; role: Role; networks: readonly string[] },
  demo: Demo | null,
  setUp: string | null = null,
): void {
  const { url, publicUrl, localLedger } = context;
  say('');
  say(`stellar-collect is ready (role ${role}, ${networks.join(', ')}).`);
  say('');
  if (role !== 'worker') {
    say(`  Dashboard ${dashboardUrlOf(publicUrl)}/dashboard`);
    say(`  API       ${publicUrl}/api/v1`);
    say(`  Docs      ${publicUrl}/docs`);
  }
  if (localLedger) say(`  Ledger    ${localLedger.url}`);
  say(`  Health    ${url}/health/ready`);
  if (demo) {
    say('');
    say('A demo account was created. Open its payment page, or the page of an order, and pay with the button on it.');
    say('Sign in to the dashboard with the key, and see it arrive:');
    say('');
    say(`  Page      ${demo.pageUrl}`);
    say(`  Order     ${demo.checkoutUrl}`);
    say(`  API key   ${demo.apiKey}`);
    say('');
    say(`The key is not shown again. More accounts: ${commandName(process.argv[1])} account create --name NAME`);
  } else if (setUp) {
    say('');
    say(setUp);
  } else if (role !== 'worker') {
    say('');
    say(`Accounts and API keys: ${commandName(process.argv[1])} account create --name NAME`);
  }
  say('');
}

process.on('unhandledRejection', (error) => fail(error));
process.on('uncaughtException', (error) => fail(error));

/** An uncaught error leaves the process in an unknown state, so the process ends, and the next
 *  start continues its work. */
function fail(error: unknown): never {
  const text =
    error instanceof StartupError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

main().catch(fail);
