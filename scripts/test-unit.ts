/** `npm run test:unit [-- --within SECONDS]`: runs the tests that need no database in one process.
 *  Prints the failures, and what was running if time is up; the last line is
 *  `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SMALL_TESTS } from './compile-tests.js';
import { failures, totals, untilStopped } from './tap-text.js';

const IN_CHILD = 'RUN';

/** Imports every test file. They register with tap's one root test, which prints TAP. */
async function runAll(): Promise<void> {
  const { default: t } = await import('tap');
  // The parent watches the time: tap's own end of it would fail each test that had not begun.
  t.setTimeout(0);
  for (const folder of SMALL_TESTS) {
    const url = new URL(`../${folder}/`, import.meta.url);
    for (const name of readdirSync(url)) if (name.endsWith('.test.ts')) await import(new URL(name, url).href);
  }
}

function report(): number {
  const { values } = parseArgs({ options: { within: { type: 'string', default: '180' } } });
  const child = spawnSync(process.execPath, ['--import=tsx', fileURLToPath(import.meta.url), IN_CHILD], {
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

if (process.argv[2] === IN_CHILD) await runAll();
else process.exitCode = report();
