/** Compiles the tests and their imports to JavaScript in `.test-build`, because a TypeScript loader
 *  costs every test file two seconds of CPU. Sources that have not changed stay compiled.
 *  `import.meta.url` stays that of the source, because tests read and start files relative
 *  to it. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from 'esbuild';

const FOLDERS = ['contracts', 'scripts', 'src', 'test'];
const OUTPUT = '.test-build';
const SELF = fileURLToPath(import.meta.url);

/** Their files need no database, and take longer to load than to run. */
export const SMALL_TESTS = ['test/unit', 'test/property', 'src/local-ledger/test/unit'];

/** Bound of one file in a process of many; that of others is in `.taprc`. */
const FILE_MS = 900_000;

/** A workspace that another one imports by name. */
const MONGOD = '@stellar-collect/mongod';

/** @param source path relative to the root, such as `test/unit/x.test.ts`, or a pattern */
export const compiledTest = (source: string): string => join(OUTPUT, source.replace(/\.ts$/, '.js'));

const isSource = (path: string): boolean =>
  path.endsWith('.ts') && !path.endsWith('.d.ts') && !/node_modules|\/dist\//.test(path);

async function compile(root: string, source: string): Promise<void> {
  const path = join(root, source);
  const output = join(root, compiledTest(source));
  const compiledMs = statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (compiledMs > statSync(path).mtimeMs && compiledMs > statSync(SELF).mtimeMs) return;
  const { code } = await transform(readFileSync(path, 'utf8'), {
    ...{ loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline', sourcefile: path },
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(path).href) },
  });
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(
    output,
    code
      .replace(`"${MONGOD}"`, `"${relative(dirname(source), 'src/mongod/index.js')}"`)
      .replace('import t from "tap";', 'import tap from "tap"; const t = globalThis.testOfFile ?? tap;'),
  );
}

/** A process that runs test files one after the other, each as a test of its own, whose teardown
 *  ends what the file began. Saves each file the five seconds of CPU that a first service costs:
 *  loading it, and code that is not compiled yet.
 *  @param tests paths relative to the root
 *  @param isShared for one of several processes with the same files, each of which takes the next
 *  one that none has taken. @returns the file to run */
export function inOneProcess(root: string, name: string, tests: readonly string[], isShared = false): string {
  const file = join(OUTPUT, `test/${name}.test.js`);
  const imports = ["import t from 'tap';", ...(isShared ? ["import { isMine } from './helpers/turns.js';"] : [])];
  const lines = tests.map((test) => {
    const turn = isShared ? `if (isMine('${test}')) ` : '';
    return `${turn}await t.test('${test}', { timeout: ${FILE_MS} }, async (file) => {
  globalThis.testOfFile = file;
  await import('../${relative(OUTPUT, compiledTest(test))}');
});`;
  });
  writeFileSync(join(root, file), [...imports, 't.setTimeout(0);', ...lines, ''].join('\n'));
  return file;
}

export async function compileTests(root: string): Promise<void> {
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  await Promise.all(sources.filter(isSource).map((source) => compile(root, source)));
}
