/** Finds the assets that a payer can pay in and the cost in each, by the network's market, and
 *  remembers the answer for the payment that follows. Where no server sees the market, only the
 *  asset itself is offered. */

import { knownAsset } from '../../contracts/known-assets.js';
import type { Network } from '../../contracts/networks.js';
import { type Asset, assetName, sameAsset } from '../domain/asset.js';
import type { Amount } from '../domain/books.js';
import { rateLimited, unavailable } from '../kit/api-error.js';
import type { MonotonicClock } from '../kit/clock.js';
import {
  BudgetUsedUp,
  type Holding,
  type LedgerSession,
  LedgerUnavailable,
  MOST_ASSETS,
  MOST_WAYS,
  type NetworkLedger,
  type Submission,
  UnfitServer,
  type Way,
} from '../ledger/index.js';
import type { WalletDoc } from '../watching/index.js';

// Ledger requests on behalf of a payer, within the payers' share of the request budget, in which
// client addresses take turns.

/** `busy`: the payers' share is used up for now. `unavailable`: no source answers. */
export type NotNow = { state: 'busy'; waitSeconds: number } | { state: 'unavailable' };

/** @param visitor the client address that the request is charged to */
async function askForPayer<T, L extends Pick<NetworkLedger, 'session'>>(
  ledger: L | undefined,
  visitor: string,
  call: (session: LedgerSession, ledger: L) => Promise<T>,
): Promise<T | NotNow> {
  if (!ledger) return { state: 'unavailable' };
  try {
    return await call(ledger.session({ purpose: 'payers', by: visitor }), ledger);
  } catch (error) {
    if (error instanceof BudgetUsedUp) return { state: 'busy', waitSeconds: error.retryAfterSeconds };
    if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return { state: 'unavailable' };
    throw error;
  }
}

// The ledger for payers on a payment page: reads what their transaction needs and submits it.
// Payers have a share of the request budget of their own, so that many of them cannot starve
// the watcher.

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

// Reads from the ledger what a wallet holds and can receive now.

export type ReadWalletAssets = (wallet: WalletDoc, likely: readonly Asset[]) => Promise<readonly Holding[]>;

/** @param likely assets to look for on a server that cannot list an account's assets
 *  @throws ApiError `unavailable`, or `rate_limited` when the account's share of the request budget
 *  is used up */
export const createReadWalletAssets =
  ({ ledgers }: { ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>> }): ReadWalletAssets =>
  async ({ network, address, accountId }, likely) => {
    const session = ledgers.get(network)?.session({ purpose: 'tenants', by: accountId });
    if (!session) throw unavailable('The wallet’s network is not watched.');
    try {
      return (await session.holdings(address, likely.slice(0, MOST_ASSETS))).balances;
    } catch (error) {
      if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer)
        throw unavailable('The ledger cannot be reached now: try again later.');
      throw error;
    }
  };

/** Amounts are stroops. */
interface PayerWay {
  asset: Asset;
  /** The account's balance, reserve included. */
  balance: bigint;
  cost: bigint;
}

/** The part of `PayerLedger` that finds ways to pay. */
interface PayerWays {
  /** The asset itself first, then, by code, held assets with a path to it. */
  waysOf(
    network: Network,
    account: string,
    due: Amount,
    visitor: string,
  ): Promise<{ state: 'known'; ways: PayerWay[] } | { state: 'no_account' } | NotNow>;
  /** The way from one asset: the remembered answer, which is used once, or a fresh one when that is
   *  old. Null when there is no way. */
  wayFrom(
    network: Network,
    account: string,
    asset: Asset,
    due: Amount,
    visitor: string,
  ): Promise<{ state: 'known'; way: Way | null } | NotNow>;
}

/** Older answers are replaced by fresh ones. */
export const FRESH_MS = 30_000;
/** Remembered answers; the oldest go first. */
const MOST_REMEMBERED = 1000;

type Ledger = Pick<NetworkLedger, 'session' | 'finders'>;

interface WaysDeps {
  ledgers: ReadonlyMap<Network, Ledger>;
  monotonic: Pick<MonotonicClock, 'nowMs'>;
}

export function createPayerWays({ ledgers, monotonic }: WaysDeps): PayerWays {
  const answers = new Map<string, { way: Way; atMs: number }>();
  const keyOf = (network: Network, account: string, asset: Asset, due: Amount) =>
    `${network} ${account} ${assetName(asset)} ${assetName(due.asset)} ${due.stroops}`;

  /** Used once: a second payment takes a fresh price. */
  function take(key: string): Way | null {
    const last = answers.get(key);
    answers.delete(key);
    return last && monotonic.nowMs() - last.atMs <= FRESH_MS ? last.way : null;
  }

  function remember(network: Network, account: string, due: Amount, ways: readonly Way[]): void {
    for (const way of ways) {
      const key = keyOf(network, account, way.asset, due);
      answers.delete(key);
      answers.set(key, { way, atMs: monotonic.nowMs() });
    }
    for (const oldest of answers.keys()) {
      if (answers.size <= MOST_REMEMBERED) break;
      answers.delete(oldest);
    }
  }

  return {
    waysOf: (network, account, due, visitor) =>
      askForPayer(ledgers.get(network), visitor, async (session, ledger) => {
        const found = await onFinder(session, ledger, async (finder) => {
          const { balances } = await finder.holdings(account, []);
          const others = sourcesAmong(balances, account, due.asset);
          const ways = await finder.waysTo(due, others);
          remember(network, account, due, ways);
          return { balances, ways };
        });
        const itself = due.asset.issuer === null ? [] : [due.asset];
        const { balances, ways } = found ?? { ...(await session.holdings(account, itself)), ways: [] };
        if (balances.length === 0) return { state: 'no_account' as const };
        const balanceOf = (asset: Asset) => balances.find((each) => sameAsset(each.asset, asset))?.stroops ?? 0n;
        const all = [{ asset: due.asset, cost: due.stroops }, ...[...ways].sort(byCode)];
        return {
          state: 'known' as const,
          ways: all.map(({ asset, cost }) => ({ asset, balance: balanceOf(asset), cost })),
        };
      }),

    async wayFrom(network, account, asset, due, visitor) {
      const told = take(keyOf(network, account, asset, due));
      if (told !== null) return { state: 'known', way: told };
      return await askForPayer(ledgers.get(network), visitor, async (session, ledger) => {
        const ways = await onFinder(session, ledger, (finder) => finder.waysTo(due, [asset]));
        if (ways === null && ledger.finders.length > 0) return { state: 'unavailable' as const };
        return { state: 'known' as const, way: ways?.[0] ?? null };
      });
    },
  };
}

const byCode = ({ asset: a }: { asset: Asset }, { asset: b }: { asset: Asset }): number =>
  assetName(a) < assetName(b) ? -1 : 1;

/** The assets to ask about: as many as one request takes, lumens and known assets first. */
function sourcesAmong(balances: readonly Holding[], account: string, asked: Asset): Asset[] {
  const rank = ({ code, issuer }: Asset) => (issuer === null ? 0 : knownAsset(code, issuer) ? 1 : 2);
  return balances
    .filter(({ asset, stroops, authorized }) => stroops > 0n && authorized && !sameAsset(asset, asked))
    .map(({ asset }) => asset)
    .filter(({ issuer }) => issuer !== account)
    .sort((a, b) => rank(a) - rank(b) || byCode({ asset: a }, { asset: b }))
    .slice(0, MOST_WAYS);
}

/** Tries the servers that see the market until one answers; null when none does. */
async function onFinder<T>(
  session: LedgerSession,
  { finders }: Ledger,
  work: (finder: LedgerSession) => Promise<T>,
): Promise<T | null> {
  for (const server of finders) {
    try {
      return await work(session.on(server));
    } catch (error) {
      const isAway = error instanceof LedgerUnavailable || error instanceof UnfitServer;
      if (!isAway || error instanceof BudgetUsedUp) throw error;
    }
  }
  return null;
}
