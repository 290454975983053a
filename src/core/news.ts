/** Selects the activity that every OWNER is told of by e-mail: changes to where money goes and to who may change that. */
import type { Role } from '../../contracts/roles.js';
import { createdAtOf } from '../domain/ids.js';
import type { SecurityNotice, WalletFacts } from '../mail/facts.js';
import type { TellOwners } from '../mail/owners.js';
import type { CommitDeps } from '../services/commit.js';
import type { ActivityDoc } from '../stores/activities.js';
import type { Session } from '../stores/database.js';
import type { Stores } from '../stores/index.js';

type OnActivity = NonNullable<CommitDeps['onActivity']>;

export function createTellOfActivity({
  forAccount,
  tellOwners,
}: Pick<Stores, 'forAccount'> & { tellOwners: TellOwners }): OnActivity {
  async function walletOf(accountId: string, walletId: string, session: Session): Promise<WalletFacts> {
    const { _id: id, name, address, network } = (await forAccount(accountId).wallets.byId(walletId, session))!;
    return { id, name, address, network };
  }

  /** Null for events without an e-mail. */
  async function noticeOf(activity: ActivityDoc, session: Session): Promise<SecurityNotice | null> {
    const { accountId, operation, subjectId: id, changes } = activity;
    const { products, webhooks, users } = forAccount(accountId);
    const changed = (field: string) => {
      const change = changes.find((each) => each.field === field);
      return change && { from: String(change.from), to: String(change.to) };
    };
    switch (operation) {
      case 'wallets_create':
        return { kind: 'wallet.created', wallet: await walletOf(accountId, id, session) };
      case 'products_update': {
        const change = changed('walletId');
        if (!change) return null;
        const { name } = (await products.byId(id, session))!;
        const from = await walletOf(accountId, change.from, session);
        const to = await walletOf(accountId, change.to, session);
        return { kind: 'product.wallet', product: { id, name }, from, to };
      }
      case 'webhooks_update': {
        const change = changed('url');
        if (!change) return null;
        const { name } = (await webhooks.byId(id, session))!;
        return { kind: 'webhook.url', webhook: { id, name }, ...change };
      }
      case 'users_update': {
        const change = changed('role') as { from: Role; to: Role } | undefined;
        if (!change) return null;
        const { name, email } = (await users.byId(id, session))!;
        return { kind: 'user.role', user: { id, name, email }, ...change };
      }
      default:
        return null;
    }
  }

  return async (activities, session) => {
    for (const activity of activities) {
      const notice = await noticeOf(activity, session);
      if (!notice) continue;
      const { _id, accountId, actor } = activity;
      const { type, name } = actor;
      await tellOwners({ accountId, notice, actor: { type, name }, at: createdAtOf(_id) }, session);
    }
  };
}
