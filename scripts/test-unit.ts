/** `npm run test:unit`: runs the tests that need no database in one process. Prints the failures; the last line is `N passed, N failed`. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDERS = ['test/unit', 'test/property', 'src/local-ledger/test/unit'];
const IN_CHILD = 'RUN';

/** Imports every test file. They register with tap's one root test, which prints TAP. */
async function runAll(): Promise<void> {
  const { default: t } = await import('tap');
  t.setTimeout(120_000);
  for (const folder of FOLDERS) {
    const url = new URL(`../${folder}/`, import.meta.url);
    for (const name of readdirSync(url)) if (name.endsWith('.test.ts')) await import(new URL(name, url).href);
  }
}

function report(): number {
  const child = spawnSync(process.execPath, ['--import=tsx', fileURLToPath(import.meta.url), IN_CHILD], {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [, pass = '0', fail = '0'] = /^# \{ total: \d+, pass: (\d+)(?:, fail: (\d+))?/m.exec(child.stdout) ?? [];
  const hasPassed = child.status === 0 && Number(pass) > 0;
  if (!hasPassed) console.log(child.stdout.replace(/^ *ok .*\n/gm, ''));
  console.log(`${pass} passed, ${fail} failed`);
  return hasPassed ? 0 : 1;
}

if (process.argv[2] === IN_CHILD) await runAll();
else process.exitCode = report();
