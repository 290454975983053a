/** Docs name files that exist, and comments are not wider than a page. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const root = fileURLToPath(new URL('../..', import.meta.url));
const within = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
const files = [
  ...readdirSync(root),
  ...['contracts', 'docs', 'scripts', 'src', 'test']
    .flatMap(within)
    .filter((file) => !/node_modules|\/dist\//.test(file)),
];
/** What tells of the past, or of another program. */
const OTHERS = /^CHANGELOG\.md|^scripts\/(examples|bench\/results)\//;

t.test('A doc that names a file of the code names one that is there', async (t) => {
  for (const doc of files.filter((file) => file.endsWith('.md') && !OTHERS.test(file))) {
    const names = [...readFileSync(join(root, doc), 'utf8').matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, name]) => name!);
    const missing = names.filter((name) => {
      const isPattern = /^X-/.test(name);
      const beside = join(dirname(doc), name);
      return !isPattern && !files.some((file) => file === beside || file === name || file.endsWith(`/${name}`));
    });
    t.same(missing, [], doc);
  }
});

/** They cannot be broken: names for other programs, and commands to be copied. */
const UNBROKEN = /biome-ignore|=http/;

t.test('A comment ends at column 100', async (t) => {
  // The client's contract is generated.
  const sources = files.filter((file) => /\.tsx?$/.test(file) && file !== 'src/client/contract.ts');
  const tooLong = sources.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => line.length > 100 && /^\s*(\/\*\*|\*|\/\/) /.test(line) && !UNBROKEN.test(line))
      .map((line) => `${file}: ${line}`),
  );
  t.ok(sources.length > 500);
  t.same(tooLong, []);
});
