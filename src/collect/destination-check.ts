/** What would keep a wallet from receiving an asset, as far as the ledger tells quickly. Answers are remembered, so that pages cost few requests. */
import type { Network } from '../../contracts/networks.js';
import { type Clock, within } from '../clock.js';
import { type Asset, assetName } from '../domain/asset.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';

export type DestinationProblem = 'no_account' | 'no_trustline';

export interface DestinationCheck {
  /** Null when nothing is in the way, or when the ledger does not tell in time. */
  to(network: Network, address: string, asset: Asset): Promise<DestinationProblem | null>;
}

const PATIENCE_MS = 1000;
/** An account that can be paid is likely to stay so. */
const GOOD_FOR_MS = 600_000;
const BAD_FOR_MS = 15_000;
const MAX_REMEMBERED = 10_000;

export function createDestinationCheck({
  ledgers,
  clock,
}: {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  clock: Clock;
}): DestinationCheck {
  const remembered = new Map<string, { destinationProblem: Promise<DestinationProblem | null>; untilMs: number }>();

  async function look(network: Network, address: string, asset: Asset): Promise<DestinationProblem | null> {
    const account = await ledgers
      .get(network)
      ?.session()
      .account(address, asset.issuer === null ? null : asset);
    if (account === undefined) return null;
    if (account === null) return 'no_account';
    // An issuer takes its own asset back without a trustline.
    if (asset.issuer === null || asset.issuer === address) return null;
    return account.trusts ? null : 'no_trustline';
  }

  return {
    async to(network, address, asset) {
      const key = `${network}:${address}:${assetName(asset)}`;
      let known = remembered.get(key);
      if (!known || known.untilMs <= clock.nowMs()) {
        if (remembered.size >= MAX_REMEMBERED) remembered.clear();
        const asked = look(network, address, asset).catch(() => null);
        const entry = { destinationProblem: asked, untilMs: clock.nowMs() + BAD_FOR_MS };
        void asked.then((destinationProblem) => {
          if (destinationProblem === null) entry.untilMs += GOOD_FOR_MS - BAD_FOR_MS;
        });
        remembered.set(key, entry);
        known = entry;
      }
      return within(clock, PATIENCE_MS, known.destinationProblem, () => null);
    },
  };
}
