/** `npm run test:unit [-- --within SECONDS]`: runs the tests that need no database in one process.
 *  Prints the failures, and what was running if time is up; the last line is
 *  `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compileTests, inOneProcess, SMALL_TESTS } from './compile-tests.js';
import { failures, totals, untilStopped } from './tap-text.js';

const root = fileURLToPath(new URL('..', import.meta.url));

async function run(): Promise<number> {
  const { values } = parseArgs({ options: { within: { type: 'string', default: '180' } } });
  await compileTests(root);
  const files = SMALL_TESTS.flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => join(folder, name)),
  ).filter((file) => file.endsWith('.test.ts'));
  const options = ['--enable-source-maps', '--require=./test/helpers/before-tap.cjs'];
  const child = spawnSync(process.execPath, [...options, inOneProcess(root, 'unit', files)], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: Number(values.within) * 1000,
    killSignal: 'SIGKILL',
  });
  const isLate = (child.error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT';
  for (const line of failures(child.stdout)) console.log(line);
  if (isLate) {
    const { passed, failed, running } = untilStopped(child.stdout);
    console.log(
      `The tests were stopped after ${values.within} s, ${running ? `in: ${running}` : 'between two tests'}.`,
    );
    console.log(`${passed} passed, ${failed + 1} failed`);
    return 1;
  }
  const { passed, failed } = totals(child.stdout);
  const hasPassed = child.status === 0 && passed > 0;
  // A process that broke has no failed assertion that says so.
  if (!hasPassed && failed === 0) console.log(child.stdout.replace(/^ *ok .*\n/gm, ''));
  console.log(`${passed} passed, ${hasPassed ? failed : Math.max(failed, 1)} failed`);
  return hasPassed ? 0 : 1;
}

process.exitCode = await run();
