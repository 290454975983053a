/** Ledgers that wallets missed. Gaps are kept, mended or not. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { Outbox, OutboxEvent } from '../events/index.js';
import { type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import type { Database, Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import type { WalletDoc, WalletStore } from './wallet-store.js';
import { toWalletSummary } from './wallets.js';
import type { GapScope } from './watched-wallets.js';

// Records the ledgers that wallets missed and publishes `wallet.gap`, each batch in one
// transaction, so that no gap goes unreported.

const BATCH = 100;

/** Records the gap for every wallet in the scope, a batch at a time. Repeatable: an open gap that
 *  continues is extended, without another event. */
export type FlagGap = (network: Network, scope: GapScope) => Promise<void>;

export function createFlagGap(deps: {
  wallets: Pick<WalletStore, 'watchedFrom' | 'setGap' | 'growGap'>;
  gaps: Pick<GapStore, 'same' | 'insert' | 'extend' | 'lose'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  newId: NewId;
  eventsStored: () => void;
}): FlagGap {
  const { wallets, gaps, outbox, transaction, newId, eventsStored } = deps;

  async function flag(batch: readonly WalletDoc[], { gap, lostSince }: GapScope, session: Session): Promise<number> {
    const { fromLedger, toLedger, at } = gap;
    const reset = { isLost: lostSince !== undefined, lostSince: lostSince ?? null };
    const flagged = batch.filter(({ gap: last }) => last !== null).map(({ _id }) => _id);
    const known = await gaps.same(flagged, { fromLedger, lostSince: reset.lostSince }, session);
    const grown = known.map(({ walletId }) => walletId);
    await gaps.extend(
      known.map(({ _id }) => _id),
      toLedger,
      session,
    );
    await wallets.growGap(grown, { toLedger, lastAt: at }, session);
    const has = new Set(grown);
    const fresh = batch.filter(({ _id }) => !has.has(_id));
    await gaps.insert(
      fresh.map(
        ({ _id: walletId, accountId, network }): GapDoc => ({
          _id: newId('gap'),
          ...{ accountId, walletId, network, fromLedger, toLedger, at, readTo: null, mendedAt: null },
          ...reset,
        }),
      ),
      session,
    );
    await wallets.setGap(
      fresh.map(({ _id }) => _id),
      gap,
      session,
    );
    const told = fresh.map((wallet): OutboxEvent => {
      const data = { wallet: toWalletSummary(wallet), fromLedger, toLedger };
      return { type: 'wallet.gap', accountId: wallet.accountId, data, occurrence: at.toISOString() };
    });
    await outbox.publish(told, session);
    return fresh.length;
  }

  return async (network, scope) => {
    // No source keeps ledgers from before a reset.
    if (scope.lostSince) await gaps.lose(network);
    for (let after = ''; ; ) {
      const { flagged, last } = await transaction(async (session) => {
        const batch = await wallets.watchedFrom(network, scope, { after, limit: BATCH }, session);
        const flagged = await flag(batch, scope, session);
        return { flagged, last: batch.length < BATCH ? null : batch.at(-1)!._id };
      });
      if (flagged > 0) eventsStored();
      if (last === null) return;
      after = last;
    }
  };
}

const GAPS = define(
  'gaps',
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: text<Network>(),
    /** Both ends included. */
    fromLedger: Number,
    toLedger: Number,
    /** When it was found. */
    at: Date,
    /** Everything up to this ledger has been read since; null before. */
    readTo: nullable(Number),
    mendedAt: nullable(Date),
    /** The network was reset: these ledgers are gone for good. */
    isLost: Boolean,
    /** For a gap left by a reset: when the network was last seen before it. Null for others. */
    lostSince: nullable(Date),
  },
  [
    { key: { walletId: 1, mendedAt: 1, fromLedger: 1 } },
    { key: { accountId: 1, walletId: 1, _id: -1 } },
    { key: { network: 1, walletId: 1 }, partialFilterExpression: { mendedAt: null }, name: 'open' },
  ],
);

export interface GapDoc extends DocOf<typeof GAPS> {}

/** Open gaps of one wallet dealt with at a time. */
const OPEN_AT_ONCE = 100;

/** What works across accounts: for the watcher and the mending. */
export type GapStore = ReturnType<typeof createGapStore>['system'];

export function createGapStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const collection = openCollection<GapDoc>(connection, GAPS);
  const page = createPages(collection);
  const openOf = (walletId: string) =>
    collection
      .find({ walletId, mendedAt: null, isLost: false }, { sort: { fromLedger: 1 }, limit: OPEN_AT_ONCE })
      .toArray();
  return { page, collection, openOf };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ page }: Opened, accountId: string) => ({
  list: (walletId: string, request: PageRequest) => page({ accountId, walletId }, { ...request, sort: { _id: -1 } }),
});

const ofAllAccounts = ({ collection, openOf }: Opened) => ({
  /** Gaps that can be mended, in ledger order. */
  openOf,
  /** The open gaps of these wallets that this one continues: it begins within them or just after
   *  their end. After a reset, the gap that the reset left. */
  same: (
    walletIds: readonly string[],
    { fromLedger, lostSince }: Pick<GapDoc, 'fromLedger' | 'lostSince'>,
    session: Session,
  ) =>
    collection
      .find(
        {
          ...{ walletId: { $in: [...walletIds] }, mendedAt: null },
          ...(lostSince
            ? { lostSince }
            : { isLost: false, fromLedger: { $lte: fromLedger }, toLedger: { $gte: fromLedger - 1 } }),
        },
        { session },
      )
      .toArray(),
  async insert(batch: readonly GapDoc[], session: Session): Promise<void> {
    if (batch.length > 0) await collection.insertMany([...batch], { session });
  },
  async extend(ids: readonly string[], toLedger: number, session: Session): Promise<void> {
    if (ids.length > 0) await collection.updateMany({ _id: { $in: [...ids] } }, { $max: { toLedger } }, { session });
  },
  /** Call after a reset: none of the network's gaps can be mended any more. */
  async lose(network: Network): Promise<void> {
    await collection.updateMany({ network, mendedAt: null, isLost: false }, { $set: { isLost: true } });
  },
  async noteRead(id: string, readTo: number): Promise<void> {
    await collection.updateOne({ _id: id, mendedAt: null }, { $max: { readTo } });
  },
  /** False when it was already mended, or has grown since. */
  async mend({ _id, toLedger }: Pick<GapDoc, '_id' | 'toLedger'>, at: Date, session: Session): Promise<boolean> {
    const { modifiedCount } = await collection.updateOne(
      { _id, toLedger, mendedAt: null },
      { $set: { mendedAt: at, readTo: toLedger } },
      { session },
    );
    return modifiedCount === 1;
  },
  /** The newest open gap of a wallet, of those found at `since` or later; null when there
   *  is none. */
  newestOf: (walletId: string, since: Date, session: Session) =>
    collection.findOne({ walletId, mendedAt: null, at: { $gte: since } }, { session, sort: { at: -1 } }),
  /** Ids of wallets with gaps that can be mended, in order. */
  async walletsWithOpen(network: Network): Promise<string[]> {
    return (await collection.distinct('walletId', { network, mendedAt: null, isLost: false })).sort();
  },
});
