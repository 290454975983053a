/** Facts about the whole database: one document. */
import mongoose from 'mongoose';
import { createSetupCode, type SetupCode } from '../accounts/index.js';
import { PART_OPTIONS, SCHEMA_OPTIONS } from '../kit/database.js';
import type { SecretBox } from '../kit/secrets.js';
import type { Config } from './config.js';
import type { Core } from './core.js';
import { hasBuiltInLedger } from './local-ledger.js';

interface InstallationDoc {
  _id: string;
  /** Sealed with the secrets key when the database was first used. */
  sealedProbe: string;
  /** The demo, from before its first step on. Missing where none was begun. */
  demo?: BegunDemo;
}

interface BegunDemo {
  /** The ends of its ids, one for each step, so that a repeated step finds what it made. */
  suffixes: string[];
  /** It was made and shown. */
  isDone: boolean;
}

const demoSchema = new mongoose.Schema<BegunDemo>({ suffixes: [String], isDone: Boolean }, PART_OPTIONS);
const installationSchema = new mongoose.Schema<InstallationDoc>(
  { _id: String, sealedProbe: String, demo: { type: demoSchema, required: false } },
  { ...SCHEMA_OPTIONS, collection: 'installation' },
);

const ID = 'installation';

export type InstallationStore = ReturnType<typeof createInstallationStore>;

export function createInstallationStore(connection: mongoose.Connection) {
  const installation = connection.model<InstallationDoc>('Installation', installationSchema);
  return {
    /** The probe stored by the first process ever: `probe`, if there was none. */
    async sealedProbe(own: string): Promise<string> {
      const doc = await installation
        .findOneAndUpdate(
          { _id: ID },
          { $setOnInsert: { sealedProbe: own } },
          { upsert: true, returnDocument: 'after' },
        )
        .lean<InstallationDoc>();
      return doc!.sealedProbe;
    },
    demo: async (): Promise<BegunDemo | null> =>
      (await installation.findById(ID).lean<InstallationDoc>())?.demo ?? null,
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
