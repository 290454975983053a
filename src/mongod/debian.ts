/** Shared libraries from Debian packages, unpacked beside the system's own. apt fetches them
 *  without root, and its signatures or a pinned hash protect them. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Fetches Debian 13's C library with its loader. @returns the directory of the libraries,
 *  below `workDir` */
export async function fetchNewerLibc(workDir: string): Promise<string> {
  const sources = join(workDir, 'trixie.list');
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  await writeFile(sources, `deb [signed-by=${keyring}] ${await mirror()} trixie main\n`);
  const apt = await privateApt(workDir, { 'Dir::Etc::sourcelist': sources, 'Dir::Etc::sourceparts': '/dev/null' });
  await apt('update');
  await apt('download', 'libc6');
  return unpack(workDir, workDir);
}

/** Fetches OpenSSL 1.1 of Debian 11. @returns the directory of the libraries, below `workDir` */
export async function fetchOlderOpenssl(workDir: string): Promise<string> {
  const deb = 'libssl1.1_1.1.1w-0+deb11u1_amd64.deb';
  const sha256 = 'aadf8b4b197335645b230c2839b4517aa444fd2e8f434e5438c48a18857988f7';
  const url = new URL(`pool/main/o/openssl/${deb}`, await mirror()).href;
  await run('/usr/lib/apt/apt-helper', ['download-file', url, join(workDir, deb), `SHA256:${sha256}`]);
  return unpack(workDir, workDir);
}

/** Fetches `packages` of this system's release, with their missing dependencies. @returns the
 *  directory of the libraries, below `workDir` */
export async function fetchMissing(workDir: string, packages: readonly string[]): Promise<string> {
  const apt = await privateApt(workDir, { 'Dir::State::status': '/var/lib/dpkg/status', 'Debug::NoLocking': 'true' });
  await apt('update');
  await apt('install', '--yes', '--no-install-recommends', '--download-only', ...packages);
  return unpack(workDir, join(workDir, 'archives'));
}

/** apt-get with its own lists and archives. */
async function privateApt(workDir: string, settings: Record<string, string>) {
  await mkdir(join(workDir, 'lists/partial'), { recursive: true });
  await mkdir(join(workDir, 'archives/partial'), { recursive: true });
  const all = {
    'Dir::State': workDir,
    'Dir::Cache': workDir,
    'Acquire::Languages': 'none',
    // Root's apt would download as a user who may not enter this directory.
    'APT::Sandbox::User': '',
    'Acquire::http::Timeout': '15',
    'Acquire::Retries': '1',
    ...settings,
  };
  const options = Object.entries(all).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return (...args: string[]) => run('apt-get', ['-qq', ...options, ...args], { cwd: workDir });
}

async function unpack(workDir: string, archives: string): Promise<string> {
  const root = join(workDir, 'unpacked');
  for (const name of await readdir(archives)) {
    if (name.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, name), root]);
  }
  // Those of this machine's processor.
  const folder = ['lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu'].find((each) =>
    ['', 'usr'].some((under) => existsSync(join(root, under, each))),
  );
  const libraries = join(root, 'usr', folder ?? 'lib');
  // Some packages predate Debian's merge of /lib into /usr/lib.
  const older = join(root, folder ?? 'none');
  if (existsSync(older)) await cp(older, libraries, { recursive: true, verbatimSymlinks: true });
  return libraries;
}

/** The mirror of this system's own packages, with a trailing slash. */
async function mirror(): Promise<string> {
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)']);
  for (const line of stdout.split('\n')) {
    const [uri, release, component] = line.split(' ');
    if (uri && release === codename && component === 'main') return uri.replace(/\/?$/, '/');
  }
  throw new Error('apt knows no Debian mirror');
}
