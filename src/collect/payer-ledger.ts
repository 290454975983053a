/** The ledger for payers who pay from a page: what their next transaction needs, and where it is handed over. Payers have a share of the request
 *  budget and of the connections, so that no crowd of them keeps the watcher from reading. */
import type { Network } from '../../contracts/networks.js';
import { LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { LedgerSession, NetworkLedger } from '../ledger/network-ledger.js';
import type { Submission } from '../ledger/source.js';

/** `busy`: payers have used up their share for now. `unavailable`: no source answers. */
export type NotNow = { state: 'busy'; waitSeconds: number } | { state: 'unavailable' };

export interface PayerLedger {
  /** The sequence number of an account's newest transaction, decimal text. */
  sequenceOf(
    network: Network,
    account: string,
  ): Promise<{ state: 'known'; sequence: string } | { state: 'no_account' } | NotNow>;
  /** @param envelope base64, checked. */
  submit(network: Network, envelope: string): Promise<Submission | NotNow>;
}

/** Of one network in this process. A submission may wait for a ledger, and the watcher needs connections, too. */
const MAX_AT_ONCE = 8;
const SOON_SECONDS = 5;

export function createPayerLedger(deps: {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  /** Counts a request. @returns 0 when payers may send it, else the seconds to wait */
  share: (network: Network) => number;
}): PayerLedger {
  const { ledgers, share } = deps;
  const inFlight = new Map<Network, number>();

  async function ask<T>(network: Network, call: (session: LedgerSession) => Promise<T>): Promise<T | NotNow> {
    const ledger = ledgers.get(network);
    if (!ledger) return { state: 'unavailable' };
    const before = inFlight.get(network) ?? 0;
    const waitSeconds = before >= MAX_AT_ONCE ? SOON_SECONDS : share(network);
    if (waitSeconds > 0) return { state: 'busy', waitSeconds };
    inFlight.set(network, before + 1);
    try {
      return await call(ledger.session());
    } catch (error) {
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return { state: 'unavailable' };
      throw error;
    } finally {
      inFlight.set(network, inFlight.get(network)! - 1);
    }
  }

  return {
    sequenceOf: (network, account) =>
      ask(network, async (session) => {
        const sequence = await session.sequenceOf(account);
        return sequence === null ? { state: 'no_account' as const } : { state: 'known' as const, sequence };
      }),
    submit: (network, envelope) => ask(network, (session) => session.submit(envelope)),
  };
}
