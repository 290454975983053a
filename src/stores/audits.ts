/** Audits of wallets, and how far each that runs has come. One audit of a wallet runs at a time; each step is saved by its revision. */
import mongoose from 'mongoose';
import type { AUDIT_STATUSES, OPENING_SOURCES } from '../../contracts/audits.js';
import type { Network } from '../../contracts/networks.js';
import { isDuplicateKey, makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { createPages, type PageRequest } from './paging.js';

/** Decimal text of stroops, perhaps less than 0. */
type Stroops = string;

export interface StoredAmount {
  assetCode: string;
  assetIssuer: string | null;
  stroops: Stroops;
}

export interface StoredSums {
  assetCode: string;
  assetIssuer: string | null;
  received: Stroops;
  sent: Stroops;
  fees: Stroops;
  traded: Stroops;
  other: Stroops;
}

export interface StoredRow extends StoredSums {
  opening: Stroops;
  closing: Stroops;
  computed: Stroops;
  difference: Stroops;
}

/** How far a running audit has come. */
export interface AuditProgress {
  /** The ledger in which the balances last changed, and one up to which they are known to have stayed so. */
  changedLedger: number;
  knownLedger: number;
  /** What the account held after `toLedger`. */
  closing: StoredAmount[];
  /** Names of the assets whose balances were asked for. Null, or absent of an older version, where the server lists what an account holds. */
  asked?: string[] | null;
  /** What it held after `fromLedger`, where a previous audit says so. */
  opening: StoredAmount[] | null;
  /** Books of everything up to `fromLedger`, where it is read from the account's creation on. */
  before: StoredSums[];
  /** Books of everything after `fromLedger`. */
  books: StoredSums[];
  /** Paging tokens; null once read to the end. */
  effectsCursor: string | null;
  feesCursor: string | null;
  /** Nothing has changed since the last audit: nothing is read. */
  isQuiet: boolean;
  /** Ledger of the oldest effect, where everything is read from the account's creation on; null when there is none. */
  firstLedger: number | null;
  /** Pages of before `fromLedger`. */
  pagesBefore: number;
  /** A kind of effect that is not known here. */
  unknownKind: string | null;
  /** Ids of parked records that paid the wallet, by its balance. Absent of an older version. */
  parked?: string[];
  /** How many operations that credited the wallet could not be had. Absent of an older version. */
  unread?: number;
  /** How often lists of payments did not come through. */
  listsFailed?: number;
}

/** One that paid the wallet. By its close time too: after a reset another network's has the same number. */
export interface HealedOperation {
  operationId: string;
  closedAt: Date;
}

export interface AuditDoc {
  _id: string;
  accountId: string;
  walletId: string;
  network: Network;
  status: (typeof AUDIT_STATUSES)[number];
  reason: string | null;
  fromLedger: number | null;
  toLedger: number | null;
  assets: StoredRow[];
  missingPayments: number;
  /** Operations whose payments are being recorded and not counted yet. */
  healing?: HealedOperation[];
  openingSource: (typeof OPENING_SOURCES)[number] | null;
  balanceSource: string | null;
  movementSource: string | null;
  createdAt: Date;
  finishedAt: Date | null;
  /** When the network had been reset, as of the balances; null for never. Absent in an audit of an older version. */
  resetAt?: Date | null;
  /** Null before the balances are taken, and in the end. */
  progress: AuditProgress | null;
  /** While it runs: when it goes on. */
  turnAt: Date | null;
  /** Counts what was saved: of two processes with one audit, one goes on. */
  revision: number;
  /** Since when it has come no further; null while it does. */
  stuckSince: Date | null;
  /** Assets that moved without being listed: their balances are asked for as well. */
  moved?: Pick<StoredAmount, 'assetCode' | 'assetIssuer'>[];
  /** Since when it waits for what it can do without. */
  lateSince?: Date | null;
  /** The differences that it has seen, each time it was read, oldest first. */
  seen: string[];
  /** The account asked for it; absent where it was planned. */
  isAskedFor?: true;
}

const part = (definition: mongoose.SchemaDefinition) => new mongoose.Schema(definition, PART_OPTIONS);
const asset = { assetCode: String, assetIssuer: { type: String, default: null } };
const sums = { ...asset, received: String, sent: String, fees: String, traded: String, other: String };
const amountSchema = part({ ...asset, stroops: String });
const sumsSchema = part(sums);
const progressSchema = part({
  changedLedger: Number,
  knownLedger: Number,
  closing: [amountSchema],
  asked: { type: [String], default: null },
  opening: { type: [amountSchema], default: null },
  before: [sumsSchema],
  books: [sumsSchema],
  effectsCursor: { type: String, default: null },
  feesCursor: { type: String, default: null },
  isQuiet: { type: Boolean, default: false },
  firstLedger: { type: Number, default: null },
  pagesBefore: Number,
  unknownKind: { type: String, default: null },
  parked: { type: [String], default: undefined },
  unread: { type: Number, default: undefined },
  listsFailed: { type: Number, default: undefined },
});

const nullable = { type: String, default: null };
const auditSchema = new mongoose.Schema<AuditDoc>(
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: String,
    status: String,
    reason: nullable,
    fromLedger: { type: Number, default: null },
    toLedger: { type: Number, default: null },
    assets: [part({ ...sums, opening: String, closing: String, computed: String, difference: String })],
    missingPayments: Number,
    healing: { type: [part({ operationId: String, closedAt: Date })], default: undefined },
    openingSource: nullable,
    balanceSource: nullable,
    movementSource: nullable,
    createdAt: Date,
    finishedAt: { type: Date, default: null },
    resetAt: { type: Date, default: undefined },
    progress: { type: progressSchema, default: null },
    turnAt: { type: Date, default: null },
    revision: Number,
    stuckSince: { type: Date, default: null },
    lateSince: { type: Date, default: undefined },
    moved: { type: [part(asset)], default: undefined },
    seen: [String],
    isAskedFor: { type: Boolean, default: undefined },
  },
  { ...SCHEMA_OPTIONS, collection: 'audits' },
);
const isRunning = { status: 'RUNNING' };
auditSchema.index({ walletId: 1 }, { unique: true, partialFilterExpression: isRunning, name: 'running' });
auditSchema.index({ network: 1, accountId: 1, turnAt: 1 }, { partialFilterExpression: isRunning, name: 'turns' });
auditSchema.index({ accountId: 1, walletId: 1, _id: -1 });
auditSchema.index({ walletId: 1, status: 1, _id: -1 });

/** The most audits kept of a wallet, besides the one that the next one begins with. */
export const KEPT_AUDITS = 100;
const ENDED = ['PROVEN', 'DIFFERENT'] as const;

/** Across accounts: for the auditor. */
export type AuditStore = ReturnType<typeof createAuditStore>['system'];

/** What an audit begins with. */
export type NewAudit = Pick<AuditDoc, '_id' | 'accountId' | 'walletId' | 'network' | 'createdAt' | 'isAskedFor'>;

const newAudit = (fields: NewAudit): AuditDoc => ({
  ...fields,
  status: 'RUNNING',
  reason: null,
  fromLedger: null,
  toLedger: null,
  assets: [],
  missingPayments: 0,
  openingSource: null,
  balanceSource: null,
  movementSource: null,
  finishedAt: null,
  progress: null,
  turnAt: fields.createdAt,
  revision: 0,
  stuckSince: null,
  seen: [],
});

function isSinceReset({ resetAt: known, createdAt }: AuditDoc, resetAt: Date | null): boolean {
  if (resetAt === null) return true;
  return known === undefined ? createdAt > resetAt : known?.getTime() === resetAt.getTime();
}

export function createAuditStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    ensureIndexes: () => makeIndexes(opened.audits),
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const audits = connection.model<AuditDoc>('Audit', auditSchema);
  const page = createPages(audits);
  const collection = audits.collection as unknown as mongoose.mongo.Collection<AuditDoc>;

  /** Null while one of the same wallet runs. With the id of one that is there, that one. */
  async function start(fields: NewAudit): Promise<AuditDoc | null> {
    const audit = newAudit(fields);
    try {
      await collection.insertOne(audit);
      return audit;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return collection.findOne({ _id: fields._id, accountId: fields.accountId });
    }
  }
  return { audits, page, collection, start };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ page, collection }: Opened, accountId: string) => ({
  byId: (id: string) => collection.findOne({ _id: id, accountId }),
  /** False while one of the same wallet runs, or where the id is taken: abort the transaction. */
  async start(fields: Omit<NewAudit, 'accountId'>, session?: Session): Promise<boolean> {
    try {
      await collection.insertOne(newAudit({ ...fields, accountId }), { session });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  },
  /** The wallet was deleted. */
  async removeOf(walletId: string, session?: Session): Promise<void> {
    await collection.deleteMany({ accountId, walletId }, { session });
  },
  list: (walletId: string, request: PageRequest) => page({ accountId, walletId }, { ...request, sort: { _id: -1 } }),
});

const ofAllAccounts = ({ collection, start }: Opened) => ({
  start,
  byId: (id: string) => collection.findOne({ _id: id }),
  runningOf: (walletId: string) => collection.findOne({ walletId, status: 'RUNNING' }),
  /** The wallet was deleted. */
  async removeOf(walletId: string): Promise<void> {
    await collection.deleteMany({ walletId });
  },
  /** The one that waits longest for its turn, of the next account behind this one that has any: so none waits for all of another. */
  async nextTurn(
    { network, isAskedFor }: { network: Network; isAskedFor: boolean },
    now: Date,
    afterAccount: string,
  ): Promise<AuditDoc | null> {
    const asked = { isAskedFor: isAskedFor ? true : { $ne: true } } as const;
    const due: mongoose.mongo.Filter<AuditDoc> = {
      network,
      status: 'RUNNING',
      turnAt: { $lte: now },
      ...(asked as object),
    };
    const first = { sort: { accountId: 1, turnAt: 1 } } as const;
    return (
      (await collection.findOne({ ...due, accountId: { $gt: afterAccount } }, first)) ??
      (afterAccount === '' ? null : await collection.findOne(due, first))
    );
  },
  /** The newest that ended with balances, if they are of the network since that reset; null when there is none. */
  async lastEnded(walletId: string, resetAt: Date | null): Promise<AuditDoc | null> {
    const found = await collection
      .find({ walletId, status: { $in: [...ENDED] } }, { sort: { _id: -1 }, limit: 1 })
      .toArray();
    const [last] = found;
    return last && isSinceReset(last, resetAt) ? last : null;
  },
  /** Saves a step. @returns false when another process has saved one since it was read, or the wallet is gone */
  async save({ _id, revision }: AuditDoc, changes: Partial<AuditDoc>, session?: Session): Promise<boolean> {
    const { matchedCount } = await collection.updateOne(
      { _id, revision, status: 'RUNNING' },
      { $set: { ...changes, revision: revision + 1 } },
      session ? { session } : {},
    );
    return matchedCount === 1;
  },
  /** Removes what is older than the newest of a wallet, but for the one that the next audit begins with. */
  async prune(walletId: string): Promise<void> {
    const [oldest] = await collection
      .find({ walletId }, { sort: { _id: -1 }, skip: KEPT_AUDITS - 1, limit: 1, projection: { _id: 1 } })
      .toArray();
    if (!oldest) return;
    const [base] = await collection
      .find({ walletId, status: { $in: [...ENDED] } }, { sort: { _id: -1 }, limit: 1, projection: { _id: 1 } })
      .toArray();
    await collection.deleteMany({ walletId, _id: { $lt: oldest._id, ...(base ? { $ne: base._id } : {}) } });
  },
});
