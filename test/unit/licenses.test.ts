import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { build } from 'vite';
import { canCarry, filesOf, licensesOf } from '../../scripts/licenses.js';

t.test('only licenses that Apache-2.0 can carry are let into a bundle', async (t) => {
  for (const license of ['MIT', 'Apache-2.0', 'ISC', 'Unlicense', '(MIT OR GPL-3.0)', 'GPL-2.0 OR MIT', 'MIT AND ISC'])
    t.equal(canCarry(license), true, license);
  for (const license of [
    'GPL-3.0',
    'AGPL-3.0-or-later',
    'LGPL-3.0',
    'MPL-2.0',
    'UNLICENSED',
    'SEE LICENSE IN LICENSE.md',
    'MIT AND GPL-3.0',
    '(MIT AND (GPL-3.0 OR ISC))',
    '',
    undefined,
    null,
    { type: 'MIT' },
  ])
    t.equal(canCarry(license), false, JSON.stringify(license));
});

t.test('a bundle with another fails, and names the package; the texts of the rest are passed on', async (t) => {
  const root = t.testdir({ node_modules: { '@wallet': {} } });
  const put = (name: string, license: string | undefined, files: Record<string, string>) => {
    const folder = join(root, 'node_modules', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '2.0.0', license }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  };
  put('free', 'MIT', { LICENSE: 'Free for all.\n' });
  put('@wallet/api', 'Apache-2.0', { 'README.md': 'Licensed so and so.' });
  put('@wallet/bound', 'GPL-3.0', { LICENSE: 'Everything must be free.' });
  put('silent', undefined, { LICENSE: 'x' });
  put('bare', 'ISC', {});
  const from = (...names: string[]) => names.map((name) => `node_modules/${name}/build/index.js`);
  const texts = licensesOf(root, [
    'src/main.ts',
    ...from('free', '@wallet/api'),
    join(root, 'node_modules/free/main.js'),
  ]);
  t.match(
    texts,
    /@wallet\/api 2.0.0 \(Apache-2.0\)\n\nLicensed so and so.\n\n-+\n\nfree 2.0.0 \(MIT\)\n\nFree for all.$/,
  );
  t.throws(() => licensesOf(root, from('free', '@wallet/bound')), {
    message: /@wallet\/bound 2.0.0 is under GPL-3.0, which Apache-2.0 cannot carry/,
  });
  t.throws(() => licensesOf(root, from('silent')), { message: /silent 2.0.0 is under no license/ });
  t.throws(() => licensesOf(root, from('bare')), { message: /bare has no license/ });
});

t.test('what Vite bundles is looked at like the rest, styles of a package too, and only what it bundles', async (t) => {
  const planted = (name: string, license: string) => ({
    'package.json': JSON.stringify({
      name,
      version: '1.0.0',
      license,
      type: 'module',
      exports: { '.': './main.js', './look.css': './look.css' },
    }),
    'main.js': `export const ${name} = document.title + ${JSON.stringify(name)};`,
    'look.css': `.${name} { color: red; }`,
    LICENSE: `The license of ${name}.`,
  });
  const bundle = async (imports: string) => {
    const root = t.testdir({
      'index.html': '<script type="module" src="./main.js"></script>',
      'main.js': imports,
      node_modules: { free: planted('free', 'MIT'), bound: planted('bound', 'GPL-3.0') },
    });
    const built = await build({ root, configFile: false, logLevel: 'silent', build: { write: false } });
    return () => licensesOf(root, filesOf(built));
  };
  t.match(
    (await bundle("import { free } from 'free'; document.body.append(free);"))(),
    /^free 1.0.0 \(MIT\)\n\nThe license of free.$/,
  );
  for (const imports of ["import { bound } from 'bound'; document.body.append(bound);", "import 'bound/look.css';"])
    t.throws(await bundle(imports), { message: /bound 1.0.0 is under GPL-3.0/ }, imports);
});
