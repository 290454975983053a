/** The keys that encrypt secrets at rest: the operator's, or one generated once into the data
 *  directory. The first one seals, all open; `secrets reseal` seals again what is stored. */

import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';
import type { SecretBox } from '../kit/secrets.js';
import { StartupError } from '../kit/startup-error.js';
import { makeDirectory, toDisk } from './directory.js';
import type { InstallationStore } from './installation.js';

// All sealed values of the database, for resealing when the secrets key changes.

interface SealedRow {
  /** Id of the row that the values are sealed for. */
  owner: string;
  /** Null for values of the installation. */
  accountId: string | null;
  sealed: string[];
  /** False when the value has changed since it was read, or is gone. */
  replace(sealed: string, by: string, session?: Session): Promise<boolean>;
}

const BATCH = 100;

/** One after the other, read in batches. */
export async function* sealedRows(db: mongoose.mongo.Db): AsyncGenerator<SealedRow> {
  const installation = db.collection<{ _id: string; sealedProbe: string }>('installation');
  for await (const { _id, sealedProbe } of installation.find({})) {
    yield {
      ...{ owner: PROBE_OWNER, accountId: null, sealed: [sealedProbe] },
      replace: async (sealed, by, session) =>
        isDone(
          await installation.updateOne({ _id, sealedProbe: sealed }, { $set: { sealedProbe: by } }, within(session)),
        ),
    };
  }
  for (const name of ['webhookKeys', 'requestKeys', 'setup']) {
    const keys = db.collection<{ _id: string; sealed: string }>(name);
    const found = keys.find({ sealed: { $gt: '' } }, { projection: { sealed: 1 }, batchSize: BATCH }).sort({ _id: 1 });
    for await (const { _id, sealed: only } of found) {
      yield {
        ...{ owner: _id, accountId: null, sealed: [only] },
        replace: async (sealed, by, session) =>
          isDone(await keys.updateOne({ _id, sealed }, { $set: { sealed: by } }, within(session))),
      };
    }
  }
  yield* sealedWebhooks(db);
}

async function* sealedWebhooks(db: mongoose.mongo.Db): AsyncGenerator<SealedRow> {
  const webhooks = db.collection<{ _id: string; accountId: string; secrets: { sealed: string }[] }>('webhooks');
  const projection = { accountId: 1, 'secrets.sealed': 1 } as const;
  for await (const { _id, accountId, secrets } of webhooks
    .find({}, { projection, batchSize: BATCH })
    .sort({ _id: 1 })) {
    yield {
      ...{ owner: _id, accountId, sealed: secrets.map(({ sealed }) => sealed) },
      replace: async (sealed, by, session) => {
        const filter = { _id, 'secrets.sealed': sealed };
        return isDone(await webhooks.updateOne(filter, { $set: { 'secrets.$.sealed': by } }, within(session)));
      },
    };
  }
}

const within = (session: Session | undefined) => (session ? { session } : {});
const isDone = ({ modifiedCount }: { modifiedCount: number }): boolean => modifiedCount > 0;

/** The installation's probe belongs to no row; it was sealed for this name. */
const PROBE_OWNER = 'stellar-collect';

const BYTES = 32;

/** @throws StartupError when the data directory cannot be written, or holds something else */
export async function openSecretsKey(
  configured: readonly Buffer[] | null,
  dataDir: string,
): Promise<readonly Buffer[]> {
  if (configured) return configured;
  const path = join(dataDir, 'secrets-key');
  try {
    if (!existsSync(path)) await makeKey(path);
  } catch (error) {
    throw new StartupError(`DATA_DIR ${dataDir} cannot be written: ${(error as Error).message}`);
  }
  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (key.length !== BYTES) throw new StartupError(`${path} does not hold ${BYTES} bytes in base64.`);
  return [key];
}

/** Writes to a file of its own, then links: two processes that start at once get one key, and a
 *  crash leaves no partial one. The key is on the disk before anything is sealed with it. */
async function makeKey(path: string): Promise<void> {
  const folder = dirname(resolve(path));
  makeDirectory(folder);
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  const key = `${randomBytes(BYTES).toString('base64')}\n`;
  await writeFile(aside, key, { flag: 'wx', mode: 0o600, flush: true });
  await link(aside, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(aside);
  await toDisk(folder);
}

/** @throws StartupError when the database's secrets were sealed with another key, so that nothing
 *  could be signed */
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

/** Reseals with the first key everything that is sealed with another. May end at any moment, be
 *  repeated, and run beside the service.
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
