/** Wallets, and the windows of the ledger in which each one counts. `watchStarted` is false until
 *  the watcher has seen the newest window. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { ReadTo } from '../domain/coverage.js';
import type { LedgerStamp, WatchWindow } from '../domain/terms.js';
import { type DocOf, define, NONE, nullable, openCollection, optional, shape, text } from '../kit/collection.js';
import { isDuplicateKey, orAlreadyMade, type Session } from '../kit/database.js';
import { addCounts } from '../kit/group-commit.js';
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

const WALLETS = define(
  'wallets',
  {
    _id: String,
    accountId: String,
    name: String,
    /** The name, folded for search. The store sets it. */
    nameKey: optional(String),
    address: String,
    network: text<Network>(),
    active: Boolean,
    /** Oldest first; the last is open while the wallet is active. */
    windows: [shape<WatchWindow>()],
    /** The watcher has seen the newest window. */
    watchStarted: Boolean,
    /** Some window is still unread. */
    watching: Boolean,
    /** The position when its last window was read to the end; null before. */
    readTo: nullable(shape<ReadTo>()),
    /** Its newest gap that is neither mended nor acknowledged. */
    gap: nullable(shape<Gap>()),
    productCount: Number,
    hasPayments: Boolean,
    /** Number of checkouts that were ever made for it. Missing for none. */
    checkoutsMade: optional(Number),
    /** When its next audit begins. Missing until planned. */
    nextAuditAt: optional(Date),
    createdAt: Date,
  },
  [
    { key: { accountId: 1, network: 1, address: 1 }, unique: true },
    { key: { accountId: 1, _id: -1 } },
    { key: { network: 1, address: 1 } },
    { key: { network: 1, watching: 1, address: 1 } },
    { key: { network: 1, active: 1 }, partialFilterExpression: { watching: true, active: false } },
    { key: { network: 1, nextAuditAt: 1 }, partialFilterExpression: { active: true }, name: 'audits' },
    { key: { network: 1, watchStarted: 1 }, partialFilterExpression: { watchStarted: false } },
  ],
);

export interface WalletDoc extends DocOf<typeof WALLETS> {}

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
  const wallets = openCollection<WalletDoc>(connection, WALLETS);
  const page = createPages(wallets);
  const byId = createById(wallets);
  return { wallets, page, byId };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ wallets, page, byId }: Opened, accountId: string) => ({
  /** Stores it as this account's. False when the account already has this address on
   *  this network. */
  async insert(wallet: WalletDoc, session?: Session): Promise<boolean> {
    try {
      await orAlreadyMade(wallets.insertOne({ ...wallet, nameKey: foldText(wallet.name), accountId }, { session }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  },
  count: (session: Session) => wallets.countDocuments({ accountId }, { session }),
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  byIds: (ids: readonly string[], session?: Session) => byId.many(accountId, ids, session),
  /** @param search part of the name, in any case, or the whole address */
  list: ({ search, ...request }: PageRequest & { search?: string | undefined }) => {
    const named = search ? { $or: [{ nameKey: containing(search) }, { address: search.toUpperCase() }] } : {};
    return page({ accountId, ...named }, { ...request, sort: { _id: -1 } });
  },

  rename: (id: string, name: string, session?: Session) =>
    wallets.findOneAndUpdate(
      { _id: id, accountId },
      { $set: { name, nameKey: foldText(name) } },
      { returnDocument: 'after', session },
    ),
  /** Opens a window; null when the wallet is already active or does not exist. */
  activate: (id: string, from: LedgerStamp, session?: Session) =>
    wallets.findOneAndUpdate(
      { _id: id, accountId, active: false },
      {
        $set: { active: true, watchStarted: false, watching: true, gap: null },
        $push: { windows: { from, until: null } },
      },
      { returnDocument: 'after', session },
    ),
  ...endingOfAccount({ wallets }, accountId),
});

/** Making checkouts for a wallet, and its end: both write its document, so that of two that meet
 *  the later one sees the other. */
const endingOfAccount = ({ wallets }: Pick<Opened, 'wallets'>, accountId: string) => ({
  /** Closes the open window, which is still read to its end. Call in the transaction that found no
   *  OPEN checkout. Null when the wallet is inactive or gone. */
  deactivate: (id: string, until: LedgerStamp, session: Session) =>
    wallets.findOneAndUpdate(
      { _id: id, accountId, active: true },
      { $set: { active: false, 'windows.$[open].until': until } },
      { returnDocument: 'after', arrayFilters: [{ 'open.until': null }], session },
    ),
  /** Call in the transaction that found no checkout. False when it has products or payments. */
  async removeUnused(id: string, session: Session): Promise<boolean> {
    const isUnused = { productCount: 0, hasPayments: false };
    const { deletedCount } = await wallets.deleteOne({ _id: id, accountId, ...isUnused }, { session });
    return deletedCount === 1;
  },
});

const ofAllAccounts = ({ wallets }: Opened) => ({
  /** Called in the transaction that makes, moves or deletes products, so that a wallet in use
   *  cannot be deleted concurrently.
   *  @returns the wallet of each as it is now; null where the account has none */
  countProducts: (
    changes: readonly { accountId: string; walletId: string; added: number }[],
    session: Session,
  ): Promise<(WalletDoc | null)[]> =>
    addCounts(
      wallets,
      changes.map(({ walletId, accountId, added }) => ({ _id: walletId, accountId, counts: { productCount: added } })),
      session,
    ),
  /** Call in the transaction that makes the checkouts.
   *  @returns the wallet of each as it is now; null where the account has none that is active */
  countCheckouts: (
    made: readonly { accountId: string; walletId: string }[],
    session: Session,
  ): Promise<(WalletDoc | null)[]> =>
    addCounts(
      wallets,
      made.map(({ walletId, accountId }) => ({ _id: walletId, accountId, counts: { checkoutsMade: 1 } })),
      session,
      { active: true },
    ),
  ...createWatchedWallets(wallets),
  at: (network: Network, addresses: readonly string[], session?: Session) =>
    wallets.find({ network, address: { $in: [...addresses] } }, { session }).toArray(),
  /** Those of the addresses that any account has as a wallet. */
  async ours(network: Network, addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (addresses.length === 0) return new Set();
    const found = await wallets
      .find({ network, address: { $in: [...addresses] } }, { projection: { _id: 0, address: 1 } })
      .toArray();
    return new Set(found.map(({ address }) => address));
  },
  ofAllAccounts: (ids: readonly string[], session?: Session) =>
    wallets.find({ _id: { $in: [...ids] } }, { session }).toArray(),
  /** Wallets at these addresses, in the order of their ids. */
  atAfter: (network: Network, addresses: readonly string[], { after, limit }: { after: string; limit: number }) =>
    wallets
      .find({ network, address: { $in: [...addresses] }, _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),
  /** Those of these accounts that have a wallet on the network. */
  ownersAmong: (network: Network, accountIds: readonly string[]): Promise<string[]> =>
    wallets.distinct('accountId', { accountId: { $in: [...accountIds] }, network }),
  /** Every active wallet of these networks, in the order of their ids. */
  activeOf: (networks: readonly Network[], { after, limit }: { after: string; limit: number }) =>
    wallets
      .find({ _id: { $gt: after }, network: { $in: [...networks] }, active: true })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),
  /** Active wallets whose audits are not planned yet. */
  withoutAuditPlan: (network: Network, limit: number) =>
    wallets.find({ network, active: true, nextAuditAt: NONE }, { projection: { _id: 1 }, limit }).toArray(),
  /** The active wallet with the longest due audit; null for none. */
  dueForAudit: (network: Network, now: Date) =>
    wallets.findOne({ network, active: true, nextAuditAt: { $lte: now } }, { sort: { nextAuditAt: 1 } }),
  async planAudit(id: string, nextAuditAt: Date): Promise<void> {
    await wallets.updateOne({ _id: id }, { $set: { nextAuditAt } });
  },
  async noteHasPayments(ids: readonly string[], session: Session): Promise<void> {
    await wallets.updateMany(
      { _id: { $in: [...ids] }, hasPayments: false },
      { $set: { hasPayments: true } },
      { session },
    );
  },
});
