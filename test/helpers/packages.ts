/** Packages as users get them: packed, and unpacked in another folder. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './command.js';

export const bin = (name: string) => join(ROOT, 'node_modules', '.bin', name);

/** The output of a command. @throws Error with its last lines when the command fails */
export async function succeeds(file: string, args: readonly string[], cwd = ROOT, env = process.env): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(file, args, { cwd, env, maxBuffer: 1e8 });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${file} ${args.join(' ')}\n${`${stdout}${stderr}`.slice(-4000)}`);
  }
}

/** Packs the folder's `contents` as for the registry, and unpacks them at `into`. @returns the
 *  paths of the package's files */
export async function installPacked(from: string, contents: readonly string[], into: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-pack-'));
  try {
    for (const name of ['package.json', ...contents])
      await cp(join(from, name), join(folder, name), { recursive: true, dereference: true });
    // The package is built already, and npm 10 would build it again despite --ignore-scripts.
    await succeeds('npm', ['pkg', 'delete', 'scripts'], folder);
    const [packed] = JSON.parse(await succeeds('npm', ['pack', '--ignore-scripts', '--json'], folder));
    await mkdir(into, { recursive: true });
    await succeeds('tar', ['-xzf', join(folder, packed.filename), '--strip-components=1', '-C', into]);
    return packed.files.map(({ path }: { path: string }) => path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
