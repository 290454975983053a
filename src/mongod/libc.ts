/** Debian 13's C library beside the system's own, for a Debian whose glibc is older than what mongod was built for; fetched by apt, so its signatures hold. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../startup-error.js';
import { INSTEAD } from './fetch.js';

const run = promisify(execFile);

/** Major and minor, or null where node does not run on glibc (musl, macOS). */
export function systemGlibc(): readonly [number, number] | null {
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  const [major, minor] = header.glibcVersionRuntime?.split('.').map(Number) ?? [];
  return major === undefined || minor === undefined ? null : [major, minor];
}

/** @returns a directory with the shared objects and the loader `ld-linux-x86-64.so.2`. */
export async function fetchLibc(workDir: string, onProgress: (line: string) => void): Promise<string> {
  onProgress("Fetching Debian 13's C library for it (3 MB)");
  try {
    const mirror = await debianMirror();
    await mkdir(join(workDir, 'lists/partial'), { recursive: true });
    await mkdir(join(workDir, 'archives/partial'), { recursive: true });
    await writeFile(
      join(workDir, 'sources.list'),
      `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} trixie main\n`,
    );
    const settings = {
      'Dir::State': workDir,
      'Dir::Cache': workDir,
      'Dir::Etc::sourcelist': join(workDir, 'sources.list'),
      'Dir::Etc::sourceparts': '/dev/null',
      'Acquire::Languages': 'none',
      // Root's apt would drop to a user who may not enter this directory.
      'APT::Sandbox::User': '',
    };
    const options = ['-qq', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
    await run('apt-get', [...options, 'update'], { cwd: workDir });
    await run('apt-get', [...options, 'download', 'libc6:amd64'], { cwd: workDir });
    const deb = (await readdir(workDir)).find((name) => name.endsWith('.deb'))!;
    await run('dpkg-deb', ['-x', deb, 'unpacked'], { cwd: workDir });
    return join(workDir, 'unpacked/usr/lib/x86_64-linux-gnu');
  } catch (error) {
    const reason =
      error instanceof StartupError
        ? error.message
        : ((error as { stderr?: string }).stderr || (error as Error).message).trim().split('\n')[0];
    throw new StartupError(`MongoDB needs glibc 2.38 and apt cannot fetch it (${reason}). ${INSTEAD}`);
  }
}

/** The mirror that this system already trusts for its own packages. */
async function debianMirror(): Promise<string> {
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1];
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)']);
  for (const line of stdout.split('\n')) {
    const [uri, release, component] = line.split(' ');
    if (uri && release === codename && component === 'main') return uri;
  }
  throw new StartupError('no Debian mirror among its sources');
}
