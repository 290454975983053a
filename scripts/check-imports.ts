/** Checks who imports whom: each part may use those on its line, of some only the types. Exits with 1, naming file and line, otherwise. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Parts are the folders and files directly in src, and contracts. `type:` allows `import type` only. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  contracts: '',
  clock: '',
  domain: 'contracts clock',
  stores: 'contracts domain clock',
  horizon: 'contracts domain clock',
  webhooks: 'contracts domain clock type:stores',
  resources: 'contracts domain type:stores',
  verdict: 'contracts domain type:stores',
  outbox: 'contracts domain clock resources type:stores',
  services: 'contracts domain clock resources verdict outbox type:stores type:page',
  collect: 'contracts domain clock resources verdict outbox horizon type:stores',
  api: 'contracts domain clock type:services',
  page: 'contracts domain clock type:services',
  jobs: 'contracts clock type:*',
  http: 'contracts domain clock startup-error api page type:services',
  'node-version': '',
  directory: '',
  client: 'type:api',
  index: 'contracts client type:api',
  config: 'contracts startup-error',
  mongod: 'clock directory startup-error',
  'local-ledger': 'contracts/networks clock startup-error',
};
/** Everything else wires the rest together, but for the stand-in of Horizon only these may use it. */
const MAY_IMPORT_LOCAL_LEDGER = ['context', 'cli', 'local-ledger'];
const CONTRACTS_PACKAGES = ['zod'];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const IMPORT = /^(?:import|export)\s+(type\s)?(?:[\w*{][^'";]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

const partOf = (path: string) =>
  path
    .replace(/^src\//, '')
    .split('/', 1)[0]!
    .replace(/\.(js|ts)$/, '');

function mistakeIn(file: string, target: string, isType: boolean): string | null {
  // A program of its own that wires the ledger to its database, as main does for the service.
  if (file === 'src/local-ledger/main.ts') return null;
  const from = partOf(file);
  if (!target.startsWith('.')) {
    const isBare = from === 'contracts' && !CONTRACTS_PACKAGES.includes(target);
    return isBare ? `contracts may import no package but ${CONTRACTS_PACKAGES.join(', ')}` : null;
  }
  const path = normalize(join(dirname(file), target)).replace(/\.js$/, '');
  const to = partOf(path);
  if (to === from) return null;
  if (to === 'local-ledger' && !MAY_IMPORT_LOCAL_LEDGER.includes(from))
    return 'local-ledger is for context and cli only';
  const allowed = MAY_IMPORT[from]?.split(' ');
  if (!allowed || allowed.some((part) => part === to || part === path)) return null;
  const types = allowed.includes(`type:${to}`) || allowed.includes('type:*');
  if (types) return isType ? null : `${from} may import only types of ${to} (import type)`;
  return `${from} may not import ${to}`;
}

const files = ['contracts', 'src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
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
