/** The key that encrypts webhook secrets at rest: the operator's, or one generated into the data directory, once. */
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { SecretBox } from '../domain/secrets.js';
import { StartupError } from '../domain/startup-error.js';
import { makeDirectory } from '../mongod/directory.js';
import type { InstallationStore } from '../stores/installation.js';

const BYTES = 32;

export async function openSecretsKey(configured: Buffer | null, dataDir: string): Promise<Buffer> {
  if (configured) return configured;
  const path = join(dataDir, 'secrets-key');
  try {
    makeDirectory(resolve(dataDir));
    // Written aside and linked: two processes that start at once end up with one key, and a crash leaves no half of one.
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
  return key;
}

const PROBE = 'stellar-collect';

/** @throws StartupError when the database's secrets were sealed with another key: nothing could be signed. */
export async function checkSecretsKey(installation: InstallationStore, secrets: SecretBox): Promise<void> {
  const probe = await installation.sealedProbe(secrets.seal(PROBE, PROBE));
  try {
    secrets.open(probe, PROBE);
  } catch {
    throw new StartupError(
      'SECRETS_KEY is not the one that this database was set up with: its webhooks could not be signed.',
    );
  }
}
