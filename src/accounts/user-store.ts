/** Users of accounts. Stores only the hash of an invitation's token, and only the public part of
 *  a passkey. */
import type mongoose from 'mongoose';
import type { Language } from '../../contracts/languages.js';
import type { Role } from '../../contracts/roles.js';
import { type DocOf, define, flag, nullable, openCollection, shape, text } from '../kit/collection.js';
import { AlreadyMade, isDuplicateKey, orAlreadyMade, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';

export interface Passkey {
  /** Credential id, base64url. */
  id: string;
  /** The device that made it. Absent where it is not known. */
  name?: string;
  /** COSE key, base64url. */
  publicKey: string;
  /** The authenticator's signature counter; 0 if it does not count. */
  counter: number;
  createdAt: Date;
  /** Absent before its first sign-in. */
  lastUsedAt?: Date;
}

const USERS = define(
  'users',
  {
    _id: String,
    accountId: String,
    name: String,
    role: text<Role>(),
    email: nullable(String),
    /** The language of the dashboard and of e-mails to them; null: as their browser prefers. */
    language: nullable(text<Language>()),
    status: text<'INVITED' | 'ACTIVE'>(),
    /** Null once it was used. `isOwn`: the user's own session made it. */
    invitation: nullable({ hash: String, expiresAt: Date, isOwn: flag() }),
    passkeys: [shape<Passkey>()],
    /** Rises with every change, which ends earlier sessions. */
    revision: Number,
    /** Counts removals of other OWNERs that relied on this one to remain. */
    sparedCount: Number,
    createdAt: Date,
  },
  [
    { key: { accountId: 1, _id: -1 } },
    {
      key: { 'invitation.hash': 1 },
      unique: true,
      partialFilterExpression: { 'invitation.hash': { $gt: '' } },
      name: 'invitation',
    },
    {
      key: { 'passkeys.id': 1 },
      unique: true,
      partialFilterExpression: { 'passkeys.id': { $gt: '' } },
      name: 'passkey',
    },
  ],
);

export interface UserDoc extends DocOf<typeof USERS> {}

/** What works across accounts: for signing in, which does not know the account yet. */
export type UserStore = ReturnType<typeof createUserStore>['system'];

export function createUserStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const collection = openCollection<UserDoc>(connection, USERS);
  const page = createPages(collection);
  return { collection, page };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ collection, page }: Opened, accountId: string) => ({
  /** Stores a new user as this account's. @throws AlreadyMade */
  async insert(user: UserDoc, session: Session): Promise<void> {
    await orAlreadyMade(collection.insertOne({ ...user, accountId }, { session }));
  },
  /** Another invitation, which ends the one before. Null when there is no such user. */
  invite: (id: string, invitation: UserDoc['invitation'], session?: Session) =>
    collection.findOneAndUpdate(
      { _id: id, accountId },
      { $set: { invitation } },
      { returnDocument: 'after', ...(session && { session }) },
    ),
  /** Ends earlier sessions, and the invitation that one of them made: it would let in again whom
   *  the removal shuts out. */
  async removePasskey(id: string, passkeyId: string, session: Session): Promise<void> {
    await collection.updateOne(
      { _id: id, accountId },
      { $pull: { passkeys: { id: passkeyId } }, $inc: { revision: 1 } },
      { session },
    );
    const withOwn = { _id: id, accountId, 'invitation.isOwn': true } as const;
    await collection.updateOne(withOwn, { $set: { invitation: null } }, { session });
  },
  /** The number of passkeys of each OWNER. */
  async passkeysOfOwners(): Promise<number[]> {
    const owners = await collection.find({ accountId, role: 'OWNER' }, { projection: { 'passkeys.id': 1 } }).toArray();
    return owners.map(({ passkeys }) => passkeys.length);
  },
  count: (session: Session) => collection.countDocuments({ accountId }, { session }),
  byId: (id: string, session?: Session) => collection.findOne({ _id: id, accountId }, session ? { session } : {}),
  byIds: (ids: readonly string[], session?: Session) =>
    collection.find({ _id: { $in: [...ids] }, accountId }, session ? { session } : {}).toArray(),
  /** That of the user who gets e-mails there, as chosen; the oldest user's where several do. */
  async languageOf(email: string): Promise<Language | null> {
    const [user] = await collection
      .find({ accountId, email, language: { $gt: '' } } as never, { projection: { language: 1 } })
      .sort({ _id: 1 })
      .limit(1)
      .toArray();
    return user?.language ?? null;
  },
  list: (request: PageRequest) => page({ accountId }, request),
  /** Null when there is no such user. Ends earlier sessions. */
  change: (id: string, fields: Partial<Pick<UserDoc, 'name' | 'role' | 'email' | 'language'>>, session: Session) =>
    collection.findOneAndUpdate(
      { _id: id, accountId },
      { $set: fields, $inc: { revision: 1 } },
      { returnDocument: 'after', session },
    ),
  /** Writes to an OWNER other than `id`, so that removing that OWNER concurrently conflicts. @param
   *  canSignIn only one with a passkey counts
   *  @returns false when there is none */
  async spareOwner(id: string, canSignIn: boolean, session: Session): Promise<boolean> {
    const { matchedCount } = await collection.updateOne(
      { accountId, _id: { $ne: id }, role: 'OWNER', ...(canSignIn ? { 'passkeys.id': { $gt: '' } } : {}) },
      { $inc: { sparedCount: 1 } },
      { session },
    );
    return matchedCount === 1;
  },
  async remove(id: string, session: Session): Promise<void> {
    await collection.deleteOne({ _id: id, accountId }, { session });
  },
});

const ofAllAccounts = ({ collection }: Opened) => ({
  byId: (id: string) => collection.findOne({ _id: id }),
  async setLanguage(id: string, language: Language | null): Promise<void> {
    await collection.updateOne({ _id: id }, { $set: { language } });
  },
  /** Addresses of the account's OWNERs who have signed in, oldest first. */
  async ownersToTell(accountId: string, session: Session): Promise<string[]> {
    const owners = await collection
      .find({ accountId, role: 'OWNER', status: 'ACTIVE', email: { $gt: '' } }, { session, projection: { email: 1 } })
      .sort({ _id: 1 })
      .toArray();
    return owners.flatMap(({ email }) => email ?? []);
  },
  /** By id; without those who are gone or have not signed in yet. */
  async revisionsOf(ids: readonly string[]): Promise<Map<string, number>> {
    const found = await collection
      .find({ _id: { $in: [...ids] }, status: 'ACTIVE' }, { projection: { revision: 1 } })
      .toArray();
    return new Map(found.map(({ _id, revision }) => [_id, revision]));
  },
  byPasskey: (credentialId: string) => collection.findOne({ 'passkeys.id': credentialId }),
  byInvitation: (hash: string, now: Date, session?: Session) =>
    collection.findOne({ 'invitation.hash': hash, 'invitation.expiresAt': { $gt: now } }, session ? { session } : {}),
  /** Uses the invitation up, and adds the passkey. @returns null when it was used already, or has
   *  expired. @throws AlreadyMade when the passkey already belongs to a user */
  async accept(hash: string, passkey: Passkey, now: Date, session: Session): Promise<UserDoc | null> {
    try {
      return await collection.findOneAndUpdate(
        { 'invitation.hash': hash, 'invitation.expiresAt': { $gt: now } },
        { $set: { status: 'ACTIVE', invitation: null }, $push: { passkeys: passkey } },
        { returnDocument: 'after', session },
      );
    } catch (error) {
      throw isDuplicateKey(error) ? new AlreadyMade() : error;
    }
  },
  /** Notes that a passkey has signed. @returns false when it was used elsewhere since it was read,
   *  or is gone */
  async noteUse(
    userId: string,
    { id, counter, lastUsedAt }: Passkey,
    used: { counter: number; at: Date },
    session?: Session,
  ): Promise<boolean> {
    const { matchedCount } = await collection.updateOne(
      { _id: userId, passkeys: { $elemMatch: { id, counter, lastUsedAt: lastUsedAt ?? null } } } as never,
      { $set: { 'passkeys.$.counter': used.counter, 'passkeys.$.lastUsedAt': used.at } },
      session ? { session } : {},
    );
    return matchedCount === 1;
  },
});
