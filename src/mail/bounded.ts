/** Stores notifications and security notices, one e-mail for each recipient, within the bounds of
 *  each address and kind. What goes beyond is not stored, but counted into the next one. */
import type mongoose from 'mongoose';
import { type DocOf, define, openCollection } from '../kit/collection.js';
import { inOneBatch, type Session } from '../kit/database.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import type { MailStore, NewMail } from './mail-store.js';

/** Bounds of notifications and security notices, for each address and kind: an address gets so
 *  many of a kind in an hour and in a day, and the next one says how many were left out. Another
 *  kind, account or address has no part in it. */
export const MOST_OF_HOUR = 20;
export const MOST_OF_DAY = 200;

const HOUR_MS = 3_600_000;

/** What an address was sent of a kind. */
export type Sent = Pick<SentMailsDoc, 'hour' | 'day' | 'left'>;
type Span = Sent['hour'];

/** An address of an account, and a kind. */
interface Told {
  accountId: string;
  kind: string;
  address: string;
}

/** Names it; two spellings of an address are one. */
const toldId = ({ accountId, kind, address }: Told): string => `${accountId}:${kind}:${address.toLowerCase()}`;

interface Allowed {
  /** How many of the wanted ones go out, the first ones. */
  count: number;
  /** Left out before: the first one says so. */
  left: number;
  /** With the last one a bound is reached, and none goes out until then. */
  until: Date | null;
  after: Sent;
}

export function allowedOf(before: Sent | null, wanted: number, now: Date): Allowed {
  const hour = spanAt(before?.hour, HOUR_MS, now);
  const day = spanAt(before?.day, 24 * HOUR_MS, now);
  const left = before?.left ?? 0;
  const count = Math.min(wanted, MOST_OF_HOUR - hour.count, MOST_OF_DAY - day.count);
  hour.count += count;
  day.count += count;
  const ends = [
    ...(hour.count < MOST_OF_HOUR ? [] : [hour.from.getTime() + HOUR_MS]),
    ...(day.count < MOST_OF_DAY ? [] : [day.from.getTime() + 24 * HOUR_MS]),
  ];
  const after = { hour, day, left: (count > 0 ? 0 : left) + wanted - count };
  return { count, left, until: ends.length === 0 ? null : new Date(Math.max(...ends)), after };
}

/** The span that `now` is in. One that lies ahead is of before the clock was set back. */
function spanAt(span: Span | undefined, lengthMs: number, now: Date): Span {
  const ageMs = span ? now.getTime() - span.from.getTime() : lengthMs;
  return span && ageMs >= 0 && ageMs < lengthMs ? { ...span } : { from: now, count: 0 };
}

// What each address was sent of each kind of notification and security notice, by which more is
// bounded. Read and written in the transaction that stores e-mails: of two at once one
// begins again.

/** Begins with the first e-mail in it. */
const SPAN = { from: Date, count: Number };

const MAILS_SENT = define(
  'mailsSent',
  {
    _id: String,
    accountId: String,
    kind: String,
    /** When it was first sent one. */
    since: Date,
    hour: SPAN,
    day: SPAN,
    /** Left out since the last e-mail. */
    left: Number,
  },
  [{ key: { accountId: 1, kind: 1, since: 1 } }, { key: { 'hour.from': 1 } }],
);

interface SentMailsDoc extends DocOf<typeof MAILS_SENT> {}

const REMOVED_AT_ONCE = 1000;

/** What works across accounts: transactions store e-mails of several. */
export type SentMailStore = ReturnType<typeof createSentMailStore>['system'];

export function createSentMailStore(connection: mongoose.Connection) {
  const collection = openCollection<SentMailsDoc>(connection, MAILS_SENT);
  return {
    system: {
      /** By id. */
      async of(told: readonly Told[], session: Session): Promise<Map<string, SentMailsDoc>> {
        const ids = told.map(toldId);
        const filter = { _id: { $in: ids }, accountId: { $in: accountsOf(told) } };
        const found = await collection.find(filter, { session, ...inOneBatch(ids) }).toArray();
        return new Map(found.map((doc) => [doc._id, doc]));
      },
      async save(docs: readonly SentMailsDoc[], session: Session): Promise<void> {
        if (docs.length === 0) return;
        const replaced = docs.map((doc) => ({
          replaceOne: { filter: { _id: doc._id, accountId: doc.accountId }, replacement: doc, upsert: true },
        }));
        await collection.bulkWrite(replaced, { session, ordered: false });
      },
      /** Number of addresses that the account first sent this kind to since then, counted up
       *  to `limit`. */
      countNew: (accountId: string, kind: string, since: Date, limit: number, session: Session): Promise<number> =>
        collection.countDocuments({ accountId, kind, since: { $gte: since } }, { limit, session }),
      /** Removes a batch of those that were sent nothing since. @returns how many, and whether none
       *  is left */
      async removeIdle(before: Date): Promise<{ removed: number; isLast: boolean }> {
        const found = await collection
          .find({ 'hour.from': { $lt: before } }, { projection: { accountId: 1 }, limit: REMOVED_AT_ONCE })
          .toArray();
        const filter = { _id: { $in: found.map(({ _id }) => _id) }, accountId: { $in: accountsOf(found) } };
        const { deletedCount } = await collection.deleteMany({ ...filter, 'hour.from': { $lt: before } });
        return { removed: deletedCount, isLast: found.length < REMOVED_AT_ONCE };
      },
    },
  };
}

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

interface TellDeps {
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
