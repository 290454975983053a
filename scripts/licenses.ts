/** Licenses of bundled packages: checks that a package under Apache-2.0 can carry them, and
 *  collects their texts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { build } from 'vite';

/** SPDX names of licenses that require at most their notice, and nothing of the including work. */
const CARRIED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);

/** @param license the field of package.json: a name, or several with AND or OR; undefined
 *  when missing */
export function canCarry(license: unknown): boolean {
  if (typeof license !== 'string') return false;
  const bare = license.replace(/^\((.*)\)$/, '$1');
  // An expression with nested brackets needs a human decision.
  if (/[()]/.test(bare)) return false;
  return bare.split(' OR ').some((choice) => choice.split(' AND ').every((name) => CARRIED.has(name.trim())));
}

/** @returns the paths of all source files in a Vite bundle */
export function filesOf(built: Awaited<ReturnType<typeof build>>): string[] {
  if ('on' in built) throw new Error('a build that watches has no end');
  const parts = [built].flat().flatMap(({ output }) => output);
  return parts.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** @param inputs paths of all source files in the bundles, absolute or relative to the root
 *  @throws Error naming a package whose license cannot be carried or is missing */
export function licensesOf(root: string, inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(resolve(root, path))?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (!canCarry(license)) {
      throw new Error(
        `${name} ${version} is under ${license ?? 'no license that it names'}, which Apache-2.0 cannot carry: leave it out of the bundle (scripts/licenses.ts)`,
      );
    }
    const all = readdirSync(folder);
    const files = all.filter((file) => /(^|-)(licen[cs]e|copying|notice)/i.test(file));
    // Some packages have it only in their README.
    const found = files.length > 0 ? files : all.filter((file) => /^readme/i.test(file));
    if (found.length === 0) throw new Error(`${name} has no license to be passed on`);
    return [`${name} ${version} (${license})`, ...found.map((file) => readFileSync(join(folder, file), 'utf8'))];
  });
  return texts.map((parts) => parts.map((part) => part.trim()).join('\n\n')).join(`\n\n${'-'.repeat(80)}\n\n`);
}
