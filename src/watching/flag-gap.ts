/** Records the ledgers that wallets missed and publishes `wallet.gap`, each batch in one transaction, so that no gap goes unreported. */

import type { Network } from '../../contracts/networks.js';
import type { Outbox, OutboxEvent } from '../events/index.js';
import type { Database, Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import type { GapDoc, GapStore } from './gap-store.js';
import { toWalletSummary } from './wallet-resource.js';
import type { WalletDoc, WalletStore } from './wallet-store.js';
import type { GapScope } from './watched-wallets.js';

const BATCH = 100;

/** Records the gap for every wallet in the scope, a batch at a time. Repeatable: an open gap that continues is extended, without another event. */
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
