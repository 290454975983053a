/** Wallets, and the windows of the ledger in which each one counts. `watchStarted` is false until
 *  the watcher has seen the newest window. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { ReadTo } from '../domain/coverage.js';
import type { LedgerStamp, WatchWindow } from '../domain/terms.js';
import { driverOf } from '../kit/collection.js';
import {
  isDuplicateKey,
  orAlreadyMade,
  PART_OPTIONS,
  SCHEMA_OPTIONS,
  type Session,
  stampSchema,
} from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { containing, foldText } from '../kit/text-search.js';
import { createById } from '../kit/tick-loader.js';
import { createWatchedWallets } from './watched-wallets.js';

export interface Gap {
  fromLedger: number;
  toLedger: number;
  at: Date;
  /** When the gap was last found to continue; missing if it never was. */
  lastAt?: Date;
}

export interface WalletDoc {
  _id: string;
  accountId: string;
  name: string;
  /** The name, folded for search. The store sets it. */
  nameKey?: string;
  address: string;
  network: Network;
  active: boolean;
  /** Oldest first; the last is open while the wallet is active. */
  windows: WatchWindow[];
  /** The watcher has seen the newest window. */
  watchStarted: boolean;
  /** Some window is still unread. */
  watching: boolean;
  /** The position when its last window was read to the end; null before. */
  readTo: ReadTo | null;
  /** Its newest gap that is neither mended nor acknowledged. */
  gap: Gap | null;
  productCount: number;
  hasPayments: boolean;
  /** Number of checkouts that were ever made for it. Missing for none. */
  checkoutsMade?: number;
  /** When its next audit begins. Missing until planned. */
  nextAuditAt?: Date;
  createdAt: Date;
}

const walletSchema = new mongoose.Schema<WalletDoc>(
  {
    _id: String,
    accountId: String,
    name: String,
    nameKey: String,
    address: String,
    network: String,
    active: Boolean,
    windows: [new mongoose.Schema({ from: stampSchema, until: { type: stampSchema, default: null } }, PART_OPTIONS)],
    watchStarted: Boolean,
    watching: Boolean,
    readTo: {
      type: new mongoose.Schema({ ledger: Number, at: Date, closedAt: { type: Date, default: null } }, PART_OPTIONS),
      default: null,
    },
    gap: {
      type: new mongoose.Schema({ fromLedger: Number, toLedger: Number, at: Date, lastAt: Date }, PART_OPTIONS),
      default: null,
    },
    productCount: Number,
    hasPayments: Boolean,
    checkoutsMade: Number,
    nextAuditAt: Date,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'wallets' },
);
walletSchema.index({ accountId: 1, network: 1, address: 1 }, { unique: true });
walletSchema.index({ accountId: 1, _id: -1 });
walletSchema.index({ network: 1, address: 1 });
walletSchema.index({ network: 1, watching: 1, address: 1 });
walletSchema.index({ network: 1, active: 1 }, { partialFilterExpression: { watching: true, active: false } });
walletSchema.index({ network: 1, nextAuditAt: 1 }, { partialFilterExpression: { active: true }, name: 'audits' });
walletSchema.index({ network: 1, watchStarted: 1 }, { partialFilterExpression: { watchStarted: false } });

/** What works across accounts: for the watcher. */
export type WalletStore = ReturnType<typeof createWalletStore>['system'];

export function createWalletStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const wallets = connection.model<WalletDoc>('Wallet', walletSchema);
  const page = createPages(driverOf(wallets));
  const byId = createById(driverOf(wallets));
  return { wallets, page, byId };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ wallets, page, byId }: Opened, accountId: string) => ({
  /** Stores it as this account's. False when the account already has this address on
   *  this network. */
  async insert(wallet: WalletDoc, session?: Session): Promise<boolean> {
    try {
      await orAlreadyMade(
        wallets.collection.insertOne({ ...wallet, nameKey: foldText(wallet.name), accountId } as never, {
          session,
        }),
      );
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  },
  count: (session: Session) => wallets.countDocuments({ accountId }, { session }).exec(),
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  byIds: (ids: readonly string[], session?: Session) => byId.many(accountId, ids, session),
  /** @param search part of the name, in any case, or the whole address */
  list: ({ search, ...request }: PageRequest & { search?: string | undefined }) => {
    const named = search ? { $or: [{ nameKey: containing(search) }, { address: search.toUpperCase() }] } : {};
    return page({ accountId, ...named }, { ...request, sort: { _id: -1 } });
  },

  rename: (id: string, name: string, session?: Session) =>
    wallets
      .findOneAndUpdate(
        { _id: id, accountId },
        { $set: { name, nameKey: foldText(name) } },
        { returnDocument: 'after', session },
      )
      .lean<WalletDoc>()
      .exec(),
  /** Opens a window; null when the wallet is already active or does not exist. */
  activate: (id: string, from: LedgerStamp, session?: Session) =>
    wallets
      .findOneAndUpdate(
        { _id: id, accountId, active: false },
        {
          $set: { active: true, watchStarted: false, watching: true, gap: null },
          $push: { windows: { from, until: null } },
        },
        { returnDocument: 'after', session },
      )
      .lean<WalletDoc>()
      .exec(),
  ...endingOfAccount({ wallets }, accountId),
  /** Called in the transaction that makes, moves or deletes products, so that a wallet in use
   *  cannot be deleted concurrently. False when there is no such wallet. */
  async countProducts(id: string, change: number, session: Session): Promise<boolean> {
    const { matchedCount } = await wallets.updateOne(
      { _id: id, accountId },
      { $inc: { productCount: change } },
      { session },
    );
    return matchedCount === 1;
  },
});

/** Making checkouts for a wallet, and its end: both write its document, so that of two that meet the
 *  later one sees the other. */
const endingOfAccount = ({ wallets }: Pick<Opened, 'wallets'>, accountId: string) => ({
  /** Call in the transaction that makes the checkouts. Null when the wallet is inactive or does
   *  not exist. */
  countCheckouts: (id: string, made: number, session: Session) =>
    wallets
      .findOneAndUpdate(
        { _id: id, accountId, active: true },
        { $inc: { checkoutsMade: made } },
        { returnDocument: 'after', session },
      )
      .lean<WalletDoc>()
      .exec(),
  /** Closes the open window, which is still read to its end. Call in the transaction that found no
   *  OPEN checkout. Null when the wallet is inactive or gone. */
  deactivate: (id: string, until: LedgerStamp, session: Session) =>
    wallets
      .findOneAndUpdate(
        { _id: id, accountId, active: true },
        { $set: { active: false, 'windows.$[open].until': until } },
        { returnDocument: 'after', arrayFilters: [{ 'open.until': null }], session },
      )
      .lean<WalletDoc>()
      .exec(),
  /** Call in the transaction that found no checkout. False when it has products or payments. */
  async removeUnused(id: string, session: Session): Promise<boolean> {
    const isUnused = { productCount: 0, hasPayments: false };
    const { deletedCount } = await wallets.deleteOne({ _id: id, accountId, ...isUnused }, { session });
    return deletedCount === 1;
  },
});

const ofAllAccounts = ({ wallets }: Opened) => ({
  ...createWatchedWallets(wallets),
  at: (network: Network, addresses: readonly string[], session?: Session) =>
    wallets
      .find({ network, address: { $in: [...addresses] } })
      .session(session ?? null)
      .lean<WalletDoc[]>()
      .exec(),
  /** Those of the addresses that any account has as a wallet. */
  async ours(network: Network, addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (addresses.length === 0) return new Set();
    const found = await wallets
      .find({ network, address: { $in: [...addresses] } }, { _id: 0, address: 1 })
      .lean<Pick<WalletDoc, 'address'>[]>()
      .exec();
    return new Set(found.map(({ address }) => address));
  },
  ofAllAccounts: (ids: readonly string[], session?: Session) =>
    wallets
      .find({ _id: { $in: [...ids] } })
      .session(session ?? null)
      .lean<WalletDoc[]>()
      .exec(),
  /** Wallets at these addresses, in the order of their ids. */
  atAfter: (network: Network, addresses: readonly string[], { after, limit }: { after: string; limit: number }) =>
    wallets
      .find({ network, address: { $in: [...addresses] }, _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<WalletDoc[]>()
      .exec(),
  /** Those of these accounts that have a wallet on the network. */
  ownersAmong: (network: Network, accountIds: readonly string[]): Promise<string[]> =>
    wallets.distinct('accountId', { accountId: { $in: [...accountIds] }, network }).exec(),
  /** Every active wallet of these networks, in the order of their ids. */
  activeOf: (networks: readonly Network[], { after, limit }: { after: string; limit: number }) =>
    wallets
      .find({ _id: { $gt: after }, network: { $in: [...networks] }, active: true })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<WalletDoc[]>()
      .exec(),
  /** Active wallets whose audits are not planned yet. */
  withoutAuditPlan: (network: Network, limit: number) =>
    wallets.find({ network, active: true, nextAuditAt: null }, { _id: 1 }, { limit }).lean<{ _id: string }[]>().exec(),
  /** The active wallet with the longest due audit; null for none. */
  dueForAudit: (network: Network, now: Date) =>
    wallets
      .findOne({ network, active: true, nextAuditAt: { $lte: now } })
      .sort({ nextAuditAt: 1 })
      .lean<WalletDoc>()
      .exec(),
  async planAudit(id: string, nextAuditAt: Date): Promise<void> {
    await wallets.updateOne({ _id: id }, { $set: { nextAuditAt } });
  },
  async noteHasPayments(ids: readonly string[], session: Session): Promise<void> {
    await wallets.collection.updateMany(
      { _id: { $in: [...ids] as never[] }, hasPayments: false },
      { $set: { hasPayments: true } },
      { session },
    );
  },
});
