/** Every link in the documentation leads somewhere, in the repository and on the site that is
 *  made of it. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { parse } from 'yaml';
import { LONG } from '../helpers/long.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** As GitHub makes them from headings. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .trim()
    .replaceAll(' ', '-');

t.test('links to files and headings of the repository lead somewhere', async (t) => {
  const inDocs = (await readdir(join(ROOT, 'docs'), { recursive: true })).map((name) => join('docs', name));
  const top = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'src/client/README.md',
    'src/local-ledger/README.md',
    'src/mongod/README.md',
    'scripts/examples/medusa/README.md',
  ];
  const pages = [...top, ...inDocs.filter((name) => name.endsWith('.md') && !name.startsWith(join('docs', 'api')))];
  let links = 0;
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target!)) continue;
      const [path = '', anchor] = target!.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      links += 1;
      t.ok(existsSync(join(ROOT, file)), `${page}: ${target}`);
      if (anchor === undefined) continue;
      const headings = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, each]) =>
        anchorOf(each!),
      );
      t.ok(headings.includes(anchor), `${page}: ${target}`);
    }
  }
  t.ok(links > 30, `${links} links`);
});

/** What a page refers to, and the places in it that others may refer to. */
function readPage(text: string) {
  // What scripts and styles hold is no markup; `<br/>` in a template of theirs is no link.
  const markup = text.replace(/(<script\b[^>]*>)[\s\S]*?<\/script>/g, '$1').replace(/<style\b[\s\S]*?<\/style>/g, '');
  const decode = (value: string) => value.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#x27;', "'");
  const targets = [...markup.matchAll(/<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"/g)];
  return {
    targets: targets.map(([, element, target]) => ({ element: element!, target: decode(target!) })),
    places: new Set([...markup.matchAll(/\s(?:id|name)="([^"]*)"/g)].map(([, id]) => decode(id!))),
  };
}

t.test('the site is made without network, loads nothing from elsewhere, and has no dead link', LONG, async (t) => {
  const site = await mkdtemp(join(tmpdir(), 'stellar-collect-site-'));
  t.teardown(() => rm(site, { recursive: true, force: true }));
  // Any request over HTTP is refused at once.
  const nowhere = 'http://127.0.0.1:9';
  const env = { ...process.env, HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, http_proxy: nowhere, https_proxy: nowhere };
  await promisify(execFile)(process.execPath, ['--import=tsx', 'scripts/site.ts', site], { cwd: ROOT, env });
  const files = (await readdir(site, { recursive: true })).filter((name) => name.endsWith('.html'));
  const pages = new Map(files.map((name) => [name, readPage(readFileSync(join(site, name), 'utf8'))]));
  let links = 0;
  for (const [name, { targets }] of pages) {
    for (const { element, target } of targets) {
      if (/^(https?:|mailto:)/.test(target)) {
        if (element !== 'a') t.fail(`${name} loads ${target}`);
        continue;
      }
      if (/^(data:|#$)/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? name : join(dirname(name), decodeURIComponent(path));
      links += 1;
      if (!existsSync(join(site, file))) t.fail(`${name}: ${target}`);
      else if (anchor && pages.has(file) && !pages.get(file)!.places.has(decodeURIComponent(anchor)))
        t.fail(`${name}: ${target}`);
    }
  }
  t.ok(links > 1000, `${links} links`);
  for (const guide of await readdir(join(ROOT, 'docs/guides'))) {
    const [, title] = /^# (.*)/.exec(readFileSync(join(ROOT, 'docs/guides', guide), 'utf8'))!;
    t.ok(
      files.some((name) => readFileSync(join(site, name), 'utf8').includes(`<title>${title} |`)),
      `${title} is a page`,
    );
  }
  const [, api] = /^const openapi = ([\s\S]*);\n$/.exec(readFileSync(join(site, 'assets/openapi.js'), 'utf8'))!;
  t.same(JSON.parse(api!), JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')));
});

t.test(
  'the workflows test on every Node that is supported, and publish with provenance and without a token',
  async (t) => {
    const workflow = (name: string) => parse(readFileSync(join(ROOT, '.github/workflows', name), 'utf8'));
    const nodes = readFileSync(join(ROOT, 'scripts/nodes.ts'), 'utf8').match(/'[\d.]+'(?=: ')/g)!;
    const { test } = workflow('ci.yml').jobs;
    t.same(
      test.strategy.matrix.node.map((node: string) => `'${node}'`),
      nodes,
    );
    t.equal(test.steps.at(-1).run, 'bash .ci/run');
    const { permissions, jobs } = workflow('release.yml');
    t.same(permissions, { contents: 'read' });
    t.same(jobs.publish.permissions, { contents: 'read', 'id-token': 'write' });
    const commands = jobs.publish.steps.flatMap(({ run }: { run?: string }) => run ?? []);
    const published = commands.filter((command: string) => command.startsWith('npm publish'));
    t.equal(published.length, 2);
    for (const command of published) t.match(command, /--provenance/);
    t.equal(commands.indexOf('bash .ci/run') < commands.indexOf(published[0]), true, 'only what passed is published');
    t.notMatch(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8'), /TOKEN|secrets\./);

    // The check of the tag, as the runner runs it.
    const check = commands[0].replace(/^node -e "(.*)"$/, '$1');
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const tagged = (name: string) =>
      promisify(execFile)(process.execPath, ['-e', check], { cwd: ROOT, env: { GITHUB_REF_NAME: name } });
    await t.resolves(tagged(`v${version}`));
    await t.rejects(tagged('v9.9.9'));
  },
);
