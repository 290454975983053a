/** Accounts: the owners of everything. An account is never changed or deleted. */
import mongoose from 'mongoose';
import { SCHEMA_OPTIONS } from './database.js';
import { type PageRequest, page } from './paging.js';

export interface AccountDoc {
  _id: string;
  name: string;
  createdAt: Date;
}

const accountSchema = new mongoose.Schema<AccountDoc>(
  { _id: String, name: String, createdAt: Date },
  { ...SCHEMA_OPTIONS, collection: 'accounts' },
);

/** What works across accounts: for administration. */
export type AccountStore = ReturnType<typeof createAccountStore>['system'];
/** The account itself. */
export type OwnAccount = ReturnType<ReturnType<typeof createAccountStore>['forAccount']>;

export function createAccountStore(connection: mongoose.Connection) {
  const accounts = connection.model<AccountDoc>('Account', accountSchema);
  const byId = (id: string) => accounts.findOne({ _id: id }).lean<AccountDoc>().exec();
  return {
    ensureIndexes: () => accounts.createIndexes(),

    forAccount: (accountId: string) => ({
      get: () => byId(accountId),
    }),

    system: {
      async insert(account: AccountDoc): Promise<void> {
        await accounts.collection.insertOne(account as never);
      },
      byId,
      list: (request: PageRequest) => page<AccountDoc>(accounts, {}, request),
    },
  };
}
