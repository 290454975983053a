/** Collection `accounts`: the owners of everything. An account is never changed or deleted. */
import { type Connection, Schema } from 'mongoose';
import { type PageRequest, page } from './paging.js';

export interface AccountDoc {
  _id: string;
  name: string;
  createdAt: Date;
}

const schema = new Schema<AccountDoc>(
  {
    _id: { type: String, required: true },
    name: { type: String, required: true },
    createdAt: { type: Date, required: true },
  },
  { collection: 'accounts', versionKey: false, autoIndex: false, autoCreate: false, strict: 'throw' },
);

export type AccountsStore = ReturnType<typeof createAccountsStore>;

export function createAccountsStore(connection: Connection) {
  const model = connection.model<AccountDoc>('Account', schema);
  return {
    ensureIndexes: (): Promise<void> => model.createIndexes(),

    insert: async (account: AccountDoc): Promise<void> => {
      await model.create(account);
    },

    byId: (id: string): Promise<AccountDoc | null> => model.findById(id).lean<AccountDoc>().exec(),

    list: (request: PageRequest) => page(model, {}, request),
  };
}
