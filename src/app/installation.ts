/** Facts about the whole database: one document. */
import type mongoose from 'mongoose';
import { createSetupCode, type SetupCode } from '../accounts/index.js';
import { type DocOf, define, openCollection, optional, shape } from '../kit/collection.js';
import type { SecretBox } from '../kit/secrets.js';
import type { Config } from './config.js';
import type { Core } from './core.js';
import { hasBuiltInLedger } from './local-ledger.js';

interface BegunDemo {
  /** The ends of its ids, one for each step, so that a repeated step finds what it made. */
  suffixes: string[];
  /** It was made and shown. */
  isDone: boolean;
}

const INSTALLATION = define('installation', {
  _id: String,
  /** Sealed with the secrets key when the database was first used. */
  sealedProbe: String,
  /** The demo, from before its first step on. Missing where none was begun. */
  demo: optional(shape<BegunDemo>()),
});

interface InstallationDoc extends DocOf<typeof INSTALLATION> {}

const ID = 'installation';

export type InstallationStore = ReturnType<typeof createInstallationStore>;

export function createInstallationStore(connection: mongoose.Connection) {
  const installation = openCollection<InstallationDoc>(connection, INSTALLATION);
  return {
    /** The probe stored by the first process ever: `probe`, if there was none. */
    async sealedProbe(own: string): Promise<string> {
      const doc = await installation.findOneAndUpdate(
        { _id: ID },
        { $setOnInsert: { sealedProbe: own } },
        { upsert: true, returnDocument: 'after' },
      );
      return doc!.sealedProbe;
    },
    demo: async (): Promise<BegunDemo | null> => (await installation.findOne({ _id: ID }))?.demo ?? null,
    async saveDemo(demo: BegunDemo): Promise<void> {
      await installation.updateOne({ _id: ID }, { $set: { demo } });
    },
  };
}

/** The first start makes a demo account; elsewhere the first account is a person's. */
export const makesDemo = (config: Config): boolean => config.networks.length === 1 && hasBuiltInLedger(config);

/** Tells how far the setup is, and the code for it. */
export const setupCodeOf = ({ stores, ...core }: Core, config: Config, secrets: SecretBox): SetupCode =>
  createSetupCode({
    ...{ ...core, ...stores.system, forAccount: stores.forAccount, secrets },
    ...{ code: config.setupCode, isOffered: !makesDemo(config) },
  });
