/** One mongod or mongos as a child of this process, which ends with the process, however
 *  that ends. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, renameSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';

const LOG_BYTES = 4_000_000;

/** For both mongod and mongos. */
export const SERVER_OPTIONS: readonly string[] = [
  ...['--bind_ip', '127.0.0.1', '--nounixsocket', '--quiet'],
  // All users of the machine share loopback: only a reader of the key file may log in, and no other
  // user may create the first user.
  ...['--setParameter', 'enableLocalhostAuthBypass=false'],
  // Up to 8.2.2, mongod's zlib decompression leaks memory without a password (CVE-2025-14847).
  ...['--networkMessageCompressors', 'disabled'],
  ...['--setParameter', 'diagnosticDataCollectionEnabled=false'],
];

export const MONGOD_OPTIONS: readonly string[] = [
  // A process killed in a transaction leaves its documents locked for this long; the default is
  // a minute.
  ...['--setParameter', 'transactionLifetimeLimitSeconds=10'],
];

export type Start = 'listening' | { exitCode: number | null; reason: string };

let dieWithParent: readonly string[] | null = null;

/** @param logFile gets the server's output
 *  @returns at once; `started` resolves when the server listens or has ended */
export function startServer(
  command: readonly string[],
  logFile: string,
): { child: ChildProcess; started: Promise<Start> } {
  dieWithParent ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0
      ? ['setpriv', '--pdeathsig', 'TERM']
      : [];
  // mongod's allocator and newer glibc both claim the threads' rseq area; mongod's own start-up
  // warning asks for this setting.
  const [program, ...rest] = [...dieWithParent, 'env', 'GLIBC_TUNABLES=glibc.pthread.rseq=0', ...command];
  // Detached: a Ctrl-C in the terminal is for the program, which needs its database until it
  // has ended.
  const child = spawn(program!, rest, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const started = new Promise<Start>((resolve) => {
    let reason = 'it did not start';
    const onLine = (line: string) => {
      log(logFile, line);
      // The stable id of "Waiting for connections".
      if (line.includes('"id":23016,')) resolve('listening');
      reason = reasonIn(line) ?? reason;
    };
    createInterface({ input: child.stdout }).on('line', onLine);
    createInterface({ input: child.stderr }).on('line', onLine);
    child.on('error', (error) => resolve({ exitCode: null, reason: error.message }));
    child.on('close', (exitCode) => resolve({ exitCode, reason }));
  });
  return { child, started };
}

/** The reason of a failure in a line of the server's log, or of the loader before it. */
function reasonIn(line: string): string | null {
  if (!line.startsWith('{')) return line.trim() || null;
  if (!/"s":"[FE]"/.test(line)) return null;
  try {
    const { msg, attr } = JSON.parse(line) as { msg: string; attr?: { error?: unknown } };
    return attr?.error === undefined ? msg : `${msg}: ${JSON.stringify(attr.error)}`;
  } catch {
    // The last line of a killed mongod may be half a line.
    return line;
  }
}

function log(file: string, line: string): void {
  try {
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LOG_BYTES) renameSync(file, `${file}.1`);
    appendFileSync(file, `${line}\n`, { mode: 0o600 });
  } catch {
    // A disk that is too full for the log must not end the database.
  }
}
