/** An account's settings for e-mail: kinds and recipients. */

import type { Contract } from '../../contracts/index.js';
import { NOTICE_KINDS } from '../../contracts/notifications.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { AccountDoc, Commit } from '../accounts/index.js';
import { notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { ForAccount } from '../stores.js';
import { distinctAddresses } from './email.js';

export function createNotificationService(deps: {
  forAccount: ForAccount<'account' | 'mails'>;
  commit: Commit;
  /** Whether this service sends e-mail. */
  sending: boolean;
}): ServiceOf<Contract['notifications']> {
  const { forAccount, commit, sending } = deps;

  async function show(account: AccountDoc | null): Promise<OutputOf<Contract['notifications']['get']>> {
    if (!account) throw notFound('account');
    const { recipients = [], kinds = [] } = account.notifications ?? {};
    const failure = await forAccount(account._id).mails.lastFailure();
    const lastFailure = failure && {
      at: failure.failedAt!.toISOString(),
      to: failure.to,
      kind: failure.sort === 'security' ? 'security' : failure.kind,
      error: failure.lastError!,
      isFinal: failure.status !== 'PENDING',
    };
    return { recipients, kinds, sending, lastFailure };
  }

  return {
    get: async ({ accountId }) => show(await forAccount(accountId).account.get()),

    async set(caller, { recipients, kinds }) {
      const wanted = NOTICE_KINDS.filter((kind) => kinds.includes(kind));
      const notifications = { recipients: distinctAddresses(recipients), kinds: wanted };
      const { accountId } = caller;
      const after = await commit({ caller, subjectId: accountId }, (session) =>
        forAccount(accountId).account.setNotifications(notifications, session),
      );
      return show(after);
    },
  };
}
