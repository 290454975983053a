/** What OWNERs are told of by e-mail: changes to where money goes and to who may change that, and
 *  webhooks that fail; and who else is told of what. */

import type { Contract } from '../../contracts/index.js';
import { NOTICE_KINDS } from '../../contracts/notifications.js';
import type { OutputOf } from '../../contracts/operation.js';
import type {
  AccountDoc,
  AccountStore,
  ActivityDoc,
  Commit,
  CommitDeps,
  UserDoc,
  UserStore,
} from '../accounts/index.js';
import { notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { Database, Session } from '../kit/database.js';
import { createdAtOf } from '../kit/ids.js';
import type { AccountStores, ForAccount, Stores } from '../stores.js';
import type { WebhookDoc, WebhookStore } from '../webhooks/index.js';
import type { Tell, Telling } from './bounded.js';
import {
  distinctAddresses,
  type Notice,
  type SecurityFacts,
  type SecurityKind,
  type SecurityNotice,
  type WalletFacts,
} from './letter.js';

// Tells accounts of webhooks that fail, once until a delivery succeeds. Looked for beside the
// dispatcher, which has no part in it.

/** A delivery with this many failures has failed for longer than a restart of its endpoint takes:
 *  its third attempt is due. */
const FAILED_ATTEMPTS = 3;
const OF_RETRY_BASE = 4;
/** Webhooks in one check. */
const BATCH = 100;

export function createTellOfFailing(deps: {
  webhooks: Pick<WebhookStore, 'failingUntold' | 'markTold'>;
  accounts: Pick<AccountStore, 'withNotifications'>;
  tell: Tell;
  transaction: Database['transaction'];
  retryBaseMs: number;
}): () => Promise<void> {
  const { webhooks, accounts, tell, transaction, retryBaseMs } = deps;
  const enough = { attempts: FAILED_ATTEMPTS, lastedMs: OF_RETRY_BASE * retryBaseMs * 0.9 };
  return async () => {
    for (const webhook of await webhooks.failingUntold(enough, BATCH)) {
      await transaction(async (session) => {
        if (!(await webhooks.markTold(webhook, session))) return;
        const { accountId } = webhook;
        const [account] = await accounts.withNotifications([accountId], session);
        const { recipients = [], kinds = [] } = account?.notifications ?? {};
        if (!kinds.includes('webhook.failing')) return;
        const key = `${webhook._id}:${webhook.failingSince!.toISOString()}`;
        await tell([{ accountId, sort: 'notice', key, ...noticeOf(webhook), recipients }], session);
      });
    }
  };
}

const noticeOf = ({ _id: id, name, url, failingSince, lastFailure, status }: WebhookDoc): Notice => ({
  kind: 'webhook.failing',
  facts: {
    ...{ id, name, url, since: failingSince!.toISOString(), error: lastFailure?.error ?? null },
    isPaused: status === 'PAUSED',
  },
});

// An account's settings for e-mail: kinds and recipients.

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

type OnActivity = NonNullable<CommitDeps['onActivity']>;

/** A recorded change, and what it is looked up in. */
interface Told {
  id: string;
  /** The field before and after; undefined where it stayed as it was. */
  changed(field: string): { from: unknown; to: unknown } | undefined;
  stores: AccountStores;
  session: Session;
}

interface Row {
  kind: SecurityKind;
  operation: string;
  /** This field has to have changed. */
  field?: string;
  isTold?: (told: Told) => boolean | Promise<boolean>;
  notice: (told: Told) => Promise<Omit<SecurityNotice, 'kind'>>;
  /** Those who were told of such changes until this one: only they are told, or they besides
   *  the OWNERs. */
  former?: { of: (told: Told) => Promise<string | null>; isOnly?: true };
}

/** For changes of users. */
const ofUser = async (told: Told) => ({ name: (await userBefore(told)).name ?? '', page: 'users' });

const ROWS: readonly Row[] = [
  {
    ...{ kind: 'wallet.created', operation: 'wallets_create' },
    async notice(told) {
      const wallet = await walletOf(told, told.id);
      return { name: wallet.name, page: `wallets/${wallet.id}`, wallet };
    },
  },
  {
    ...{ kind: 'product.wallet', operation: 'products_update', field: 'walletId' },
    async notice(told) {
      const { from, to } = told.changed('walletId')!;
      const [before, now] = [await walletOf(told, String(from)), await walletOf(told, String(to))];
      const { name } = (await told.stores.products.byId(told.id, told.session))!;
      return { name, page: `products/${told.id}`, before: placeOf(before), now: placeOf(now) };
    },
  },
  {
    ...{ kind: 'webhook.url', operation: 'webhooks_update', field: 'url' },
    async notice({ id, changed, stores, session }) {
      const { name } = (await stores.webhooks.byId(id, session))!;
      return { name, page: `webhooks/${id}`, ...valuesOf(changed('url')!) };
    },
  },
  {
    ...{ kind: 'apiKey.created', operation: 'apiKeys_create' },
    isTold: ({ changed }) => changed('scope')?.to === 'FULL',
    notice: ({ changed }) => Promise.resolve({ name: String(changed('name')!.to), page: 'api-keys' }),
  },
  {
    ...{ kind: 'apiKey.created', operation: 'apiKeys_rotate' },
    isTold: async (told) => (await keyOf(told)).scope === 'FULL',
    notice: async (told) => ({ name: (await keyOf(told)).name, page: 'api-keys' }),
  },
  {
    ...{ kind: 'user.created', operation: 'users_create' },
    isTold: ({ changed }) => changed('role')?.to === 'OWNER',
    notice: ({ changed }) => Promise.resolve({ name: String(changed('name')!.to), page: 'users' }),
  },
  {
    ...{ kind: 'user.invited', operation: 'users_invite' },
    isTold: async (told) => (await userBefore(told)).role === 'OWNER',
    notice: ofUser,
  },
  {
    ...{ kind: 'user.role', operation: 'users_update', field: 'role' },
    notice: async (told) => ({ ...(await ofUser(told)), ...valuesOf(told.changed('role')!) }),
    former: { of: formerOwner },
  },
  {
    ...{ kind: 'user.email', operation: 'users_update', field: 'email' },
    isTold: async (told) => (await formerOwner(told)) !== null,
    notice: async (told) => ({ ...(await ofUser(told)), before: (await formerOwner(told))! }),
    former: { of: formerOwner, isOnly: true },
  },
  {
    ...{ kind: 'user.removed', operation: 'users_delete' },
    isTold: ({ changed }) => changed('role')?.from === 'OWNER',
    notice: ofUser,
    former: { of: formerOwner },
  },
  {
    ...{ kind: 'user.passkey', operation: 'users_deletePasskey', field: 'passkeys' },
    notice: ofUser,
  },
  {
    ...{ kind: 'user.counter', operation: 'users_repeatedCounter' },
    notice: ofUser,
  },
  {
    ...{ kind: 'account.embedding', operation: 'account_update', field: 'embedOrigins' },
    async notice({ changed, stores, session }) {
      const { from, to } = changed('embedOrigins')!;
      const name = (await stores.account.get(session))!.name;
      return { name, page: 'shop', before: originsOf(from), now: originsOf(to) };
    },
  },
];

const originsOf = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : '') || 'none';

async function walletOf({ stores, session }: Told, walletId: string): Promise<WalletFacts> {
  const { _id: id, name, address, network } = (await stores.wallets.byId(walletId, session))!;
  return { id, name, address, network };
}

const placeOf = ({ name, address }: WalletFacts): string => `${name}, ${address}`;

const valuesOf = ({ from, to }: { from: unknown; to: unknown }) => ({ before: String(from), now: String(to) });

const keyOf = async ({ id, stores, session }: Told) => (await stores.apiKeys.byId(id, session))!;

/** The user before the change, who may be gone after it. */
async function userBefore({ id, changed, stores, session }: Told): Promise<Partial<UserDoc>> {
  const after = await stores.users.byId(id, session);
  const fields = ['name', 'role', 'email', 'status'] as const;
  return Object.fromEntries(fields.map((field) => [field, (changed(field) ?? { from: after?.[field] }).from]));
}

/** The address of an OWNER who could sign in, as it was; null for any other. */
async function formerOwner(told: Told): Promise<string | null> {
  const { role, status, email = null } = await userBefore(told);
  return role === 'OWNER' && status === 'ACTIVE' ? email : null;
}

/** @param users finds the OWNERs that are told */
export function createTellOfActivity({
  forAccount,
  users,
  tell,
}: Pick<Stores, 'forAccount'> & { users: Pick<UserStore, 'ownersToTell'>; tell: Tell }): OnActivity {
  async function recipientsOf({ former }: Row, told: Told, accountId: string): Promise<string[]> {
    const before = (await former?.of(told)) ?? null;
    const owners = former?.isOnly ? [] : await users.ownersToTell(accountId, told.session);
    return distinctAddresses([...owners, ...(before === null ? [] : [before])]);
  }

  async function tellingsOf(activity: ActivityDoc, session: Session): Promise<Telling[]> {
    const { _id, accountId, subjectId: id } = activity;
    const changed: Told['changed'] = (field) => activity.changes.find((each) => each.field === field);
    const told: Told = { id, changed, stores: forAccount(accountId), session };
    const tellings: Telling[] = [];
    for (const row of ROWS) {
      const { kind, operation, field, isTold = () => true } = row;
      if (operation !== activity.operation || (field !== undefined && !changed(field))) continue;
      if (!(await isTold(told))) continue;
      const facts = factsOf({ kind, ...(await row.notice(told)) }, activity);
      const recipients = await recipientsOf(row, told, accountId);
      tellings.push({ accountId, sort: 'security', kind, key: `${_id}:${kind}`, facts, recipients });
    }
    return tellings;
  }

  return async (activities, session) => {
    const tellings: Telling[] = [];
    for (const activity of activities) tellings.push(...(await tellingsOf(activity, session)));
    await tell(tellings, session);
  };
}

const factsOf = (notice: SecurityNotice, { _id, actor: { type, name } }: ActivityDoc): SecurityFacts => ({
  notice,
  actor: { type, name },
  at: createdAtOf(_id).toISOString(),
});
