/** Runs code blocks of the documentation literally. Only gaps (…), ports, and the path of the cli
 *  are replaced. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtFile, ROOT, type Running, start } from './command.js';
import type { TestService } from './service.js';

/** @param files relative to the root @returns a function that finds the one fenced block of a
 *  language with these words */
export function blocksOf(...files: readonly string[]): (language: string, words: string) => string {
  const text = files.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  return (language, words) => {
    const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
    const found = blocks.filter(([, fenced, block]) => fenced === language && block!.includes(words));
    if (found.length !== 1) throw new Error(`${files.join(', ')} has ${found.length} ${language} blocks with ${words}`);
    return found[0]![2]!;
  };
}

/** Turns a block into a bash script against this service. */
export function literally(text: string, service: TestService, open: Record<string, string> = {}): string {
  let script = text
    .replaceAll('http://127.0.0.1:3000', service.url)
    .replaceAll(/npm run (-s )?cli --/g, `node ${builtFile('src/cli/main.ts')}`);
  for (const [gap, value] of Object.entries(open)) {
    if (!script.includes(gap)) throw new Error(`${gap} is not in ${text}`);
    script = script.replaceAll(gap, value);
  }
  return script;
}

export const bash = (script: string, env: Record<string, string>, cwd?: string): Running =>
  start('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    env,
    detached: true,
    ...(cwd !== undefined && { cwd }),
  });

/** Ends the process with its children, because npx does not forward signals. */
export function end({ process: { pid, exitCode } }: Running): void {
  if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGTERM');
}
