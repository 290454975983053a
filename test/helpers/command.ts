/** Starts the service's programs in their own processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './service.js';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  process: ChildProcess;
  stdout(): string;
  stderr(): string;
  ended: Promise<Ended>;
  /** Resolves with the match once stdout has it. */
  says(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
}

interface Options {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Text for standard input, which is then closed. */
  input?: string;
  /** In its own process group, like a job of a terminal. */
  detached?: boolean;
}

export function start(command: string, args: readonly string[], options: Options = {}): Running {
  const { env = {}, cwd = ROOT, input, detached = false } = options;
  const child = spawn(command, args, { cwd, detached, env: { ...process.env, ...env } as NodeJS.ProcessEnv });
  child.stdin.on('error', () => undefined).end(input ?? '');
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    says: async (pattern, withinMs = 60_000) =>
      eventually(
        async () => {
          const found = pattern.exec(stdout);
          if (!found && child.exitCode !== null) throw new Error(`it ended: ${stdout}${stderr}`);
          return found;
        },
        `${pattern} on stdout`,
        withinMs,
      ),
  };
}

export const run = (command: string, args: readonly string[], options?: Options): Promise<Ended> =>
  start(command, args, options).ended;

/** The built file of a source, which starts in half the time. `npm test` rebuilds when a source is
 *  newer. @param source relative to the root: `src/main.ts` */
export const builtFile = (source: string): string => `${ROOT}dist/${source.replace(/\.ts$/, '.js')}`;

export const startProgram = (source: string, args: readonly string[], options?: Options): Running =>
  start(process.execPath, [builtFile(source), ...args], options);
