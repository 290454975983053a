/** The caller's account, and the opening of accounts with their first key: by an administrator or the demo, not by the API. */
import type { Contract } from '../../contracts/index.js';
import type { Clock } from '../clock.js';
import { notFound } from '../domain/api-error.js';
import type { NewId } from '../domain/ids.js';
import type { AccountDoc, AccountStore } from '../stores/accounts.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';

export function createAccountService({
  forAccount,
}: {
  forAccount: ForAccount<'account'>;
}): ServiceOf<Contract['account']> {
  return {
    async get({ accountId }) {
      const account = await forAccount(accountId).account.get();
      if (!account) throw notFound('account');
      return toAccount(account);
    },
  };
}

export const toAccount = (account: AccountDoc) => ({
  id: account._id,
  name: account.name,
  createdAt: account.createdAt.toISOString(),
});

/** A new account with a FULL key that does not expire. `key` is nowhere else from then on. */
export async function openAccount(
  deps: {
    accounts: AccountStore;
    apiKeys: Pick<ServiceOf<Contract['apiKeys']>, 'create'>;
    clock: Clock;
    newId: NewId;
  },
  name: string,
) {
  const account: AccountDoc = { _id: deps.newId('acct'), name, createdAt: deps.clock.now() };
  await deps.accounts.insert(account);
  const caller = { accountId: account._id, keyId: '', scope: 'FULL' } as const;
  const apiKey = await deps.apiKeys.create(caller, { name: 'first key', scope: 'FULL' });
  return { account: toAccount(account), apiKey };
}
