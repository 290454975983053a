/** The ledger's state in MongoDB. The head tells which ledger is the newest and who may close the
 *  next. Every close is one atomic write that moves the head on from the ledger before, so a crash
 *  leaves a whole ledger or none, and a process that lost the head closes nothing. */
import { type Binary, type ClientSession, type Db, MongoServerError } from 'mongodb';
import type { Clock } from './clock.js';
import { accountKey, type Entry, type OfferEntry } from './entries.js';
import { createHeaders, extendSpan, type LedgerCounts, NO_HASH, type SetHashes, type Span } from './headers.js';
import { newAccount } from './operations/create-account.js';
import type { OfferSearch } from './operations/kind.js';
import type { LedgerDocuments, OperationDocument, TransactionDocument } from './records.js';
import type { EventDocument } from './rpc/events.js';
import { TOTAL_COINS } from './stroops.js';

export interface Owner {
  token: string;
  host: string;
  url: string;
  /** The session of its transactions. */
  session: Binary;
  /** By MongoDB's clock. */
  renewedAt: Date;
}

export interface Head {
  _id: 'head';
  /** Identifies this database, to tell its ledger from another's on the same port. */
  databaseId: string;
  /** Changes with a reset, and with it every ledger hash. */
  chain: string;
  /** Seed of the validator's key, 64 hexadecimal digits. */
  validatorSeed: string;
  sequence: number;
  atMs: number;
  /** The newest ledger's span, which is not archived yet. */
  tail: Span;
  /** The holder of the newest fence may close; each owner takes a higher one. */
  fence: number;
  owner: Owner | null;
  isResetting: boolean;
}

/** Another process closes ledgers on this database now. */
export class LostLedgerError extends Error {
  constructor() {
    super('another process has taken the local ledger over');
  }
}

export interface ClosedLedger {
  atMs: number;
  fees: bigint;
  counts: LedgerCounts;
  hashes: SetHashes;
  entries: ReadonlyMap<string, Entry | null>;
  documents: LedgerDocuments[];
}

export type Store = Awaited<ReturnType<typeof openStore>>;

const COLLECTIONS = ['entries', 'transactions', 'operations', 'events', 'spans'] as const;

export async function openStore(db: Db, clock: Clock, root: string) {
  // Keeps 64-bit integers exact: amounts, sequence numbers and ids exceed 2^53.
  const exact = { useBigInt64: true };
  const heads = db.collection<Head>('ledger_head', exact);
  const entries = db.collection<Entry>('ledger_entries', exact);
  const transactions = db.collection<TransactionDocument>('ledger_transactions', exact);
  const operations = db.collection<OperationDocument>('ledger_operations', exact);
  const events = db.collection<EventDocument>('ledger_events', exact);
  const spans = db.collection<Span>('ledger_spans', exact);

  const headers = createHeaders();
  const newestHash = ({ chain, tail, sequence }: Head): Buffer => headers(chain, tail, sequence, sequence)[0]!.hash;

  const randomId = () => clock.randomBytes(16).toString('hex');
  const newSeed = () => clock.randomBytes(32).toString('hex');

  async function createIndexes(): Promise<void> {
    await entries.createIndex({ owner: 1 });
    await entries.createIndex(
      { kind: 1, 'claimants.destination': 1 },
      { partialFilterExpression: { kind: 'claimable_balance' } },
    );
    await entries.createIndex({ book: 1 }, { partialFilterExpression: { kind: 'offer' } });
    await transactions.createIndex({ hash: 1 }, { unique: true });
    await transactions.createIndex({ innerHash: 1 }, { partialFilterExpression: { innerHash: { $type: 'string' } } });
    await transactions.createIndex({ accounts: 1, _id: 1 });
    await operations.createIndex({ accounts: 1, _id: 1 });
    await operations.createIndex({ traders: 1, _id: 1 }, { partialFilterExpression: { traders: { $type: 'string' } } });
    await events.createIndex({ topics: 1, _id: 1 });
    await events.createIndex({ transaction: 1 });
  }

  function firstSpan(): Span {
    const atMs = Math.floor(clock.nowMs() / 1000) * 1000;
    return { _id: 1, atMs, stepMs: 0, feePool: 0n, counts: null, previousHash: NO_HASH, hashes: null };
  }

  /** The state of ledger 1: every lumen on the root account. */
  async function writeGenesis(tail: Span): Promise<void> {
    const entry: Entry = newAccount(root, TOTAL_COINS, { sequence: 1, closeTime: tail.atMs / 1000 });
    entry.sequence = 0n;
    await entries.replaceOne({ _id: accountKey(root) }, entry, { upsert: true });
  }

  async function load(): Promise<Head> {
    const head = await heads.findOne({ _id: 'head' });
    if (head === null) throw new Error('the local ledger has no head');
    return head;
  }

  /** Drops the chain and starts another. Safe to repeat: the next start finishes a reset that a
   *  crash interrupted. */
  async function finishReset(head: Head): Promise<Head> {
    const existing = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
    for (const name of COLLECTIONS) {
      if (existing.has(`ledger_${name}`)) await db.dropCollection(`ledger_${name}`);
    }
    await createIndexes();
    const tail = firstSpan();
    await writeGenesis(tail);
    const next = { chain: randomId(), sequence: 1, atMs: tail.atMs, tail, isResetting: false };
    await moveHead(head, next);
    return { ...head, ...next };
  }

  /** Throws LostLedgerError unless the stored head still has the ledger and the fence of `head`. */
  async function moveHead(head: Head, change: Partial<Head>, within?: ClientSession): Promise<void> {
    const { fence, chain, sequence } = head;
    const moved = await heads.updateOne(
      { _id: 'head', fence, chain, sequence },
      [{ $set: { ...literal(change), 'owner.renewedAt': '$$NOW' } }],
      { session: within },
    );
    if (moved.matchedCount === 0) throw new LostLedgerError();
  }

  // One session for all closes of this process. Others know its id: see `endTransactionsOf`.
  const session = db.client.startSession();

  async function atomically(write: () => Promise<void>): Promise<void> {
    await session.withTransaction(write, { writeConcern: { w: 'majority' } });
  }

  /** Ends the transaction of a killed process, which would otherwise lock the head for a minute. */
  async function endTransactionsOf(owner: Owner | null): Promise<void> {
    if (owner === null || owner.session.toString('hex') === session.id?.id.toString('hex')) return;
    // Without that privilege the close waits.
    await db.command({ killSessions: [{ id: owner.session }] }).catch(() => undefined);
  }

  await createIndexes();
  if ((await heads.findOne({ _id: 'head' })) === null) {
    const tail = firstSpan();
    await writeGenesis(tail);
    const first: Head = {
      _id: 'head',
      databaseId: randomId(),
      chain: randomId(),
      validatorSeed: newSeed(),
      sequence: 1,
      atMs: tail.atMs,
      tail,
      fence: 0,
      owner: null,
      isResetting: false,
    };
    await heads.insertOne(first).catch((error: unknown) => {
      // Another process was faster; its genesis is the same.
      if (!(error instanceof MongoServerError && error.code === 11000)) throw error;
    });
  }
  // A ledger of a release without a validator.
  await heads.updateOne({ _id: 'head', validatorSeed: { $exists: false } }, { $set: { validatorSeed: newSeed() } });

  return {
    entries,
    transactions,
    operations,
    events,
    spans,
    headers,
    /** Hash of the newest ledger. */
    newestHash,
    load,

    /** Makes the caller the owner: only the holder of the returned head can close ledgers. */
    async claim(owner: Omit<Owner, 'session' | 'renewedAt'>): Promise<Head> {
      await endTransactionsOf((await load()).owner);
      const head = await heads.findOneAndUpdate(
        { _id: 'head' },
        [
          {
            $set: {
              fence: { $add: ['$fence', 1] },
              owner: { ...literal({ ...owner, session: session.id?.id }), renewedAt: '$$NOW' },
            },
          },
        ],
        { returnDocument: 'after' },
      );
      if (head === null) throw new Error('the local ledger has no head');
      return head.isResetting ? await finishReset(head) : head;
    },

    /** The owner, if it closed a ledger within `withinMs` by MongoDB's clock. */
    async liveOwner(withinMs: number): Promise<Owner | null> {
      const head = await heads.findOne({
        _id: 'head',
        $expr: { $gt: ['$owner.renewedAt', { $subtract: ['$$NOW', withinMs] }] },
      });
      return head?.owner ?? null;
    },

    async release({ fence }: Head): Promise<void> {
      await heads.updateOne({ _id: 'head', fence }, { $set: { owner: null } });
    },

    /** The store must not be used afterwards. */
    end: () => session.endSession(),

    async reset(head: Head): Promise<Head> {
      await moveHead(head, { isResetting: true });
      return await finishReset({ ...head, isResetting: true });
    },

    async loadEntries(keys: string[]): Promise<Map<string, Entry | null>> {
      const loaded = new Map<string, Entry | null>(keys.map((key) => [key, null]));
      for await (const entry of entries.find({ _id: { $in: keys } })) loaded.set(entry._id, entry);
      return loaded;
    },

    /** Every offer that a search finds. */
    async loadOffers(searches: OfferSearch[]): Promise<OfferEntry[]> {
      if (searches.length === 0) return [];
      return (await entries.find({ kind: 'offer', $or: searches }).toArray()) as OfferEntry[];
    },

    /** Closes an empty ledger: usually one small update. */
    async closeEmpty(head: Head, atMs: number): Promise<Head> {
      const sequence = head.sequence + 1;
      const extended = extendSpan(head.tail, head.sequence, atMs);
      if (extended !== null) {
        const next = { sequence, atMs, tail: extended };
        await moveHead(head, next);
        return { ...head, ...next };
      }
      const previousHash = newestHash(head).toString('hex');
      const { feePool } = head.tail;
      const tail: Span = { _id: sequence, atMs, stepMs: 0, feePool, counts: null, previousHash, hashes: null };
      const next = { sequence, atMs, tail };
      await atomically(async () => {
        await moveHead(head, next, session);
        await spans.insertOne(head.tail, { session });
      });
      return { ...head, ...next };
    },

    async closeFull(head: Head, ledger: ClosedLedger): Promise<Head> {
      const sequence = head.sequence + 1;
      const feePool = head.tail.feePool + ledger.fees;
      const { atMs, counts, hashes } = ledger;
      const previousHash = newestHash(head).toString('hex');
      const tail: Span = { _id: sequence, atMs, stepMs: 0, feePool, counts, previousHash, hashes };
      const next = { sequence, atMs: ledger.atMs, tail };
      const changes = [...ledger.entries].map(([_id, entry]) =>
        entry === null
          ? { deleteOne: { filter: { _id } } }
          : { replaceOne: { filter: { _id }, replacement: entry, upsert: true } },
      );
      const done = ledger.documents;
      await atomically(async () => {
        await moveHead(head, next, session);
        await spans.insertOne(head.tail, { session });
        if (changes.length > 0) await entries.bulkWrite(changes, { session, ordered: false });
        if (done.length > 0) {
          await transactions.insertMany(
            done.map(({ transaction }) => transaction),
            { session },
          );
        }
        const rows = done.flatMap((documents) => documents.operations);
        if (rows.length > 0) await operations.insertMany(rows, { session });
        const told = done.flatMap((documents) => documents.events);
        if (told.length > 0) await events.insertMany(told, { session });
      });
      return { ...head, ...next };
    },
  };
}

/** Quotes values for an update pipeline, where text that begins with `$` would be an expression. */
function literal(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { $literal: value }]));
}
