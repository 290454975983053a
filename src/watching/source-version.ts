/** Versions of Horizon whose account histories leave records out. */

const OMITS_CONTRACT_PAYMENTS = [22, 0, 3];
const OMITS_RECORDS = [28, 0, 0];

const isBefore = (version: readonly number[], other: readonly number[]): boolean => {
  const at = other.findIndex((part, index) => part !== version[index]);
  return at >= 0 && (version[at] ?? 0) < other[at]!;
};

/** @param version such as `27.1.0`; null when unknown. @returns why its account histories are unreliable; null when they are not */
export function sourceWarning(version: string | null): string | null {
  if (version === null) return null;
  const parts = version.split('.').map(Number);
  if (isBefore(parts, OMITS_CONTRACT_PAYMENTS))
    return `Horizon ${version} can leave contract payments and other records out of an account's history: upgrade it to 28.0.0 or later.`;
  if (isBefore(parts, OMITS_RECORDS))
    return `Horizon ${version} can leave records out of an account's history: upgrade it to 28.0.0 or later.`;
  return null;
}
