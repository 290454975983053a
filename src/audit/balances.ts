/** An account's balances for an audit: from another server than its movements if possible, which may be unable to list them. */
import { type Asset, assetName, NATIVE } from '../domain/asset.js';
import type { Amount, BookRow } from '../domain/books.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import { type Holdings, MOST_ASSETS } from '../ledger/source.js';
import type { AuditServers } from './plan.js';

interface ReadBalances {
  held: Holdings;
  balanceSource: string;
  /** Names of the requested assets; null if the server lists all balances. */
  asked: string[] | null;
}

/** All but lumens. */
function assetsOf(amounts: readonly Pick<Amount, 'asset'>[]): Map<string, Asset> {
  const assets = new Map(amounts.map(({ asset }) => [assetName(asset), asset]));
  assets.delete(assetName(NATIVE));
  return assets;
}

/**
 * Where the other server cannot list what an account holds, it is asked for what was held before; and for what the first one lists besides, unless
 * nothing has changed: an account's own entry changes with each trustline.
 * @param before what the last audit ended with, and which ledger; null for a first audit
 * @param moved assets that an earlier reading found to have moved without being listed
 * @throws LedgerUnavailable
 */
export async function readBalances(
  on: (server: string) => Pick<LedgerSession, 'holdings'>,
  address: string,
  { movements, balances }: AuditServers,
  { before, moved }: { before: { held: readonly Amount[]; ledger: number } | null; moved: readonly Asset[] },
): Promise<ReadBalances> {
  const list = async (server: string): Promise<ReadBalances> => ({
    held: await on(server).holdings(address, []),
    ...{ balanceSource: server, asked: null },
  });
  const ask = async (assets: ReadonlyMap<string, Asset>): Promise<ReadBalances> => ({
    held: await on(balances.server).holdings(address, [...assets.values()]),
    ...{ balanceSource: balances.server, asked: [...assets.keys()] },
  });
  if (balances.hasHistories) return list(balances.server);
  const wanted = [...(before?.held ?? []), ...moved.map((asset) => ({ asset }))];
  const known = assetsOf(wanted);
  const first = before && known.size <= MOST_ASSETS ? await ask(known) : null;
  if (first && first.held.changedLedger > 0 && first.held.changedLedger <= before!.ledger) return first;
  const listed = await list(movements.server);
  const all = assetsOf([...listed.held.balances, ...wanted]);
  if (all.size > MOST_ASSETS) return listed;
  return first && all.size === known.size ? first : ask(all);
}

/** Assets that moved and whose balances were not asked for: a list may be of before they came. What is worked out back from nothing would look right,
 *  and what does not fit would look like a difference. */
export const unaskedOf = (
  rows: readonly BookRow[],
  asked: readonly string[] | null,
  isComputedBack: boolean,
): Asset[] =>
  rows
    .filter(({ asset, difference }) => {
      const isAsked = asked === null || asked.includes(assetName(asset)) || assetName(asset) === assetName(NATIVE);
      return !isAsked && (isComputedBack || difference !== 0n);
    })
    .map(({ asset }) => asset);
