/** Horizons named for mending a gap. One named by a caller of the API is reached like a webhook's
 *  endpoint: by https, at a public address checked when the connection is opened. */

import { Agent, fetch as undiciFetch } from 'undici';
import { NETWORKS, type Network, networkInfo } from '../../contracts/networks.js';
import { createLedger, type NetworkLedger, WrongNetwork } from '../ledger/index.js';
import { createMendGaps, type MendDeps, type MendGaps, type MendOutcome, type WalletDoc } from '../watching/index.js';
import { createAddressGuard, createConnector, createHostResolver, isPublicAddress } from '../webhooks/index.js';
import type { Core } from './core.js';
import { actOfOperator } from './operator.js';

const TIMEOUT_MS = 10_000;
/** Time limit for requests to a caller's server, which may be slow on purpose. */
const FOREIGN_MS = 60_000;
/** Some 200 joined records; fewer are requested if they are larger. */
const FOREIGN_BODY_BYTES = 4 * 1024 * 1024;

/** @param allowPrivate allows plain http and private addresses for a caller's sources */
export function createNamedMending(core: Core, { allowPrivate }: { allowPrivate: boolean }): MendGaps {
  const mend = createMendGaps(mendDepsOf(core));
  /** Accounts with a request to their server in progress: one at a time each. */
  const asking = new Set<string>();
  return async (wallet, horizonUrl, onBegin) => {
    if (horizonUrl === null) return mend(wallet, { onBegin });
    if (asking.has(wallet.accountId)) return 'busy';
    asking.add(wallet.accountId);
    try {
      return await withGuarded(core, wallet.network, { url: horizonUrl, allowPrivate }, (source) =>
        mend(wallet, { source, isForeign: true, onBegin }),
      );
    } finally {
      asking.delete(wallet.accountId);
    }
  };
}

function mendDepsOf({ stores, ledgers, recorder, transaction, processId, clock, log }: Core): MendDeps {
  const { wallets, cursors, gaps, leases } = stores.system;
  return { ledgers, wallets, cursors, gaps, recorder, leases, transaction, processId, clock, log };
}

/** Closes every connection afterwards. */
async function withGuarded<T>(
  { clock, monotonic, log }: Core,
  network: Network,
  { url, allowPrivate }: { url: string; allowPrivate: boolean },
  use: (source: NetworkLedger) => Promise<T>,
): Promise<T> {
  const resolver = createHostResolver({ timeoutMs: TIMEOUT_MS });
  const isAllowed = allowPrivate ? () => true : isPublicAddress;
  const guard = createAddressGuard(isAllowed, resolver.resolve);
  const dispatcher = new Agent({ connect: createConnector({ guard, timeoutMs: TIMEOUT_MS, developmentCa: null }) });
  const source = createLedger({
    ...{ network, horizonUrls: [url], rpcUrls: [], passphrase: networkInfo[network].passphrase },
    ...{ budget: null, clock, monotonic, log, timeoutMs: TIMEOUT_MS, maxBodyBytes: FOREIGN_BODY_BYTES },
    fetch: (target, init) => undiciFetch(target, { ...init, dispatcher }),
  });
  const done = new AbortController();
  void monotonic.sleep(FOREIGN_MS, done.signal).then(() => source.close());
  try {
    return await use(source);
  } finally {
    done.abort();
    await source.close();
    await dispatcher.destroy();
    resolver.close();
  }
}

/** Mends with a Horizon that the operator names, at any address: one wallet, or every wallet of
 *  its network.
 *  @throws Error with a message for the operator */
export async function mendByOperator(
  core: Core,
  url: string,
  walletId: string | null,
): Promise<{ walletId: string; outcome: MendOutcome }[]> {
  const { wallets, gaps } = core.stores.system;
  const source = await sourceOf(core, url);
  try {
    const found = walletId === null ? await gaps.walletsWithOpen(source.network) : [walletId];
    const mend = createMendGaps(mendDepsOf(core));
    const reports = [];
    for (const id of found) {
      const [wallet] = await wallets.ofAllAccounts([id]);
      // A deleted wallet leaves its gaps behind.
      if (!wallet && walletId === null) continue;
      if (!wallet) throw new Error(`There is no wallet ${id}.`);
      if (wallet.network !== source.network)
        throw new Error(`The wallet is on ${wallet.network}, not ${source.network}.`);
      let outcome = await mend(wallet, { source: source.ledger, onBegin: () => noteMending(core, wallet, url) });
      while (typeof outcome !== 'string' && outcome.isCut) outcome = await mend(wallet, { source: source.ledger });
      reports.push({ walletId: id, outcome });
    }
    return reports;
  } finally {
    await source.ledger.close();
  }
}

const noteMending = ({ commit }: Core, { _id, accountId }: WalletDoc, horizonUrl: string): Promise<void> =>
  commit(actOfOperator({ accountId, subjectId: _id }, 'wallets_mendGaps', { horizonUrl }), async () => undefined);

async function sourceOf(
  { clock, monotonic, log }: Core,
  url: string,
): Promise<{ network: Network; ledger: NetworkLedger }> {
  for (const network of NETWORKS) {
    const { passphrase } = networkInfo[network];
    const horizon = { network, horizonUrls: [url], rpcUrls: [], passphrase };
    const ledger = createLedger({ ...horizon, budget: null, clock, monotonic, log });
    try {
      await ledger.session({ purpose: 'watching' }).tip();
      return { network, ledger };
    } catch (error) {
      await ledger.close();
      if (!(error instanceof WrongNetwork)) throw error;
    }
  }
  throw new Error('It serves no network that this service knows.');
}
