/** Supported MongoDB versions, and those with the fix for CVE-2025-14847: without it, anyone who
 *  reaches the port can read mongod's memory without a password, through
 *  zlib-compressed messages. */

export const OLDEST_MAJOR = 7;
/** The first fixed release of each line, as SERVER-115508 lists them. Later lines have the fix from
 *  their start. */
const FIRST_PATCHED = [
  [7, 0, 28],
  [8, 0, 17],
  [8, 2, 3],
] as const;

/** For messages: `7.0.28, 8.0.17, 8.2.3 or newer`. */
export const PATCHED_VERSIONS = `${FIRST_PATCHED.map((version) => version.join('.')).join(', ')} or newer`;

const partsOf = (version: string): readonly number[] => version.split('-', 1)[0]!.split('.').map(Number);

/** Also false for text that is not a version. */
export function isSupported(version: string): boolean {
  return partsOf(version)[0]! >= OLDEST_MAJOR;
}

/** @param version as mongod prints it; a pre-release (`8.2.3-rc0`) counts as older than
 *  its release */
export function isPatched(version: string): boolean {
  const [major = Number.NaN, minor = 0, patch = 0] = partsOf(version);
  const line = FIRST_PATCHED.find(([lineMajor, lineMinor]) => lineMajor === major && lineMinor === minor);
  if (line) return patch > line[2] || (patch === line[2] && !version.includes('-'));
  const [newestMajor, newestMinor] = FIRST_PATCHED.at(-1)!;
  return major > newestMajor || (major === newestMajor && minor > newestMinor);
}
