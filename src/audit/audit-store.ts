/** Audits of wallets, and the progress of running ones. One audit of a wallet runs at a time; each
 *  step is saved by its revision. */
import type mongoose from 'mongoose';
import type { AUDIT_STATUSES, OPENING_SOURCES } from '../../contracts/audits.js';
import type { Contract } from '../../contracts/index.js';
import type { Network } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount, formatSigned } from '../domain/amount.js';
import { type DocOf, define, flag, nullable, openCollection, optional, shape, text } from '../kit/collection.js';
import { isDuplicateKey, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';

// The document of an audit, and its indexes.

/** Decimal text of stroops, possibly negative. */
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

/** Progress of a running audit. */
export interface AuditProgress {
  /** The ledger of the last change to the balances, and one up to which they are known to
   *  be unchanged. */
  changedLedger: number;
  knownLedger: number;
  /** What the account held after `toLedger`. */
  closing: StoredAmount[];
  /** Names of the requested assets; null if the server lists all balances. */
  asked: string[] | null;
  /** The balances after `fromLedger`, from a previous audit. */
  opening: StoredAmount[] | null;
  /** Books of everything up to `fromLedger`, if read from the account's creation. */
  before: StoredSums[];
  /** Books of everything after `fromLedger`. */
  books: StoredSums[];
  /** Paging tokens; null once read to the end. */
  effectsCursor: string | null;
  feesCursor: string | null;
  /** Nothing has changed since the last audit, so nothing is read. */
  isQuiet: boolean;
  /** Ledger of the oldest effect, if read from the account's creation; null when there is none. */
  firstLedger: number | null;
  /** Pages from before `fromLedger`. */
  pagesBefore: number;
  /** An unknown kind of effect. */
  unknownKind: string | null;
  /** Ids of parked records that paid the wallet, judging by its balance; missing for none. */
  parked?: string[];
  /** Number of operations that credited the wallet and could not be fetched; missing for none. */
  unread?: number;
  /** The wallet issues assets, as its effects show; missing for others. */
  isIssuer?: true;
  /** Failed requests for lists of payments; missing for none. */
  listsFailed?: number;
}

/** A ledger that paid the wallet. Identified by its close time too: after a reset its number is
 *  used again. */
export interface HealedOperation {
  operationId: string;
  closedAt: Date;
}

const isRunning = { status: 'RUNNING' };

const AUDITS = define(
  'audits',
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: text<Network>(),
    status: text<(typeof AUDIT_STATUSES)[number]>(),
    reason: nullable(String),
    fromLedger: nullable(Number),
    toLedger: nullable(Number),
    assets: [shape<StoredRow>()],
    missingPayments: Number,
    /** Operations whose payments are being recorded and not counted yet. */
    healing: optional([shape<HealedOperation>()]),
    openingSource: nullable(text<(typeof OPENING_SOURCES)[number]>()),
    balanceSource: nullable(String),
    movementSource: nullable(String),
    createdAt: Date,
    finishedAt: nullable(Date),
    /** The network's last reset, as of the balances; null for none. Missing before the balances
     *  are taken. */
    resetAt: optional(nullable(Date)),
    /** Null before the balances are taken, and when the audit has ended. */
    progress: nullable(shape<AuditProgress>()),
    /** When a running audit continues. */
    turnAt: nullable(Date),
    /** Counts saved steps: of two processes with one audit, only one can save the next. */
    revision: Number,
    /** Start of a standstill; null while it advances. */
    stuckSince: nullable(Date),
    /** Assets that moved without being listed: their balances are requested, too. */
    moved: optional([shape<Pick<StoredAmount, 'assetCode' | 'assetIssuer'>>()]),
    /** Since when it waits for data that it can do without. */
    lateSince: optional(nullable(Date)),
    /** The differences found by each reading, oldest first. */
    seen: [String],
    /** The wallet issues assets: what comes of these changes no balance. Absent for others. */
    isIssuer: flag(),
    /** The account asked for it; absent where it was planned. */
    isAskedFor: flag(),
  },
  [
    { key: { walletId: 1 }, unique: true, partialFilterExpression: isRunning, name: 'running' },
    { key: { network: 1, accountId: 1, turnAt: 1 }, partialFilterExpression: isRunning, name: 'turns' },
    { key: { accountId: 1, walletId: 1, _id: -1 } },
    { key: { walletId: 1, status: 1, _id: -1 } },
  ],
);

export interface AuditDoc extends DocOf<typeof AUDITS> {}

// An audit as the API and the events show it.

export type Audit = OutputOf<Contract['wallets']['startAudit']>;

export const toAuditAssets = (rows: readonly StoredRow[]): Audit['assets'] =>
  rows.map(({ assetCode, assetIssuer, ...row }) => ({
    assetCode,
    assetIssuer,
    opening: formatSigned(BigInt(row.opening)),
    closing: formatAmount(BigInt(row.closing)),
    computed: formatSigned(BigInt(row.computed)),
    difference: formatSigned(BigInt(row.difference)),
    movements: {
      received: formatAmount(BigInt(row.received)),
      sent: formatAmount(BigInt(row.sent)),
      fees: formatAmount(BigInt(row.fees)),
      traded: formatSigned(BigInt(row.traded)),
      other: formatSigned(BigInt(row.other)),
    },
  }));

export const toAudit = (audit: AuditDoc): Audit => ({
  id: audit._id,
  walletId: audit.walletId,
  status: audit.status,
  reason: audit.reason,
  fromLedger: audit.fromLedger,
  toLedger: audit.toLedger,
  assets: toAuditAssets(audit.assets),
  missingPayments: audit.missingPayments,
  openingSource: audit.openingSource,
  balanceSource: audit.balanceSource,
  movementSource: audit.movementSource,
  createdAt: audit.createdAt.toISOString(),
  finishedAt: audit.finishedAt?.toISOString() ?? null,
});

/** Audits kept of each wallet, besides the one that the next audit begins with. */
const KEPT_AUDITS = 100;
const ENDED = ['PROVEN', 'DIFFERENT'] as const;

/** Across accounts: for the auditor. */
export type AuditStore = ReturnType<typeof createAuditStore>['system'];

type NewAudit = Pick<AuditDoc, '_id' | 'accountId' | 'walletId' | 'network' | 'createdAt' | 'isAskedFor'>;

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
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const collection = openCollection<AuditDoc>(connection, AUDITS);
  const page = createPages(collection);

  /** Null while another audit of the wallet runs. If the id exists, returns that audit. */
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
  return { page, collection, start };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ page, collection }: Opened, accountId: string) => ({
  byId: (id: string) => collection.findOne({ _id: id, accountId }),
  /** False while another audit of the wallet runs, or if the id is taken: abort the transaction. */
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
  /** The longest waiting audit of the next account after this one: accounts take turns. */
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
  /** The newest audit with balances from after that reset; null when there is none. */
  async lastEnded(walletId: string, resetAt: Date | null): Promise<AuditDoc | null> {
    const found = await collection
      .find({ walletId, status: { $in: [...ENDED] } }, { sort: { _id: -1 }, limit: 1 })
      .toArray();
    const [last] = found;
    return last && isSinceReset(last, resetAt) ? last : null;
  },
  /** Saves a step. @returns false when another process has saved one since it was read, or the
   *  wallet is gone */
  async save({ _id, revision }: AuditDoc, changes: Partial<AuditDoc>, session?: Session): Promise<boolean> {
    const { matchedCount } = await collection.updateOne(
      { _id, revision, status: 'RUNNING' },
      { $set: { ...changes, revision: revision + 1 } },
      session ? { session } : {},
    );
    return matchedCount === 1;
  },
  /** Removes a wallet's audits beyond the newest, except the one that the next audit
   *  begins with. */
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
