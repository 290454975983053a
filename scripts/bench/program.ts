/** Starts programs of the bench in their own processes. Each prints one line once it is ready: a
 *  port or a URL. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Scope } from './scope.js';

export const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** @throws when it exits before it prints a line */
export async function startProgram(
  scope: Scope,
  file: string,
  ...args: string[]
): Promise<{ child: ChildProcess; line: string }> {
  const child = fork(pathOf(file), args, { execArgv: ['--import=tsx'], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  scope.teardown(() => child.kill());
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${file} ended`)));
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(child.stdout!, 'data'), ended])) as [Buffer];
  return { child, line: String(line).trim() };
}
