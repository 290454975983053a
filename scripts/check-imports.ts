/** Checks imports between rooms: a room may import the rooms on its line, some for types only, and
 *  no others. A room with an `index` is imported through it alone; tests and scripts may look
 *  inside. One that is a workspace may import the packages of its package.json, and has no other
 *  entrance for anyone. Exits with 1 and names file and line of each violation. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Rooms are contracts, the folders of src, and the browser code; a file directly in src is its own
 *  room. `type:` allows only `import type`. A path such as `contracts/networks` allows only
 *  that file. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  contracts: '',
  // General: the subjects are built with these.
  domain: 'contracts type:kit',
  kit: 'contracts type:domain',
  ledger: 'contracts domain type:kit',
  // The subjects.
  watching: 'contracts domain kit ledger payments audit type:accounts type:asking type:events type:selling type:stores',
  asking: 'contracts domain kit ledger watching',
  audit: 'domain kit ledger watching type:contracts type:events type:payments',
  rates: 'contracts domain kit ledger selling type:accounts type:asking type:stores',
  selling: 'contracts domain kit payments rates watching type:accounts type:asking type:stores',
  payments: 'contracts domain kit selling type:accounts type:events type:ledger type:rates type:stores type:watching',
  proving: 'contracts kit ledger proof type:payments type:selling type:stores',
  events: 'contracts kit webhooks type:accounts type:stores',
  webhooks: 'accounts contracts domain events kit type:stores',
  mail: 'contracts domain kit page/html page/order-rows page/words webhooks type:accounts type:events type:selling type:stores type:watching',
  accounts: 'domain kit contracts/setup-code type:contracts type:rates type:stores',
  // What people and programs meet.
  page: 'contracts domain kit proof api/answer api/input api/rest-body asking payments rates selling type:stores type:watching',
  dashboard: 'api contracts domain kit type:accounts',
  // Types only: values of contracts would bring zod into the browser.
  'dashboard/client':
    'type:contracts contracts/currencies contracts/known-assets contracts/secret-seed contracts/setup-code domain/amount domain/brand domain/money-text domain/order domain/typed-amount',
  api: 'contracts domain kit audit dashboard payments selling type:accounts type:client type:mail type:rates type:stores type:watching',
  // The programs, composed of all of it.
  stores: 'kit accounts api app audit events mail payments proving rates selling watching webhooks',
  app: 'contracts domain kit stores ledger accounts api asking audit events mail page payments proving rates selling watching webhooks mongod local-ledger',
  // Files past their room's index are loaded with every command, the rest by the command that
  // needs it.
  cli: 'contracts domain kit accounts accounts/account accounts/api-key api app audit client ledger/source local-ledger selling watching webhooks webhooks/development-ca webhooks/listen',
  main: 'app/node-version app/start',
  index: 'contracts client',
  client: '',
  mongod: '',
  proof: '',
  'local-ledger': '',
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
  const inSrc = path.replace(/^src\//, '');
  const isEntrance = !existsSync(join(ROOT, 'src', to, 'index.ts')) || inSrc === `${to}/index`;
  const entry = [path, inSrc, ...(isEntrance ? [to, `type:${to}`] : [])].find((name) => allowed.includes(name));
  if (!entry) return isEntrance ? `${from} may not import ${to}` : `${to} is entered through its index`;
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
