/** Checks whether an address can receive an asset, with a short time limit. Answers are remembered,
 *  so that pages cost few requests. */
import type { Network } from '../../contracts/networks.js';
import { type Asset, assetName } from '../domain/asset.js';
import { type Clock, within } from '../kit/clock.js';
import { BudgetUsedUp, type NetworkLedger } from '../ledger/index.js';

type DestinationProblem = 'no_account' | 'no_trustline';
/** `unknown`: no answer in time, or the request budget is used up. */
type DestinationState = 'ready' | DestinationProblem | 'unknown';

export interface DestinationCheck {
  /** @param visitor client address on whose behalf the ledger is asked */
  to(network: Network, address: string, asset: Asset, visitor: string): Promise<DestinationState>;
}

const PATIENCE_MS = 1000;
/** An account that can be paid is likely to stay so; one that cannot is likely to be set
 *  up soon. */
const KEPT_MS: Readonly<Record<DestinationState, number>> = {
  ready: 600_000,
  no_account: 15_000,
  no_trustline: 15_000,
  unknown: 15_000,
};
const MAX_REMEMBERED = 10_000;

interface Remembered {
  state: Promise<DestinationState>;
  untilMs: number;
}

export function createDestinationCheck({
  ledgers,
  clock,
}: {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  clock: Clock;
}): DestinationCheck {
  const remembered = new Map<string, Remembered>();

  async function look(network: Network, address: string, asset: Asset, visitor: string): Promise<DestinationState> {
    const account = await ledgers
      .get(network)
      ?.session({ purpose: 'pages', by: visitor })
      .account(address, asset.issuer === null ? null : asset);
    if (account === undefined) return 'unknown';
    if (account === null) return 'no_account';
    // An issuer takes its own asset back without a trustline.
    if (asset.issuer === null || asset.issuer === address) return 'ready';
    return account.trusts ? 'ready' : 'no_trustline';
  }

  function ask(key: string, looking: Promise<DestinationState>): Remembered {
    const entry: Remembered = { state: looking, untilMs: Number.POSITIVE_INFINITY };
    entry.state = looking.then(
      (state) => {
        entry.untilMs = clock.nowMs() + KEPT_MS[state];
        return state;
      },
      (error) => {
        entry.untilMs = clock.nowMs() + KEPT_MS.unknown;
        // Not remembered: one visitor's exhausted share must not stop another visitor's request.
        if (error instanceof BudgetUsedUp && remembered.get(key) === entry) remembered.delete(key);
        return 'unknown' as const;
      },
    );
    // Deleted first, so that the oldest answer is the first to go.
    remembered.delete(key);
    if (remembered.size >= MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    remembered.set(key, entry);
    return entry;
  }

  return {
    async to(network, address, asset, visitor) {
      const key = `${network}:${address}:${assetName(asset)}`;
      const known = remembered.get(key);
      const { state } =
        known && known.untilMs > clock.nowMs() ? known : ask(key, look(network, address, asset, visitor));
      return within(clock, PATIENCE_MS, state, () => 'unknown' as const);
    },
  };
}
