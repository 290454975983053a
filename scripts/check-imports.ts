/** Checks imports between rooms: a room may import the rooms on its line, some for types only, and no others. A room that is a workspace may import the
 *  packages of its package.json, and may be imported only through its `index`, also by tests and scripts.
 *  Exits with 1 and names file and line of each violation. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Rooms are contracts, the folders of src, and the browser code; a file directly in src is its own room. `type:` allows only `import type`.
 *  A path such as `contracts/networks` allows only that file. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  contracts: '',
  clock: '',
  domain: 'contracts clock',
  'package-root': '',
  settings: 'contracts',
  config: 'contracts domain settings',
  stores: 'contracts domain clock type:ledger',
  ledger: 'contracts domain clock',
  rates: 'contracts domain clock ledger type:stores',
  resources: 'contracts domain type:stores',
  runtime: 'clock stores/change-stream type:stores',
  events: 'contracts domain clock runtime type:stores',
  payments: 'contracts domain clock resources type:rates type:events type:ledger type:stores',
  ingest: 'contracts domain clock ledger runtime resources events payments type:stores',
  audit: 'contracts domain clock ledger runtime resources events ingest type:payments type:stores',
  webhooks: 'contracts domain clock runtime resources type:events type:stores',
  mail: 'contracts domain clock runtime page/html page/words type:events type:stores',
  services: 'contracts domain clock type:rates rates/quote runtime resources events payments type:ingest type:stores',
  api: 'contracts domain clock resources type:client type:services',
  page: 'contracts domain clock runtime type:rates rates/quote package-root resources payments/payable api/answer api/input api/rest-body type:stores type:ingest',
  dashboard: 'contracts domain package-root api type:services',
  // Types only: values of contracts would bring zod into the browser.
  'dashboard/client':
    'type:contracts contracts/currencies contracts/known-assets contracts/secret-seed domain/brand domain/money-text domain/typed-amount',
  http: 'contracts domain clock api dashboard type:services type:stores type:ingest',
  jobs: 'contracts clock runtime stores/jobs',
  mcp: 'contracts clock',
  core: 'contracts domain clock config package-root stores ledger rates runtime events payments ingest audit webhooks mail services page http jobs mongod local-ledger',
  cli: 'contracts domain clock config stores ledger resources ingest webhooks services client core jobs start mcp local-ledger',
  start: 'domain clock config core',
  main: 'core/node-version start',
  client: '',
  mongod: '',
  proof: '',
  'local-ledger': '',
  index: 'contracts client',
};
/** The only packages that contracts may import. */
const CONTRACTS_PACKAGES = ['zod'];

const BROWSER_ROOM = 'dashboard/client';
/** These may import any room. */
const WITHOUT_LINE = ['scripts', 'test'];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const packageOf = (folder: string) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
/** Rooms that are workspaces, with the packages that each may import. */
const WORKSPACES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  (packageOf('.').workspaces as string[]).map((folder) => [
    roomOf(folder),
    Object.keys(packageOf(folder).dependencies ?? {}),
  ]),
);
const IMPORT = /^(?:import|export)\s+(type\s)?(?:[\w*{][^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

function roomOf(path: string): string {
  const inSrc = path.replace(/^src\//, '');
  if (inSrc.startsWith(`${BROWSER_ROOM}/`)) return BROWSER_ROOM;
  return inSrc.split('/', 1)[0]!.replace(/\.(js|ts)$/, '');
}

/** Permissions that were used, as `room entry`. */
const used = new Set<string>();

/** The fault of the import, or null. */
function mistakeIn(file: string, target: string, isType: boolean): string | null {
  const from = roomOf(file);
  if (!target.startsWith('.')) {
    const packages = from === 'contracts' ? CONTRACTS_PACKAGES : WORKSPACES[from];
    const [name] = /^(@[^/]+\/)?[^/]+/.exec(target)!;
    if (!packages || target.startsWith('node:') || packages.includes(name)) return null;
    return `${from} may import no package but ${packages.join(', ')}`;
  }
  const path = normalize(join(dirname(file), target)).replace(/\.js$/, '');
  const to = roomOf(path);
  if (to === from) return null;
  if (WORKSPACES[to] && path !== `src/${to}/index`) return `${to} is a package: only its index may be imported`;
  if (WITHOUT_LINE.includes(from)) return null;
  const allowed = MAY_IMPORT[from]?.split(' ');
  if (!allowed) return `${from} is not listed in scripts/check-imports.ts`;
  const names = [to, path, path.replace(/^src\//, ''), `type:${to}`];
  const entry = names.find((name) => allowed.includes(name));
  if (!entry) return `${from} may not import ${to}`;
  used.add(`${from} ${entry}`);
  return isType || !entry.startsWith('type:') ? null : `${from} may import only types of ${to} (import type)`;
}

const files = ['contracts', 'src', ...WITHOUT_LINE].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/^[\w-]+\/(dist|test)\//.test(name))
    .map((name) => `${folder}/${name}`),
);
const mistakes = files.flatMap((file) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(IMPORT)].flatMap((match) => {
    const mistake = mistakeIn(file, match[2] ?? match[3]!, match[1] !== undefined);
    return mistake ? [`${file}:${text.slice(0, match.index).split('\n').length}: ${mistake}`] : [];
  });
});
for (const [room, entries] of Object.entries(MAY_IMPORT))
  for (const entry of entries.split(' '))
    if (entry !== '' && !used.has(`${room} ${entry}`))
      mistakes.push(`${room} imports no ${entry}: take it off its line`);
for (const mistake of mistakes) console.error(mistake);
process.exit(mistakes.length > 0 ? 1 : 0);
