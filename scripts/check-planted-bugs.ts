/** Checks that every planted bug still quotes its source: each quoted text must occur exactly once
 *  in its file. Exits with 1 and names the others. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { plantedBugs } from '../test/simulation/planted-bugs.js';

const root = fileURLToPath(new URL('..', import.meta.url));

function read(path: string): string | null {
  try {
    return readFileSync(`${root}${path}`, 'utf8');
  } catch {
    return null;
  }
}

const stale = plantedBugs.flatMap(({ guard, changes }) =>
  changes.flatMap(([path, quoted]) => {
    const text = read(path);
    const count = text === null ? 0 : text.split(quoted).length - 1;
    if (count === 1) return [];
    const why = text === null ? 'there is no such file' : `the file has the quoted text ${count} times, not once`;
    return [`planted bug "${guard}": ${path}: ${why}: ${quoted.split('\n')[0]}`];
  }),
);
for (const line of stale) console.error(line);
process.exit(stale.length > 0 ? 1 : 0);
