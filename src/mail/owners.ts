/** Security notices: what changes where money goes, and who may, is told to every OWNER with an e-mail address, in the transaction of the change. */
import { distinctAddresses } from '../domain/email.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import type { Session } from '../stores/database.js';
import type { MailStore } from '../stores/mails.js';
import type { UserStore } from '../stores/users.js';
import type { SecurityFacts, SecurityNotice } from './facts.js';

interface SecurityNews {
  accountId: string;
  notice: SecurityNotice;
  actor: SecurityFacts['actor'];
  /** When it was done. */
  at: Date;
}

/** Called in the transaction of the change, after it: its e-mails are stored with it, or neither is. Does nothing where no e-mail is sent. One who was an
 *  OWNER until now is told as well. */
export type TellOwners = (news: SecurityNews, session: Session) => Promise<void>;

export function createTellOwners({
  users,
  mails,
  newId,
}: {
  users: Pick<UserStore, 'ownersToTell'>;
  mails: Pick<MailStore, 'insert'>;
  newId: NewId;
}): TellOwners {
  return async ({ accountId, notice, actor, at }, session) => {
    const owners = await users.ownersToTell(accountId, session);
    const former = notice.kind === 'user.role' && notice.from === 'OWNER' ? notice.user.email : null;
    const key = newId('mail');
    const facts: SecurityFacts = { notice, actor, at: at.toISOString() };
    await mails.insert(
      distinctAddresses([...owners, ...(former === null ? [] : [former])]).map((to) => {
        const _id = newId('mail');
        const createdAt = createdAtOf(_id);
        return {
          _id,
          accountId,
          sort: 'security',
          key,
          to,
          kind: notice.kind,
          facts: JSON.stringify(facts),
          createdAt,
        };
      }),
      session,
    );
  };
}
