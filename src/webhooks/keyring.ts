/** The keys that sign deliveries: makes the first one, rotates them, and returns those that
 *  sign now. */

import type { KeyObject } from 'node:crypto';
import type mongoose from 'mongoose';
import { newKeySeed, privateKeyOf, publicKeyOf, signText } from '../domain/signature.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, NONE, openCollection, optional } from '../kit/collection.js';
import { isDuplicateKey, type Session } from '../kit/database.js';
import type { SecretBox } from '../kit/secrets.js';

// The key pairs that sign deliveries of all accounts. A signing key never changes: it ends some
// time after the next one begins to sign.

const WEBHOOK_KEYS = define(
  'webhookKeys',
  {
    /** `whk_` and a serial number: of two processes making the next key at once, one succeeds. */
    _id: String,
    number: Number,
    publicKey: String,
    /** The private key, sealed for this id. */
    sealed: String,
    /** When it began to sign. */
    createdAt: Date,
    /** While it does not sign yet: the last account told of it. */
    toldTo: optional(String),
  },
  [{ key: { number: -1 }, unique: true }],
);

interface WebhookKeyDoc extends DocOf<typeof WEBHOOK_KEYS> {}

type WebhookKeyStore = ReturnType<typeof createWebhookKeyStore>;

export function createWebhookKeyStore(connection: mongoose.Connection) {
  const collection = openCollection<WebhookKeyDoc>(connection, WEBHOOK_KEYS);
  return {
    /** Keys that sign or signed. */
    newest: (limit: number): Promise<WebhookKeyDoc[]> =>
      collection.find({ toldTo: NONE }).sort({ number: -1 }).limit(limit).toArray(),
    /** The key that does not sign yet; null for none. */
    coming: (): Promise<WebhookKeyDoc | null> => collection.findOne({ toldTo: { $ne: NONE } }),
    byId: (id: string): Promise<WebhookKeyDoc | null> => collection.findOne({ _id: id }),
    /** @returns false when another process has made a key with this number */
    async insert(key: WebhookKeyDoc): Promise<boolean> {
      try {
        await collection.insertOne(key);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    /** Notes that more accounts were told. @returns false when another process has done so */
    async tell(id: string, from: string, to: string, session: Session): Promise<boolean> {
      const { matchedCount } = await collection.updateOne(
        { _id: id, toldTo: from },
        { $set: { toldTo: to } },
        { session },
      );
      return matchedCount === 1;
    },
    /** Activates it once all accounts were told. @returns false when another process has done so */
    async begin(id: string, from: string, createdAt: Date, session?: Session): Promise<boolean> {
      const begun = { $unset: { toldTo: 1 }, $set: { createdAt } } as const;
      const { matchedCount } = await collection.updateOne({ _id: id, toldTo: from }, begun, session ? { session } : {});
      return matchedCount === 1;
    },
  };
}

/** How long an old key keeps signing, for receivers that cache the published keys. */
const OVERLAP_MS = 24 * 3_600_000;
/** After this time every process knows of a rotation. */
const REMEMBERED_MS = 5000;
/** Each key that signs adds a signature to every delivery. */
const MAX_SIGNING = 10;
/** Processes that rotate at the same moment may exceed MAX_SIGNING. */
const MAX_READ = 2 * MAX_SIGNING;

export type Keyring = ReturnType<typeof createKeyring>;

interface SigningKey extends WebhookKeyDoc {
  /** When it stops signing; null for the newest. */
  retiresAt: Date | null;
}

/** @param keys newest first */
const withEnds = (keys: readonly WebhookKeyDoc[]): SigningKey[] =>
  keys.map((key, index) => {
    const next = keys[index - 1];
    return { ...key, retiresAt: next ? new Date(next.createdAt.getTime() + OVERLAP_MS) : null };
  });

const signingAt = (keys: readonly SigningKey[], now: Date): SigningKey[] =>
  keys.filter(({ retiresAt }) => retiresAt === null || retiresAt > now);

const toPublished = ({ _id, publicKey, createdAt, retiresAt }: SigningKey) => ({
  id: _id,
  publicKey,
  createdAt: createdAt.toISOString(),
  retiresAt: retiresAt?.toISOString() ?? null,
});

interface KeyringDeps {
  webhookKeys: WebhookKeyStore;
  secrets: SecretBox;
  clock: Clock;
}

/** @param fields of a key that does not sign at once. @returns null when another process made the
 *  key of this number */
async function make(
  { webhookKeys, secrets, clock }: KeyringDeps,
  number: number,
  fields: Pick<WebhookKeyDoc, 'toldTo'> = {},
): Promise<WebhookKeyDoc | null> {
  const _id = `whk_${number}`;
  const seed = newKeySeed(clock);
  const publicKey = publicKeyOf(privateKeyOf(seed));
  const key = { _id, number, publicKey, sealed: secrets.seal(seed, _id), createdAt: clock.now(), ...fields };
  return (await webhookKeys.insert(key)) ? key : null;
}

/** Makes the first key if there is none. */
async function read(deps: KeyringDeps): Promise<SigningKey[]> {
  const keys = await deps.webhookKeys.newest(MAX_READ);
  if (keys.length > 0) return withEnds(keys);
  await make(deps, 1);
  return withEnds(await deps.webhookKeys.newest(MAX_READ));
}

export function createKeyring(deps: KeyringDeps) {
  const { webhookKeys, secrets, clock } = deps;
  let known: { atMs: number; keys: Promise<SigningKey[]> } | null = null;
  const opened = new Map<string, KeyObject>();

  function remembered(): Promise<SigningKey[]> {
    const nowMs = clock.nowMs();
    if (known && nowMs - known.atMs < REMEMBERED_MS && nowMs >= known.atMs) return known.keys;
    const before = known?.keys;
    const keys = read(deps).catch((error: unknown) => {
      // Without the database, the known keys keep signing.
      if (before) return before;
      known = null;
      throw error;
    });
    known = { atMs: nowMs, keys };
    return keys;
  }

  function open({ _id, sealed }: WebhookKeyDoc): KeyObject {
    const key = opened.get(_id) ?? privateKeyOf(secrets.open(sealed, _id));
    opened.set(_id, key);
    return key;
  }

  return {
    /** The private keys that sign at `now`, newest first. Makes the first key of all. */
    signers: async (now: Date): Promise<KeyObject[]> => signingAt(await remembered(), now).map(open),
    /** Signs a text with the newest key. */
    async sign(text: string): Promise<{ keyId: string; signature: string }> {
      const [newest] = await remembered();
      return { keyId: newest!._id, signature: signText(open(newest!), text) };
    },
    /** The public keys of all that signed lately, by id, retired ones too. */
    publicKeys: async (): Promise<Record<string, string>> =>
      Object.fromEntries((await remembered()).map(({ _id, publicKey }) => [_id, publicKey])),
    /** What is published: the keys that sign now, newest first. */
    async published() {
      return { keys: signingAt(await remembered(), clock.now()).map(toPublished) };
    },
    /**
     * Makes a new key sign from now on; older ones sign for another 24 h.
     * @param begin tells the accounts of the key, then activates it; returns since when it signs,
     * or null when another process activated it. The next rotation continues an interrupted one
     * @throws Error when 10 keys sign already
     */
    async rotate(begin: (id: string) => Promise<Date | null>): Promise<{
      id: string;
      publicKey: string;
      previousRetireAt: Date;
    }> {
      for (;;) {
        const [newest, ...older] = signingAt(await read(deps), clock.now());
        if (older.length >= MAX_SIGNING - 1) {
          const firstEnd = older.at(-1)!.retiresAt!.toISOString();
          throw new Error(`${MAX_SIGNING} keys sign already: rotate again after ${firstEnd}.`);
        }
        const key = (await webhookKeys.coming()) ?? (await make(deps, newest!.number + 1, { toldTo: '' }));
        const since = key && (await begin(key._id));
        if (!since) continue;
        known = null;
        const { _id: id, publicKey } = key;
        return { id, publicKey, previousRetireAt: new Date(since.getTime() + OVERLAP_MS) };
      }
    },
  };
}
