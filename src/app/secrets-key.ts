/** The keys that encrypt secrets at rest: the operator's, or one generated once into the data directory. The first one seals, all open. */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Session } from '../kit/database.js';
import type { SecretBox } from '../kit/secrets.js';
import { StartupError } from '../kit/startup-error.js';
import { makeDirectory } from './directory.js';
import type { InstallationStore } from './installation.js';
import { PROBE_OWNER, type SealedRow } from './sealed-values.js';

const BYTES = 32;

/** @throws StartupError when the data directory cannot be written, or holds something else */
export async function openSecretsKey(
  configured: readonly Buffer[] | null,
  dataDir: string,
): Promise<readonly Buffer[]> {
  if (configured) return configured;
  const path = join(dataDir, 'secrets-key');
  try {
    makeDirectory(resolve(dataDir));
    // Write to a temporary file, then link: two processes that start at once get one key, and a crash leaves no partial one.
    const aside = `${path}.${process.pid}`;
    await writeFile(aside, `${randomBytes(BYTES).toString('base64')}\n`, { mode: 0o600 });
    await link(aside, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await rm(aside);
  } catch (error) {
    throw new StartupError(`DATA_DIR ${dataDir} cannot be written: ${(error as Error).message}`);
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (key.length !== BYTES) throw new StartupError(`${path} does not hold ${BYTES} bytes in base64.`);
  return [key];
}

/** @throws StartupError when the database's secrets were sealed with another key, so that nothing could be signed */
export async function checkSecretsKey(installation: InstallationStore, secrets: SecretBox): Promise<void> {
  const probe = await installation.sealedProbe(secrets.seal(PROBE_OWNER, PROBE_OWNER));
  try {
    secrets.open(probe, PROBE_OWNER);
  } catch {
    throw new StartupError(
      'SECRETS_KEY is not the one that this database was set up with: its webhooks could not be signed.',
    );
  }
}

/** Stores the resealed values of a row; may run `work` again. @returns the result of `work` */
export type StoreResealed = (row: SealedRow, work: (session?: Session) => Promise<number>) => Promise<number>;

/** Reseals with the first key everything that is sealed with another. May end at any moment, be repeated, and run beside the service.
 *  @throws StartupError when no key opens some value; everything else is resealed by then */
export async function resealSecrets(
  rows: AsyncIterable<SealedRow>,
  secrets: SecretBox,
  store: StoreResealed,
): Promise<{ resealed: number; kept: number }> {
  const counts = { resealed: 0, kept: 0 };
  let unreadable = 0;
  for await (const row of rows) {
    const opened = row.sealed.map((sealed) => ({ sealed, opened: secrets.tryOpen(sealed, row.owner) }));
    const stale = opened.flatMap(({ sealed, opened }) => (opened && !opened.withFirstKey ? [{ sealed, opened }] : []));
    const unread = opened.filter((each) => each.opened === null).length;
    unreadable += unread;
    counts.kept += opened.length - stale.length - unread;
    if (stale.length === 0) continue;
    counts.resealed += await store(row, async (session) => {
      let replaced = 0;
      for (const { sealed, opened } of stale)
        if (await row.replace(sealed, secrets.seal(opened.secret, row.owner), session)) replaced += 1;
      return replaced;
    });
  }
  if (unreadable > 0) throw new StartupError(`${unreadable} secrets cannot be decrypted with any key of SECRETS_KEY.`);
  return counts;
}
