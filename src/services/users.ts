/** Invites, changes and removes users of an account. An account with an OWNER keeps one. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Clock } from '../clock.js';
import { ApiError, conflict, notFound } from '../domain/api-error.js';
import type { NewId } from '../domain/ids.js';
import { hashToken, newToken } from '../domain/token.js';
import type { Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { UserDoc } from '../stores/users.js';
import type { Caller, ServiceOf } from './caller.js';
import type { Commit } from './commit.js';
import type { Quota } from './quota.js';

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
  };
}

/** @throws ApiError `conflict` when no other OWNER remains; for an OWNER who has signed in, no other who has */
async function keepOwner({ forAccount }: UserServiceDeps, user: UserDoc, session: Session): Promise<void> {
  const isActive = user.status === 'ACTIVE';
  if (user.role === 'OWNER' && !(await forAccount(user.accountId).users.spareOwner(user._id, isActive, session)))
    throw conflict('The last OWNER of an account stays: make another user an OWNER first.');
}

/** Users do not expire, so an API key that expires must not create one or change a role.
 *  @throws ApiError `forbidden` */
async function refuseEndingKey({ forAccount }: UserServiceDeps, { accountId, keyId }: Caller): Promise<void> {
  if ((await forAccount(accountId).apiKeys.byId(keyId))?.expiresAt)
    throw new ApiError('forbidden', 'This API key ends, and a user would outlive it: use a key without an end.');
}

const create =
  (deps: UserServiceDeps): Service['create'] =>
  async (caller, { name, role, email }) => {
    const { forAccount, clock, newId, quota, publicUrl } = deps;
    const { accountId, reservedId } = caller;
    await refuseEndingKey(deps, caller);
    const { users } = forAccount(accountId);
    const token = newToken(clock);
    const expiresAt = new Date(clock.nowMs() + INVITATION_MS);
    const user: UserDoc = {
      ...{ _id: (reservedId ?? newId)('user'), accountId, name, role, email: email ?? null },
      status: 'INVITED',
      invitation: { hash: hashToken(token), expiresAt },
      ...{ passkeys: [], revision: 0, sparedCount: 0, createdAt: clock.now() },
    };
    // A creation repeated after a crash finds its user, who gets another invitation.
    const isMade = reservedId !== undefined && (await users.byId(user._id)) !== null;
    if (isMade) await users.save(user);
    else await quota({ caller, subjectId: user._id }, (session) => users.save(user, session));
    const url = `${publicUrl}/dashboard/invite/${token}`;
    return { ...toUser(user), url, expiresAt: expiresAt.toISOString() };
  };

const list =
  ({ forAccount }: UserServiceDeps): Service['list'] =>
  async ({ accountId }, request) => {
    const { items, meta } = await forAccount(accountId).users.list(request);
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
  status: user.status,
  createdAt: user.createdAt.toISOString(),
});
