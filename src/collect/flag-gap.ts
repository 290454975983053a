/** Flags wallets that missed ledgers, and tells their accounts: each batch in one transaction, so that no gap stays untold. */
import type { Network } from '../../contracts/networks.js';
import type { Outbox, OutboxEvent } from '../events/outbox.js';
import { toWalletSummary } from '../resources/index.js';
import type { Database } from '../stores/database.js';
import type { GapScope, WalletStore } from '../stores/wallets.js';

const BATCH = 100;

/** Flags all wallets in the scope, a batch at a time. Those that have a gap already keep it and are not told again; it is
 *  dated anew, so that no checkout which the further ledgers may concern is taken for proven unpaid. */
export type FlagGap = (network: Network, scope: GapScope) => Promise<void>;

export function createFlagGap(deps: {
  wallets: Pick<WalletStore, 'flagGap' | 'noteFurtherGap'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  /** Called when events were stored. */
  eventsStored: () => void;
}): FlagGap {
  const { wallets, outbox, transaction, eventsStored } = deps;
  return async (network, scope) => {
    const { fromLedger, toLedger, at } = scope.gap;
    await wallets.noteFurtherGap(network, scope);
    for (;;) {
      const flagged = await transaction(async (session) => {
        const batch = await wallets.flagGap(network, scope, BATCH, session);
        const told = batch.map((wallet): OutboxEvent => {
          const data = { wallet: toWalletSummary(wallet), fromLedger, toLedger };
          return { type: 'wallet.gap', accountId: wallet.accountId, data, occurrence: at.toISOString() };
        });
        await outbox.publish(told, session);
        return batch.length;
      });
      if (flagged > 0) eventsStored();
      if (flagged < BATCH) return;
    }
  };
}
