/** Facts about the whole database: one document. */
import mongoose from 'mongoose';
import { SCHEMA_OPTIONS } from '../kit/database.js';

interface InstallationDoc {
  _id: string;
  /** Sealed with the secrets key when the database was first used. */
  sealedProbe: string;
}

const installationSchema = new mongoose.Schema<InstallationDoc>(
  { _id: String, sealedProbe: String },
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
  };
}
