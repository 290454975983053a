/** Builds the documentation site from the repository, without network: the README, the pages of
 *  docs/ and of the workspaces, the package's exports, and the API from openapi.json.
 *
 *  node --import=tsx scripts/site.ts [FOLDER], by default `site`. Exits with 1 when a link between
 *  documents is broken. */
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, Comment, CommentTag, Converter, type DocumentReflection, PageEvent } from 'typedoc';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const API = 'api.html';
/** Guides in reading order. */
const GUIDES = [
  'first-order',
  'button',
  'payment-page',
  'wallets',
  'dashboard',
  'books',
  'proofs',
  'currencies',
  'orders',
  'mail',
  'go-live',
  'scale',
  'moving',
  'assistants',
  'activity',
];
const out = resolve(process.argv[2] ?? join(ROOT, 'site'));
process.chdir(ROOT);

const inFolder = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `${folder}/${name}`);
const groups: Record<string, string[]> = {
  Guides: GUIDES.map((name) => `docs/guides/${name}.md`),
  Reference: inFolder('docs/reference'),
  Operations: [...inFolder('docs/operations'), 'SECURITY.md', 'CHANGELOG.md'],
  Architecture: [...inFolder('docs/architecture'), ...inFolder('docs/architecture/decisions')],
  Packages: ['client', 'local-ledger', 'mongod'].map((name) => `src/${name}/README.md`),
  Contributing: ['CONTRIBUTING.md', ...inFolder('docs/contributing')],
};
const forgotten = inFolder('docs/guides').filter((file) => !groups.Guides!.includes(file));
if (forgotten.length > 0) throw new Error(`name them in GUIDES: ${forgotten.join(', ')}`);

/** Names a document by its heading, also in the menu. */
function nameByHeading(document: DocumentReflection): void {
  const [group] = Object.entries(groups).find(([, files]) => files.includes(`${document.name}.md`))!;
  document.comment ??= new Comment();
  document.comment.blockTags.push(new CommentTag('@group', [{ kind: 'text', text: group }]));
  [, document.name = document.name] = /^# (.*)/.exec(document.content[0]!.text)!;
}

const app = await Application.bootstrap({
  name: 'stellar-collect',
  tsconfig: 'tsconfig.build.json',
  entryPoints: ['src/index.ts'],
  readme: 'README.md',
  projectDocuments: Object.values(groups).flat(),
  groupOrder: [...Object.keys(groups), '*'],
  sort: ['documents-first', 'source-order'],
  navigationLinks: { API },
  excludeInternal: true,
  highlightLanguages: ['ts', 'sh', 'html', 'json', 'python', 'php'],
  // Links to sources would need the repository's address, which differs between builders.
  disableSources: true,
  disableGit: true,
  githubPages: false,
  // `npm run typecheck` reports type errors.
  skipErrorChecking: true,
  validation: { notExported: false },
  treatWarningsAsErrors: true,
});
app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) =>
  nameByHeading(document as DocumentReflection),
);
// The header's links have the same text on every page, so they must be adjusted to its folder.
app.renderer.on(PageEvent.END, (page) => {
  const up = '../'.repeat(page.url.split('/').length - 1);
  page.contents = page.contents!.replaceAll(`href="${API}"`, `href="${up}${API}"`);
});
const project = await app.convert();
if (!project) process.exit(1);
await app.generateDocs(project, out);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);

/** Swagger UI as at the service's `/docs`, without a server to send requests to. */
const assets = createRequire(import.meta.url)('swagger-ui-dist').absolutePath();
for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js'])
  copyFileSync(join(assets, file), join(out, 'assets', file));
writeFileSync(join(out, 'assets', 'openapi.js'), `const openapi = ${readFileSync('openapi.json', 'utf8').trim()};\n`);
writeFileSync(
  join(out, API),
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API | stellar-collect</title>
<link rel="stylesheet" href="assets/swagger-ui.css">
<p><a href="index.html">stellar-collect</a></p>
<div id="api"></div>
<script src="assets/swagger-ui-bundle.js"></script>
<script src="assets/openapi.js"></script>
<script>SwaggerUIBundle({ spec: openapi, dom_id: '#api', deepLinking: true, supportedSubmitMethods: [] });</script>
</html>
`,
);
