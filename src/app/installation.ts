/** Facts about the whole database: one document. */
import mongoose from 'mongoose';
import { PART_OPTIONS, SCHEMA_OPTIONS } from '../kit/database.js';

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
