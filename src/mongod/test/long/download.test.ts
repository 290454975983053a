/** The embedded MongoDB of systems other than Linux on x64: a stand-in of MongoDB's downloads has
 *  this machine's programs under the other systems' names. */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { generate } from 'selfsigned';
import t from 'tap';
import { DOWNLOADS } from '../../download.js';
import { fetchProgram, UBUNTU_24 } from '../../fetch.js';
import { findMongod, type System } from '../../find.js';
import { freePort } from '../../sockets.js';

const MEMBER = fileURLToPath(new URL('../member.ts', import.meta.url));
const CACHE_DIR = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stellar-collect');
const log = pino({ level: 'silent' });

const folder = mkdtempSync(join(tmpdir(), 'stellar-collect-downloads-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

mkdirSync(CACHE_DIR, { recursive: true });
mkdirSync(join(folder, 'mongodb-8/bin'), { recursive: true });
const own = await fetchProgram(UBUNTU_24, 'mongod', CACHE_DIR, () => undefined);
cpSync(own, join(folder, 'mongodb-8/bin/mongod'));
execFileSync('tar', ['-I', 'gzip -1', '-cf', 'whole.tgz', 'mongodb-8'], { cwd: folder });
rmSync(join(folder, 'mongodb-8'), { recursive: true });
const whole = readFileSync(join(folder, 'whole.tgz'));
const sha256 = createHash('sha256').update(whole).digest('hex');

const { cert, private: key } = await generate([{ name: 'commonName', value: 'downloads' }], {
  keyType: 'ec',
  extensions: [
    { name: 'basicConstraints', cA: true },
    { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
  ],
});
writeFileSync(join(folder, 'ca.pem'), cert);

function* endless() {
  for (;;) yield '0'.repeat(1000);
}

/** What lies beside a tarball; null for nothing. */
let checksum: ((name: string) => string) | null = null;
let asked: string[] = [];
const server = createServer({ key, cert }, ({ url = '' }, res) => {
  asked.push(url);
  if (url.startsWith('/huge') && url.endsWith('.tgz'))
    return res.writeHead(200, { 'content-length': 2 ** 40 }).write('x');
  if (url.startsWith('/endless')) return void pipeline(Readable.from(endless()), res).catch(() => undefined);
  if (url.endsWith('.tgz')) return res.end(whole);
  if (checksum && url.endsWith('.tgz.sha256')) return res.end(checksum(basename(url, '.sha256')));
  res.writeHead(url.startsWith('/away') ? 302 : 404, { location: 'http://127.0.0.1:1/' }).end();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Opens its MongoDB as if it ran on such a system, and closes it. @returns its first line */
async function open(system: string, cacheDir: string, { downloads = origin, trusts = true } = {}): Promise<string> {
  const dataDir = mkdtempSync(join(folder, 'data-'));
  const env = { ...process.env, ...(trusts && { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }) };
  const args = ['--import=tsx', MEMBER, dataDir, cacheDir, downloads, ...system.split(' ')];
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first: string = (await lines.next()).value ?? 'nothing';
  if (!first.startsWith('ready')) return first;
  child.stdin.write('write\n');
  const wrote = (await lines.next()).value;
  child.stdin.write('close\n');
  await lines.next();
  return wrote;
}

/** Empty but for the libraries of this system. */
function emptyCache(): string {
  const cacheDir = mkdtempSync(join(folder, 'cache-'));
  for (const name of existsSync(CACHE_DIR) ? readdirSync(CACHE_DIR) : [])
    if (/^lib/.test(name)) cpSync(join(CACHE_DIR, name), join(cacheDir, name), { recursive: true });
  return cacheDir;
}

// The other macOS differs by its path alone, which the refusals see.
for (const system of ['linux arm64', 'darwin arm64'])
  t.test(`${system} runs the mongod of MongoDB's downloads, fetched once`, async (t) => {
    const [path, cacheDir] = [DOWNLOADS[system], emptyCache()];
    asked = [];
    checksum = (name) => `${sha256}  ${name}\n`;
    t.equal(await open(system, cacheDir), 'wrote 1');
    t.same(asked, [`/${path}.tgz.sha256`, `/${path}.tgz`]);
    t.equal(await open(system, cacheDir, { trusts: false }), 'wrote 1');
    t.equal(asked.length, 2, 'the next start asks for nothing');
    rmSync(cacheDir, { recursive: true });
  });

t.test('what is not verified is not run: one line says why, and nothing of it is kept', async (t) => {
  const cacheDir = mkdtempSync(join(folder, 'cache-'));
  const refusal = async (reason: RegExp, options = {}) => {
    const line = await open('darwin x64', cacheDir, options);
    t.match(line, reason);
    t.match(line, /^failed MongoDB .* set MONGODB_URI to a MongoDB replica set\.$/);
    t.same(readdirSync(cacheDir), []);
  };
  asked = [];
  checksum = () => `${'0'.repeat(64)}  mongodb.tgz\n`;
  await refusal(/its SHA-256 differs from the one beside it/);
  t.same(asked, [`/${DOWNLOADS['darwin x64']}.tgz.sha256`, `/${DOWNLOADS['darwin x64']}.tgz`]);
  checksum = () => '<html>not here</html>';
  await refusal(/there is no SHA-256 beside it/);
  checksum = () => sha256;
  await refusal(/it has more than 314572800 bytes/, { downloads: `${origin}/huge` });
  await refusal(/sha256 is not used: it has more than 4096 bytes/, { downloads: `${origin}/endless` });
  checksum = null;
  await refusal(/HTTP 404/);
  await refusal(/redirect/, { downloads: `${origin}/away` });
  await refusal(/SELF_SIGNED|DEPTH_ZERO|certificate/, { trusts: false });
  await refusal(/ECONNREFUSED/, { downloads: `https://127.0.0.1:${await freePort()}` });
});

t.test('a system that cannot run it gets one line with the way out, before anything is fetched', async (t) => {
  const path = process.env.PATH;
  // An installed mongod would do on any system.
  process.env.PATH = '';
  t.teardown(() => {
    process.env.PATH = path;
  });
  const linux = { platform: 'linux', arch: 'x64', glibc: '2.41', cpu: '' };
  const refusals: readonly [Partial<System>, RegExp][] = [
    [{ cpu: 'flags\t\t: fpu sse4_2 xavx\n' }, /no AVX\. Set MONGODB_URI/],
    [{ arch: 'arm64', cpu: 'Features\t: fp asimd crc32 cpuid\n' }, /Armv8\.0.* Set MONGODB_URI/],
    [{ glibc: null }, /Linux with musl\. Install mongod .* set MONGODB_URI .* docker run/],
    [{ arch: 'ia32' }, /linux on ia32\. Install mongod .* docker run/],
    [{ platform: 'win32', glibc: null }, /win32 on x64\. Install mongod .* docker run/],
  ];
  for (const [system, message] of refusals) {
    const cacheDir = join(folder, 'untouched');
    const finding = findMongod({ cacheDir, log, onProgress: () => undefined, system: { ...linux, ...system } });
    await t.rejects(finding, { name: 'MongoUnavailableError', message }, String(message));
    t.notOk(existsSync(cacheDir));
  }
});

t.test('a program that ends by a signal is named as the processor’s fault', async (t) => {
  const [system, path] = Object.entries(DOWNLOADS)[0]!;
  const cacheDir = mkdtempSync(join(folder, 'cache-'));
  const name = `mongod-${basename(path)}`;
  writeFileSync(join(folder, name), '#!/bin/sh\n[ -n "$LD_TRACE_LOADED_OBJECTS" ] || kill -ILL $$\n', { mode: 0o755 });
  linkSync(join(folder, name), join(cacheDir, name));
  t.match(await open(system, cacheDir), /^failed This processor cannot run MongoDB \(SIGILL\)\. .*MONGODB_URI/);
});
