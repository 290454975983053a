/** `npm test [files…]`: runs all tests except the long ones, on one real mongod and a real browser.
 *  `--long` runs folders called long, and whole the files of which a part is long. The last line is
 *  `N passed, N failed`; a run without any test fails too. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { MongoUnavailableError, openMongo } from '../src/mongod/index.js';
import { findCaddy, UNPACKED_CADDY } from '../test/helpers/caddy.js';
import { CACHE_DIR } from '../test/helpers/mongo.js';
import { compiledTest, compileTests, inOneProcess, SMALL_TESTS } from './compile-tests.js';
import { failures, slowestFiles, totals } from './tap-text.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const ROOMS = [
  ...['browser', 'e2e', 'integration', 'property', 'simulation', 'unit'].map((room) => `test/${room}`),
  'src/local-ledger/test',
  'src/mongod/test',
  'src/proof/test',
];
/** Their files each have a process of their own: they change its environment or the driver, or last
 *  for long. */
const LONE_TESTS = ['test/long', 'test/simulation', 'src/local-ledger/test/long', 'src/mongod/test'];
/** At a time. A file waits for much, so that two leave two cores idle. */
const PROCESSES = 3;

const isLong = process.argv[2] === '--long';
const named = process.argv.slice(isLong ? 3 : 2);
const files = (named.length > 0 ? named : isLong ? [...ROOMS, 'test/long'] : ROOMS).flatMap((path) =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' })
        .map((name) => join(path, name))
        .filter((name) => name.endsWith('.test.ts') && (named.length > 0 || isOfRun(name)))
    : path,
);

function isOfRun(file: string): boolean {
  if (/\/long\//.test(file)) return isLong;
  return !isLong || readFileSync(file, 'utf8').includes('/helpers/long.js');
}

/** Installs the Debian package of a missing program, if that is possible without asking.
 *  @param others alternative programs */
function needProgram(program: string, packageName: string, others: readonly string[] = []): void {
  const isThere = (name: string) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
  if (isThere(program)) return;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    if (others.some(isThere)) return;
    console.log(
      `${program} is missing, and the tests that need it fail or are skipped. As root: apt-get install ${packageName}`,
    );
    return;
  }
  console.log(`Installing ${packageName} for the tests (apt-get install ${packageName}).`);
  for (const args of [['update'], ['install', '--yes', '--no-install-recommends', packageName]]) {
    spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 'ignore', 'inherit'], timeout: 180_000 });
  }
}

/** Unpacks Debian's Caddy, because installing it would start a web server. */
function needCaddy(): void {
  if (findCaddy()) return;
  const steps = `apt-get -qq update; apt-get -qq download caddy; dpkg-deb -x caddy_*.deb .; install -D usr/bin/caddy ${UNPACKED_CADDY}`;
  const cwd = mkdtempSync(join(tmpdir(), 'stellar-collect-caddy-'));
  console.log("Unpacking Debian's caddy for the tests.");
  const { status } = spawnSync('sh', ['-ec', steps], { cwd, stdio: 'ignore', timeout: 180_000 });
  rmSync(cwd, { recursive: true, force: true });
  if (status !== 0)
    console.log('Caddy is missing, and the tests that need it are skipped. As root: apt-get install caddy');
}

/** Rebuilds the programs that tests start when a source is newer. */
function build(): boolean {
  const modifiedMs = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = ['src', 'contracts']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => !/^src\/[\w-]+\/(dist|test)\//.test(path))
    .concat('scripts/bundle.ts', 'tsconfig.build.json', 'package-lock.json');
  const builtMs = modifiedMs('dist/src/main.js');
  if (sources.every((path) => modifiedMs(path) < builtMs)) return true;
  const options = { cwd: root, stdio: 'inherit' } as const;
  return spawnSync('npm', ['run', '--silent', 'build'], options).status === 0;
}

/** Builds tap without the plugins that .taprc leaves out. tap would do so itself, but keep their
 *  loaders in that run, so that ts-node reads every module. */
function buildTap(): void {
  const tapFile = join(root, 'node_modules/@tapjs/test/test-built/dist/esm/index.js');
  if (!readFileSync(tapFile, 'utf8').includes('@tapjs/typescript')) return;
  spawnSync(join(root, 'node_modules/.bin/tap'), ['build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

async function runTap(env: Record<string, string>, tapFile: string): Promise<number> {
  const args = ['run', `--jobs=${PROCESSES}`, '--reporter=base', `--output-file=${tapFile}`, ...programs()];
  // With CI set the reporter prints each result once instead of redrawing the screen.
  const tap = spawn(join(root, 'node_modules/.bin/tap'), args, {
    cwd: root,
    // Shells and other people's programs warn of a locale that is not installed.
    env: { ...process.env, CI: 'true', LC_ALL: 'C', ...env },
    stdio: 'inherit',
  });
  // Ctrl-C reaches tap directly; this process waits for tap to end and cleans up.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tap.kill(signal));
  return new Promise((resolve) => tap.on('close', (code) => resolve(code ?? 1)));
}

const startsWith = (folders: readonly string[]) => (file: string) =>
  folders.some((each) => file.startsWith(`${each}/`));

/** Small files run in one process, each lone one in its own; processes share the others. */
function programs(): string[] {
  const [small, notSmall] = parted(files, startsWith(SMALL_TESTS));
  const [alone, shared] = parted(notSmall, startsWith(LONE_TESTS));
  const processes = Math.min(PROCESSES, shared.length);
  return [
    ...(small.length > 0 ? [inOneProcess(root, 'small', small)] : []),
    ...alone.map(compiledTest),
    ...Array.from({ length: processes }, (_, at) => inOneProcess(root, `shared-${at + 1}`, shared, true)),
  ];
}

function parted<T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

const IN_MEMORY = '/dev/shm';
const ROOM_BYTES = 8 * 2 ** 30;

/** Folder of mongod's data: in memory if there is room, because each test makes and drops its
 *  own database. */
function dataRoot(): string {
  if (!existsSync(IN_MEMORY) || freemem() < 2 * ROOM_BYTES) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize < ROOM_BYTES ? tmpdir() : IN_MEMORY;
}

/** Shortens mongod's history. Each test drops a database of some 250 files, which mongod keeps open
 *  as long as its history: within the default of five minutes it would exceed its limit of open
 *  files and exit. */
async function keepLittleHistory(uri: string): Promise<void> {
  const client = await mongo.MongoClient.connect(uri);
  await client.db('admin').command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 180 });
  await client.close();
}

async function main(): Promise<number> {
  const workDir = mkdtempSync(join(dataRoot(), 'stellar-collect-test-'));
  const tapFile = join(workDir, 'results.tap');
  const missing = named.find((path) => !existsSync(path));
  if (missing) console.log(`There is no test ${missing}.`);
  if (missing || !build()) {
    console.log('0 passed, 1 failed');
    return 1;
  }
  await compileTests(root);
  buildTap();
  const runs = (name: string) => files.some((file) => file.includes(name));
  if (runs('browser')) needProgram('chromium-headless-shell', 'chromium-headless-shell', ['chromium', 'google-chrome']);
  if (runs('e2e')) needProgram('php', 'php-cli');
  if (runs('proxy')) needCaddy();
  const database = await openMongo({
    uri: null,
    dataDir: workDir,
    cacheDir: CACHE_DIR,
    log: pino({ level: 'warn' }, process.stderr),
    onProgress: (line) => console.log(line),
  });
  try {
    await keepLittleHistory(database.uri);
    const turns = join(workDir, 'turns');
    mkdirSync(turns);
    const env = { TEST_MONGODB_URI: database.uri, TEST_LONG: String(isLong), TEST_TURNS: turns };
    const code = await runTap(env, tapFile);
    const tap = existsSync(tapFile) ? readFileSync(tapFile, 'utf8') : '';
    const { passed, failed } = totals(tap);
    for (const line of [...failures(tap), ...slowestFiles(tap)]) console.log(line);
    console.log(`\n${passed} passed, ${failed} failed`);
    return passed === 0 || failed > 0 ? 1 : code;
  } finally {
    await database.close();
    // A mongod that is slow to exit may still write into the folder.
    rmSync(workDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof MongoUnavailableError)) throw error;
  console.log(error.message);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
}
