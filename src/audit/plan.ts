/** Plans an audit before it reads: its servers, the ledgers it covers, and the balances it
 *  starts from. */
import { type Asset, assetName, NATIVE } from '../domain/asset.js';
import type { Amount, BookRow } from '../domain/books.js';
import { type LedgerStamp, secondBefore } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import { type Holdings, type LedgerSession, LedgerUnavailable, MOST_ASSETS, type ServerTip } from '../ledger/index.js';
import type { AuditDoc } from './audit-store.js';

// An account's balances for an audit: from another server than its movements if possible, which may
// be unable to list them.

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
 * Where the other server cannot list what an account holds, it is asked for what was held before;
 * and for what the first one lists besides, unless nothing has changed: an account's own entry
 * changes with each trustline.
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

/** Assets that moved and whose balances were not asked for: a list may be of before they came. What
 *  is worked out back from nothing would look right, and what does not fit would look like
 *  a difference. */
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

// What holds up an audit, and for how long.

/** Why an audit cannot go on now. `waits`: it has to wait. `late`: data may come late that it can
 *  do without in the end, of a server that is away, or of one that is behind. `hopeless`: it cannot
 *  reach a result. */
export interface HeldUp {
  heldUp: 'waits' | 'late' | 'hopeless';
  reason: string;
}

export const waits = (reason: string): HeldUp => ({ heldUp: 'waits', reason });
export const late = (reason: string): HeldUp => ({ heldUp: 'late', reason });
export const hopeless = (reason: string): HeldUp => ({ heldUp: 'hopeless', reason });

export const isHeldUp = <T>(step: T | HeldUp): step is HeldUp =>
  typeof step === 'object' && step !== null && 'heldUp' in step;

/** Another process saved a step: this one stops. */
export class Superseded extends Error {}

/** An audit without progress for this long has failed. */
export const STUCK_MS = 60_000;
/** How long an audit waits for data that it can do without: longer than the pause after a
 *  server's failure. */
const PATIENT_MS = 120_000;

export const isPatient = ({ lateSince }: Pick<AuditDoc, 'lateSince'>, clock: Clock): boolean =>
  !lateSince || clock.nowMs() - lateSince.getTime() < PATIENT_MS;

/** A list of the account could not be fetched. */
export class ListFailed extends LedgerUnavailable {}

/** Saves a step. @throws Superseded */
export type Save = (audit: AuditDoc, changes: Partial<AuditDoc>) => Promise<AuditDoc>;

interface AuditServers {
  movements: Required<ServerTip> & { tip: NonNullable<ServerTip['tip']> };
  /** Another server if possible; rather one without histories than the same. */
  balances: Pick<ServerTip, 'server' | 'hasHistories'>;
  /** One that keeps histories gives no answer. */
  isOneAway: boolean;
}

/** @returns `none_configured` when no server keeps histories, `away` when those that do give
 *  no answer */
export function chooseServers(
  tips: readonly ServerTip[],
  fromLedger: number,
): AuditServers | 'none_configured' | 'away' {
  const keepers = tips.filter(({ hasHistories }) => hasHistories);
  if (keepers.length === 0) return 'none_configured';
  const open = keepers.flatMap(({ tip, ...server }) => (tip ? [{ ...server, tip }] : []));
  const longest = open.toSorted((a, b) => a.tip.oldestLedger - b.tip.oldestLedger)[0];
  const movements = open.find(({ tip }) => tip.oldestLedger <= fromLedger + 1) ?? longest;
  if (!movements) return 'away';
  const isOther = ({ server, tip }: ServerTip) => server !== movements.server && tip !== null;
  const { server, hasHistories } = keepers.find(isOther) ?? tips.find(isOther) ?? movements;
  return { movements, balances: { server, hasHistories }, isOneAway: open.length < keepers.length };
}

/** The ledger after which a wallet's payments count, those of the second in which it was made
 *  among them.
 *  @throws LedgerUnavailable */
export async function firstLedgerOf(
  { at, ledger }: LedgerStamp,
  session: Pick<LedgerSession, 'ledgerAtOrBefore'>,
  latestLedger: number,
): Promise<number> {
  // A number beyond the newest ledger is from before a reset: its time counts.
  if (ledger !== null && ledger <= latestLedger) return ledger;
  return (await session.ledgerAtOrBefore(secondBefore(at)))?.sequence ?? 0;
}

interface RangeStart {
  /** Not included. */
  fromLedger: number;
  openingSource: 'HISTORY' | 'PREVIOUS_AUDIT' | 'COMPUTED_BACK';
}

/**
 * Where an audit begins: where the last one ended, else with the wallet's first ledger.
 * @param previous the ledger that the last one ended with; null when there is none
 * @param firstLedger of the wallet, not included
 * @returns null when the server has not reached that ledger
 */
export function startOf(
  previous: number | null,
  firstLedger: number,
  { oldestLedger, latestLedger }: { oldestLedger: number; latestLedger: number },
): RangeStart | null {
  const kept = oldestLedger - 1;
  if (previous !== null) {
    if (previous > latestLedger) return null;
    if (previous >= kept) return { fromLedger: previous, openingSource: 'PREVIOUS_AUDIT' };
    return { fromLedger: kept, openingSource: 'COMPUTED_BACK' };
  }
  return { fromLedger: Math.min(Math.max(firstLedger, kept), latestLedger), openingSource: 'HISTORY' };
}

/**
 * Where an audit ends: with the newest ledger for which the balances are known and whose payments
 * were read.
 * @param readTo how far the wallet's payments were read; null when they are no longer read
 * @returns null while the ledger in which the balances last changed has not been read
 */
export function endOf(
  { fromLedger, changedLedger, knownLedger }: { fromLedger: number; changedLedger: number; knownLedger: number },
  readTo: number | null,
): number | null {
  const read = readTo ?? Number.POSITIVE_INFINITY;
  if (changedLedger > read) return null;
  return Math.max(fromLedger, changedLedger, Math.min(knownLedger, read));
}
