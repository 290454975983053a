/** Checks who imports whom: a room may import the rooms on its line, of some only the types. What is not listed is denied.
 *  Exits with 1 and names file and line where a rule is broken. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Rooms are contracts and the folders of src, and what runs in the browser; a file directly in src is a room of its own. `type:` allows `import type` only.
 *  A path such as `contracts/networks` allows that one file. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  contracts: '',
  clock: '',
  domain: 'contracts clock',
  'package-root': '',
  settings: 'contracts',
  config: 'contracts domain settings',
  stores: 'contracts domain clock',
  ledger: 'contracts domain clock',
  resources: 'contracts domain type:stores',
  events: 'contracts domain clock resources type:stores',
  collect: 'contracts domain clock ledger resources events stores/verdict type:stores type:services',
  audit: 'contracts domain clock ledger resources events collect type:stores',
  webhooks: 'contracts domain clock resources type:events type:stores',
  services: 'contracts domain clock resources events stores/verdict type:stores type:page',
  api: 'contracts domain clock resources type:client type:services',
  page: 'contracts domain clock package-root resources api/input api/rest-body api/rest type:services type:stores type:collect',
  dashboard: 'contracts domain package-root api type:services',
  // Types only: values of contracts would bring zod into the browser.
  'dashboard/client': 'type:contracts',
  http: 'contracts domain clock api page dashboard services/wallet-sync type:services type:stores type:collect',
  jobs: 'contracts clock stores/jobs',
  mongod: 'clock domain package-root',
  'local-ledger': 'contracts/networks clock domain/startup-error domain/stellar-sdk cli/program',
  mcp: 'contracts clock',
  core: 'contracts domain clock config package-root stores ledger resources events collect audit webhooks services api page http jobs mongod local-ledger',
  cli: 'contracts domain clock config stores ledger resources events collect audit webhooks services client core jobs start mcp mongod local-ledger',
  start: 'contracts domain clock config core',
  main: 'core/node-version start',
  // A package of its own.
  client: '',
  index: 'contracts client',
};
/** The only packages of contracts. */
const CONTRACTS_PACKAGES = ['zod'];
/** Programs of their own: they compose a room the way core composes the service. */
const PROGRAMS = ['src/local-ledger/main.ts'];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /^(?:import|export)\s+(type\s)?(?:[\w*{][^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

const BROWSER_ROOM = 'dashboard/client';

function roomOf(path: string): string {
  const inSrc = path.replace(/^src\//, '');
  if (inSrc.startsWith(`${BROWSER_ROOM}/`)) return BROWSER_ROOM;
  return inSrc.split('/', 1)[0]!.replace(/\.(js|ts)$/, '');
}

/** What is wrong with the import, or null. */
function mistakeIn(file: string, target: string, isType: boolean): string | null {
  if (PROGRAMS.includes(file)) return null;
  const from = roomOf(file);
  if (!target.startsWith('.')) {
    if (from !== 'contracts' || CONTRACTS_PACKAGES.includes(target)) return null;
    return `contracts may import no package but ${CONTRACTS_PACKAGES.join(', ')}`;
  }
  const path = normalize(join(dirname(file), target)).replace(/\.js$/, '');
  const to = roomOf(path);
  if (to === from) return null;
  const allowed = MAY_IMPORT[from]?.split(' ');
  if (!allowed) return `${from} is not listed in scripts/check-imports.ts`;
  const paths = [path, path.replace(/^src\//, '')];
  if (allowed.some((entry) => entry === to || paths.includes(entry))) return null;
  if (!allowed.includes(`type:${to}`)) return `${from} may not import ${to}`;
  return isType ? null : `${from} may import only types of ${to} (import type)`;
}

const files = ['contracts', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('client/dist/'))
    .map((name) => `${folder}/${name}`),
);
const mistakes = files.flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(IMPORT)].flatMap((match) => {
    const mistake = mistakeIn(file, match[2] ?? match[3]!, match[1] !== undefined);
    return mistake ? [`${file}:${text.slice(0, match.index).split('\n').length}: ${mistake}`] : [];
  });
});
for (const mistake of mistakes) console.error(mistake);
process.exit(mistakes.length > 0 ? 1 : 0);
