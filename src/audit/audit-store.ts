/** Audits of wallets, and the progress of running ones. One audit of a wallet runs at a time; each step is saved by its revision. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { isDuplicateKey, makeIndexes, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { type AuditDoc, auditModel } from './audit-document.js';

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
    ensureIndexes: () => makeIndexes(opened.audits),
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const audits = auditModel(connection);
  const page = createPages(audits);
  const collection = audits.collection as unknown as mongoose.mongo.Collection<AuditDoc>;

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
  return { audits, page, collection, start };
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
  /** Saves a step. @returns false when another process has saved one since it was read, or the wallet is gone */
  async save({ _id, revision }: AuditDoc, changes: Partial<AuditDoc>, session?: Session): Promise<boolean> {
    const { matchedCount } = await collection.updateOne(
      { _id, revision, status: 'RUNNING' },
      { $set: { ...changes, revision: revision + 1 } },
      session ? { session } : {},
    );
    return matchedCount === 1;
  },
  /** Removes a wallet's audits beyond the newest, except the one that the next audit begins with. */
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
