/** Docs and comments name files that exist, and comments are not wider than a page. */
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

/** The files of the code that a text names and that are not there. */
function missingIn(text: string, from: string): string[] {
  const names = [...text.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, name]) => name!);
  return names.filter((name) => {
    const isPattern = /(^|\/)x[.-]/i.test(name);
    const beside = join(dirname(from), name);
    return !isPattern && !files.some((file) => file === beside || file === name || file.endsWith(`/${name}`));
  });
}

t.test('A doc that names a file of the code names one that is there', async (t) => {
  for (const doc of files.filter((file) => file.endsWith('.md') && !OTHERS.test(file)))
    t.same(missingIn(readFileSync(join(root, doc), 'utf8'), doc), [], doc);
});

const COMMENT = /^\s*(\/\*\*|\*|\/\/) /;

t.test('A comment that names a file of the code names one that is there', async (t) => {
  for (const file of files.filter((each) => /\.(tsx?|js|css)$/.test(each) && !OTHERS.test(each))) {
    const comments = readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter((line) => COMMENT.test(line));
    const missing = missingIn(comments.join('\n'), file);
    if (missing.length > 0) t.same(missing, [], file);
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
      .filter((line) => line.length > 100 && COMMENT.test(line) && !UNBROKEN.test(line))
      .map((line) => `${file}: ${line}`),
  );
  t.ok(sources.length > 500);
  t.same(tooLong, []);
});
