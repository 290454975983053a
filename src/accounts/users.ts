/** Invites, changes and removes users of an account. An account with an OWNER keeps one. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { dashboardUrlOf } from '../domain/dashboard-url.js';
import { ApiError, conflict, notFound } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { Session } from '../kit/database.js';
import { hashToken, type NewId, newToken } from '../kit/ids.js';
import { pageOf } from '../kit/paging.js';
import type { ForAccount } from '../stores.js';
import type { Quota } from './account.js';
import type { Commit } from './commit.js';
import type { Passkey, UserDoc } from './user-store.js';

const INVITATION_MS = 72 * 3_600_000;

type Service = ServiceOf<Contract['users']>;

interface UserServiceDeps {
  forAccount: ForAccount<'users' | 'apiKeys'>;
  commit: Commit;
  clock: Clock;
  newId: NewId;
  publicUrl: string;
  quota: Quota;
}

export function createUserService(deps: UserServiceDeps): Service {
  return {
    create: create(deps),
    list: list(deps),

    async get({ accountId }, { id }) {
      const user = await deps.forAccount(accountId).users.byId(id);
      if (!user) throw notFound('user');
      return toUser(user);
    },
    update: update(deps),
    delete: remove(deps),
    invite: invite(deps),
    passkeys: passkeys(deps),
    deletePasskey: deletePasskey(deps),
  };
}

/** @throws ApiError `conflict` when no other OWNER remains; for an OWNER who can sign in, no
 *  other who can */
async function keepOwner({ forAccount }: UserServiceDeps, user: UserDoc, session: Session): Promise<void> {
  const canSignIn = user.passkeys.length > 0;
  if (user.role === 'OWNER' && !(await forAccount(user.accountId).users.spareOwner(user._id, canSignIn, session)))
    throw conflict('The last OWNER of an account stays: make another user an OWNER first.');
}

/** Passkeys are their user's own: an OWNER alone sees those of others. @throws
 *  ApiError `not_found` */
function refuseOthers({ user }: Caller, id: string): void {
  if (user && user.id !== id && user.role !== 'OWNER') throw notFound('user');
}

/** Users do not expire, so an API key that expires must not create one or change a role.
 *  @throws ApiError `forbidden` */
async function refuseEndingKey({ forAccount }: UserServiceDeps, { accountId, keyId }: Caller): Promise<void> {
  if ((await forAccount(accountId).apiKeys.byId(keyId))?.expiresAt)
    throw new ApiError('forbidden', 'This API key ends, and a user would outlive it: use a key without an end.');
}

const create =
  (deps: UserServiceDeps): Service['create'] =>
  async (caller, { name, role, email, language }) => {
    const { forAccount, clock, newId, quota } = deps;
    const { accountId, reservedId } = caller;
    await refuseEndingKey(deps, caller);
    const { users } = forAccount(accountId);
    const { invitation, shown } = newInvitation(deps);
    const _id = (reservedId ?? newId)('user');
    // A creation repeated after a crash finds its user, who gets another invitation and stays as
    // he is.
    const made = reservedId === undefined ? null : await users.invite(_id, invitation);
    if (made) return { ...toUser(made), ...shown };
    const user: UserDoc = {
      ...{
        _id,
        accountId,
        name,
        role,
        email: email ?? null,
        language: language ?? null,
        status: 'INVITED',
        invitation,
      },
      ...{ passkeys: [], revision: 0, sparedCount: 0, createdAt: clock.now() },
    };
    await quota({ caller, subjectId: _id }, (session) => users.insert(user, session));
    return { ...toUser(user), ...shown };
  };

/** As it is stored, and as it is shown once. */
function newInvitation({ clock, publicUrl }: UserServiceDeps) {
  const token = newToken(clock);
  const expiresAt = new Date(clock.nowMs() + INVITATION_MS);
  return {
    invitation: { hash: hashToken(token), expiresAt },
    shown: { url: `${dashboardUrlOf(publicUrl)}/dashboard/invite/${token}`, expiresAt: expiresAt.toISOString() },
  };
}

const invite =
  (deps: UserServiceDeps): Service['invite'] =>
  async (caller, { id }) => {
    refuseOthers(caller, id);
    await refuseEndingKey(deps, caller);
    const { invitation, shown } = newInvitation(deps);
    const made = caller.user?.id === id ? { ...invitation, isOwn: true as const } : invitation;
    await deps.commit({ caller, subjectId: id }, async (session) => {
      if (!(await deps.forAccount(caller.accountId).users.invite(id, made, session))) throw notFound('user');
    });
    return shown;
  };

const passkeys =
  ({ forAccount }: UserServiceDeps): Service['passkeys'] =>
  async (caller, { id }) => {
    refuseOthers(caller, id);
    const user = await forAccount(caller.accountId).users.byId(id);
    if (!user) throw notFound('user');
    return user.passkeys.map(toPasskey);
  };

const deletePasskey =
  (deps: UserServiceDeps): Service['deletePasskey'] =>
  async (caller, { id, passkeyId }) => {
    refuseOthers(caller, id);
    const { users } = deps.forAccount(caller.accountId);
    await deps.commit({ caller, subjectId: id }, async (session) => {
      const user = await users.byId(id, session);
      if (!user) throw notFound('user');
      if (!user.passkeys.some((each) => each.id === passkeyId)) throw notFound('passkey');
      if (user.passkeys.length === 1) await keepOwner(deps, user, session);
      await users.removePasskey(id, passkeyId, session);
    });
    return { id: passkeyId, deleted: true };
  };

const list =
  ({ forAccount }: UserServiceDeps): Service['list'] =>
  async (caller, request) => {
    const { items, meta } = await forAccount(caller.accountId).users.list(pageOf(caller, request));
    return { items: items.map(toUser), meta };
  };

const update =
  (deps: UserServiceDeps): Service['update'] =>
  async (caller, { id, ...fields }) => {
    if (fields.role !== undefined) await refuseEndingKey(deps, caller);
    const { users } = deps.forAccount(caller.accountId);
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const after = await deps.commit({ caller, subjectId: id }, async (session) => {
      const before = await users.byId(id, session);
      if (!before) throw notFound('user');
      if (Object.entries(given).every(([name, value]) => before[name as keyof UserDoc] === value)) return before;
      if (fields.role !== undefined && fields.role !== 'OWNER') await keepOwner(deps, before, session);
      return (await users.change(id, given, session))!;
    });
    return toUser(after);
  };

const remove =
  (deps: UserServiceDeps): Service['delete'] =>
  async (caller, { id }) => {
    const { users } = deps.forAccount(caller.accountId);
    await deps.commit({ caller, subjectId: id }, async (session) => {
      const user = await users.byId(id, session);
      if (!user) throw notFound('user');
      await keepOwner(deps, user, session);
      await users.remove(id, session);
    });
    return { id, deleted: true };
  };

const toUser = (user: UserDoc): OutputOf<Contract['users']['list']>['items'][number] => ({
  id: user._id,
  name: user.name,
  role: user.role,
  email: user.email,
  language: user.language,
  status: user.status,
  createdAt: user.createdAt.toISOString(),
});

export const nameOf = ({ name = 'Passkey' }: Pick<Passkey, 'name'>): string => name;

const toPasskey = (passkey: Passkey): OutputOf<Contract['users']['passkeys']>[number] => ({
  id: passkey.id,
  name: nameOf(passkey),
  createdAt: passkey.createdAt.toISOString(),
  lastUsedAt: passkey.lastUsedAt?.toISOString() ?? null,
});
