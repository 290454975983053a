/** Bundles the programs with their packages, because Node takes longer to find and read a thousand
 *  modules than to run them; also the dashboard, and a script for each wallet on the payment page.
 *  Part of `npm run build`. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { build as viteBuild } from 'vite';
import { WALLET_SCRIPTS } from '../src/page/assets.js';
import { filesOf, licensesOf } from './licenses.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
const PROGRAMS = ['src/main.ts', 'src/cli/main.ts', 'src/mongod/keeper.ts', 'src/local-ledger/main.ts'];
/** Finds its files by the folder of its module. */
const NOT_BUNDLED = ['swagger-ui-dist'];
/** Loaded by what needs them: none of them may come with every start. */
const ON_DEMAND = ['selfsigned', '@simplewebauthn/server', '@modelcontextprotocol/sdk'];
/** CommonJS packages expect `require`. */
const REQUIRE = `import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);`;

/** Source text that differs in a bundle. */
const REPLACED: { file: RegExp; text: string; by: string }[] = [
  // The bundle's own `require` loads bundled modules on first use, as Node's does
  // with node_modules.
  { file: /src[\\/]domain[\\/]stellar-sdk\.ts$/, text: 'const require = createRequire(import.meta.url);', by: '' },
  // Code that several programs share is in `chunks`.
  {
    file: /src[\\/]mongod[\\/]embedded\.ts$/,
    text: "new URL('./keeper.js', import.meta.url)",
    by: "new URL('../mongod/keeper.js', import.meta.url)",
  },
];

const replace: Plugin = {
  name: 'replace',
  setup({ onLoad }) {
    for (const { file, text, by } of REPLACED) {
      onLoad({ filter: file }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        if (!source.includes(text))
          throw new Error(`there is no "${text}" any more: see REPLACED in scripts/bundle.ts`);
        return { loader: path.endsWith('.ts') ? 'ts' : 'js', contents: source.replaceAll(text, by) };
      });
    }
  },
};

/** The SDK has one copy for `require` and one for `import`: if both were loaded, neither would
 *  recognize the other's objects. */
const oneSdk: Plugin = {
  name: 'one-sdk',
  setup({ onResolve }) {
    const file = join(ROOT, 'node_modules/@stellar/stellar-sdk/lib/esm/base/index.js');
    onResolve({ filter: /^@stellar\/stellar-sdk\/base$/ }, () => ({ path: file, sideEffects: false }));
  },
};

const { metafile } = await build({
  absWorkingDir: ROOT,
  tsconfig: join(ROOT, 'tsconfig.json'),
  entryPoints: PROGRAMS,
  outbase: 'src',
  outdir: join(DIST, 'src'),
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  external: NOT_BUNDLED,
  plugins: [replace, oneSdk],
  banner: { js: REQUIRE },
  // V8 keeps the text of all loaded code, so it is minified. Names stay and lines are short, so
  // that error stacks remain useful.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 160,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
for (const name of loadedBy('main.js')) {
  const file = Object.keys(metafile.outputs[name]!.inputs).find((input) =>
    ON_DEMAND.some((each) => input.startsWith(`node_modules/${each}/`)),
  );
  if (file) throw new Error(`every start loads ${file}: import its user with await import()`);
}
// After the build: a failed one leaves the previous output.
const chunks = join(DIST, 'src/chunks');
for (const name of readdirSync(chunks)) {
  if (!(`dist/src/chunks/${name}` in metafile.outputs)) rmSync(join(chunks, name));
}

/** The outputs that a program loads at its start. Its only dynamic import is the start itself. */
function loadedBy(program: string, outputs = metafile.outputs): Set<string> {
  const loaded = new Set<string>([`dist/src/${program}`]);
  for (const name of loaded) {
    for (const { path, kind } of outputs[name]?.imports ?? [])
      if (path in outputs && (kind === 'import-statement' || name.endsWith(program))) loaded.add(path);
  }
  return loaded;
}

/** Each script is self-contained, because it is loaded alone. */
const wallets = await build({
  absWorkingDir: ROOT,
  entryPoints: WALLET_SCRIPTS.map((name) => `src/page/client/wallets/${name}.js`),
  outdir: join(DIST, 'src/page/wallets'),
  bundle: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

/** The page that checks proofs: the verifier and what shows its verdict, in one file. */
const proofPage = await build({
  absWorkingDir: ROOT,
  entryPoints: ['src/page/client/proof.js'],
  outfile: join(DIST, 'src/page/proof.js'),
  bundle: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

const dashboard = await viteBuild({ configFile: join(ROOT, 'src/dashboard/client/vite.config.ts') });

const inputs = [
  ...[metafile, wallets.metafile, proofPage.metafile].flatMap((each) => Object.keys(each.inputs)),
  ...filesOf(dashboard),
];
writeFileSync(join(DIST, 'THIRD-PARTY-LICENSES.txt'), licensesOf(ROOT, inputs));
