/** Stores notifications and security notices, one e-mail for each recipient, within the bounds of each address and kind. What goes beyond is not stored, but
 *  counted into the next one. */

import type { Session } from '../kit/database.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import { allowedOf, type Told, toldId } from './mail-bounds.js';
import type { MailStore, NewMail } from './mail-store.js';
import type { SentMailStore, SentMailsDoc } from './mails-sent.js';

/** What happened, and who is told. */
export interface Telling {
  accountId: string;
  sort: 'notice' | 'security';
  kind: string;
  /** Tells one occasion of a kind from another. */
  key: string;
  facts: object;
  recipients: readonly string[];
}

/** Called in the transaction of what is told: its e-mails are stored with it, or neither is. */
export type Tell = (tellings: readonly Telling[], session: Session) => Promise<void>;

export interface TellDeps {
  mails: Pick<MailStore, 'insert'>;
  mailsSent: Pick<SentMailStore, 'of' | 'save' | 'countNew'>;
  newId: NewId;
  /** Addresses to which an account may send its first e-mail of a kind in a day (UTC). */
  mostNewOfDay: number;
}

export function createTell({ mails, mailsSent, newId, mostNewOfDay }: TellDeps): Tell {
  /** Room for new addresses, asked for once in a transaction. */
  async function roomOf({ accountId, kind }: Told, now: Date, session: Session): Promise<number> {
    const today = new Date(now.toISOString().slice(0, 10));
    return mostNewOfDay - (await mailsSent.countNew(accountId, kind, today, mostNewOfDay, session));
  }

  return async (tellings, session) => {
    const groups = byAddress(tellings);
    if (groups.size === 0) return;
    const known = await mailsSent.of(
      [...groups.values()].map(({ told }) => told),
      session,
    );
    const rooms = new Map<string, number>();
    const [batch, docs]: [NewMail[], SentMailsDoc[]] = [[], []];
    for (const [id, { told, occasions }] of groups) {
      const { accountId, kind } = told;
      const ids = occasions.map(() => newId('mail'));
      const now = createdAtOf(ids[0]!);
      const before = known.get(id) ?? null;
      if (!before) {
        const ofKind = `${accountId}:${kind}`;
        const room = rooms.get(ofKind) ?? (await roomOf(told, now, session));
        rooms.set(ofKind, room - 1);
        if (room <= 0) continue;
      }
      const { count, left, until, after } = allowedOf(before, occasions.length, now);
      docs.push({ _id: id, accountId, kind, since: before?.since ?? now, ...after });
      for (const [index, { sort, key, facts }] of occasions.slice(0, count).entries()) {
        const _id = ids[index]!;
        batch.push({
          ...{ _id, accountId, sort, key, to: told.address, kind, facts: JSON.stringify(facts) },
          leftBefore: index === 0 ? left : 0,
          noneUntil: index === count - 1 ? until : null,
          createdAt: createdAtOf(_id),
        });
      }
    }
    await mailsSent.save(docs, session);
    await mails.insert(batch, session);
  };
}

/** What each address is told of each kind, in the order in which it happened. */
function byAddress(tellings: readonly Telling[]): Map<string, { told: Told; occasions: Telling[] }> {
  const groups = new Map<string, { told: Told; occasions: Telling[] }>();
  for (const telling of tellings) {
    for (const address of telling.recipients) {
      const told = { accountId: telling.accountId, kind: telling.kind, address };
      const group = groups.get(toldId(told)) ?? { told, occasions: [] };
      groups.set(toldId(told), group);
      group.occasions.push(telling);
    }
  }
  return groups;
}
