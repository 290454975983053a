/** The ledger for payers on a payment page: reads what their transaction needs and submits it. Payers have a share of the request budget of their own, so that
 *  many of them cannot starve the watcher. */
import type { Network } from '../../contracts/networks.js';
import type { Submission } from '../ledger/source.js';
import { askForPayer, type NotNow } from './payer.js';
import { createPayerWays, type PayerWays, type WaysDeps } from './payer-ways.js';

export type { NotNow } from './payer.js';

/** `visitor` is the client address that the request is charged to. */
export interface PayerLedger extends PayerWays {
  /** The sequence number of an account's newest transaction, decimal text. */
  sequenceOf(
    network: Network,
    account: string,
    visitor: string,
  ): Promise<{ state: 'known'; sequence: string } | { state: 'no_account' } | NotNow>;
  /** @param envelope base64, checked. */
  submit(network: Network, envelope: string, visitor: string): Promise<Submission | NotNow>;
}

export function createPayerLedger(deps: WaysDeps): PayerLedger {
  const { ledgers } = deps;
  return {
    ...createPayerWays(deps),
    sequenceOf: (network, account, visitor) =>
      askForPayer(ledgers.get(network), visitor, async (session) => {
        const sequence = await session.sequenceOf(account);
        return sequence === null ? { state: 'no_account' as const } : { state: 'known' as const, sequence };
      }),
    submit: (network, envelope, visitor) =>
      askForPayer(ledgers.get(network), visitor, (session) => session.submit(envelope)),
  };
}
