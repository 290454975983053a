/** `node --import=tsx scripts/planted-bugs.ts [--seeds N] [--only TEXT]`: removes the guards of the
 *  sources one by one, each in its own copy, and runs the simulation on it until a seed notices. A
 *  guard whose absence neither a seed nor another test notices is unneeded or untested. Prints
 *  a table. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type PlantedBug, plantedBugs } from '../test/simulation/planted-bugs.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    only: { type: 'string', default: '' },
    processes: { type: 'string', default: '2' },
  },
});

function plant({ changes }: PlantedBug): string {
  const copy = mkdtempSync(join(tmpdir(), 'stellar-collect-planted-'));
  for (const each of ['src', 'test', 'contracts', 'scripts', 'package.json', 'tsconfig.json'])
    cpSync(join(root, each), join(copy, each), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const [path, from, to] of changes) {
    const file = join(copy, path);
    const text = readFileSync(file, 'utf8');
    if (text.split(from).length !== 2)
      throw new Error(`${path} has ${text.split(from).length - 1} places that read ${from}`);
    // A function, because $ means something in a replacement.
    writeFileSync(
      file,
      text.replace(from, () => to),
    );
  }
  return copy;
}

/** @returns the report of the first seed that notices, or null when none does */
function run(copy: string, { hardship, seed }: PlantedBug): Promise<{ seed: number; says: string } | null> {
  const which = seed === undefined ? ['--seeds', values.seeds] : ['--from', `${seed}`, '--seeds', '1'];
  const args = ['--import=tsx', 'scripts/simulate.ts', ...which, '--processes', '1', '--first'];
  if (hardship) args.push('--hardship', [hardship].flat().join(','));
  const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  return new Promise((resolve, reject) =>
    child.once('close', (code) => {
      const [, seed, says] = /^seed (\d+) .*\n {2}(.*)/m.exec(output) ?? [];
      if (seed) resolve({ seed: Number(seed), says: says! });
      else if (code === 0) resolve(null);
      else reject(new Error(output));
    }),
  );
}

const waiting = plantedBugs.filter(({ guard }) => guard.includes(values.only));
const rows = new Map<PlantedBug, string>();
let isAsExpected = true;

async function work(): Promise<void> {
  for (let bug = waiting.shift(); bug; bug = waiting.shift()) {
    const startedMs = Date.now();
    let found = '';
    try {
      const copy = plant(bug);
      const first = await run(copy, bug);
      rmSync(copy, { recursive: true, force: true });
      found = first ? `${first.seed} | ${first.says.replaceAll('|', '\\|')}` : `none of ${values.seeds} |`;
      if (first === null && bug.elsewhere === undefined) isAsExpected = false;
    } catch (error) {
      isAsExpected = false;
      found = `could not be tried | ${(error as Error).message.split('\n')[0]}`;
    }
    rows.set(bug, `| ${bug.guard} | ${found} ${bug.elsewhere ?? ''} |`);
    console.log(`${rows.get(bug)} ${Math.round((Date.now() - startedMs) / 1000)} s`);
  }
}

await Promise.all(Array.from({ length: Number(values.processes) }, work));
console.log('\n| guard taken away | first seed that notices | what it says |\n| --- | ---: | --- |');
for (const bug of plantedBugs) if (rows.has(bug)) console.log(rows.get(bug));
process.exitCode = isAsExpected ? 0 : 1;
