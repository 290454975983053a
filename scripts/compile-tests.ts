/** Compiles what tests import to JavaScript beside each other in `.test-build`, so that a test file starts as plain Node does: a loader that reads
 *  TypeScript costs every file two seconds of CPU. `import.meta.url` stays that of the source, whose files the tests read and start. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';

const FOLDERS = ['contracts', 'scripts', 'src', 'test'];
const OUTPUT = '.test-build';

/** A workspace that another imports by its name, from its sources. */
const MONGOD = '@stellar-collect/mongod';

/** @param source relative to the root, `test/unit/x.test.ts` or a pattern of such. */
export const compiledTest = (source: string): string => join(OUTPUT, source.replace(/\.ts$/, '.js'));

const isSource = (path: string): boolean =>
  path.endsWith('.ts') && !path.endsWith('.d.ts') && !/node_modules|\/dist\//.test(path);

async function compile(root: string, source: string): Promise<void> {
  const path = join(root, source);
  const { code } = await transform(readFileSync(path, 'utf8'), {
    ...{ loader: 'ts', format: 'esm', target: 'node20', sourcemap: 'inline', sourcefile: path },
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(path).href) },
  });
  const output = join(root, compiledTest(source));
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, code.replace(`"${MONGOD}"`, `"${relative(dirname(source), 'src/mongod/index.js')}"`));
}

export async function compileTests(root: string): Promise<void> {
  rmSync(join(root, OUTPUT), { recursive: true, force: true });
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  await Promise.all(sources.filter(isSource).map((source) => compile(root, source)));
}
