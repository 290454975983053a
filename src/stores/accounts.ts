/** Accounts: the owners of everything. An account is never deleted. */
import mongoose from 'mongoose';
import { makeIndexes, SCHEMA_OPTIONS, type Session } from './database.js';
import { createPages, type PageRequest } from './paging.js';

export interface AccountDoc {
  _id: string;
  name: string;
  createdAt: Date;
  /** Creations that a quota counted, refused ones too; absent before the first. Written to by each, so that they come one after the other. */
  creations?: number;
}

const accountSchema = new mongoose.Schema<AccountDoc>(
  { _id: String, name: String, createdAt: Date, creations: { type: Number, required: false } },
  { ...SCHEMA_OPTIONS, collection: 'accounts' },
);

/** What works across accounts: for administration. */
export type AccountStore = ReturnType<typeof createAccountStore>['system'];
/** The account itself. */
export type OwnAccount = ReturnType<ReturnType<typeof createAccountStore>['forAccount']>;

export function createAccountStore(connection: mongoose.Connection) {
  const accounts = connection.model<AccountDoc>('Account', accountSchema);
  const page = createPages(accounts);
  const byId = (id: string) => accounts.findOne({ _id: id }).lean<AccountDoc>().exec();
  return {
    ensureIndexes: () => makeIndexes(accounts),

    forAccount: (accountId: string) => ({
      get: () => byId(accountId),
      /** Of two transactions that call this at the same time, one runs again after the other. */
      async countCreations(added: number, session: Session): Promise<void> {
        await accounts.updateOne({ _id: accountId }, { $inc: { creations: added } }, { session });
      },
    }),

    system: {
      async insert(account: AccountDoc): Promise<void> {
        await accounts.collection.insertOne(account as never);
      },
      byId,
      list: (request: PageRequest) => page({}, request),
    },
  };
}
