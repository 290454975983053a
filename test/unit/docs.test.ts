/** Whoever follows a link in the documentation arrives. */
import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

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
  const top = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'src/client/README.md'];
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
