/** The ledger for payers who pay from a page: what their next transaction needs, and where it is handed over. Payers have a share of the request
 *  budget, so that no crowd of them keeps the watcher from reading. */
import type { Network } from '../../contracts/networks.js';
import { BudgetUsedUp, LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { LedgerSession, NetworkLedger } from '../ledger/network-ledger.js';
import type { Submission } from '../ledger/source.js';

/** `busy`: payers have used up their share for now. `unavailable`: no source answers. */
export type NotNow = { state: 'busy'; waitSeconds: number } | { state: 'unavailable' };

/** `visitor` is the client address on whose behalf the ledger is asked. */
export interface PayerLedger {
  /** The sequence number of an account's newest transaction, decimal text. */
  sequenceOf(
    network: Network,
    account: string,
    visitor: string,
  ): Promise<{ state: 'known'; sequence: string } | { state: 'no_account' } | NotNow>;
  /** @param envelope base64, checked. */
  submit(network: Network, envelope: string, visitor: string): Promise<Submission | NotNow>;
}

export function createPayerLedger({
  ledgers,
}: {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
}): PayerLedger {
  async function ask<T>(
    network: Network,
    visitor: string,
    call: (session: LedgerSession) => Promise<T>,
  ): Promise<T | NotNow> {
    const ledger = ledgers.get(network);
    if (!ledger) return { state: 'unavailable' };
    try {
      return await call(ledger.session({ purpose: 'payers', by: visitor }));
    } catch (error) {
      if (error instanceof BudgetUsedUp) return { state: 'busy', waitSeconds: error.retryAfterSeconds };
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return { state: 'unavailable' };
      throw error;
    }
  }

  return {
    sequenceOf: (network, account, visitor) =>
      ask(network, visitor, async (session) => {
        const sequence = await session.sequenceOf(account);
        return sequence === null ? { state: 'no_account' as const } : { state: 'known' as const, sequence };
      }),
    submit: (network, envelope, visitor) => ask(network, visitor, (session) => session.submit(envelope)),
  };
}
