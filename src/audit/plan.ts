/** Plans an audit before it reads: its servers and the ledgers it covers. */
import { type LedgerStamp, secondBefore } from '../domain/terms.js';
import type { LedgerSession, ServerTip } from '../ledger/network-ledger.js';

export interface AuditServers {
  movements: Required<ServerTip> & { tip: NonNullable<ServerTip['tip']> };
  /** Another server if possible; rather one without histories than the same. */
  balances: Pick<ServerTip, 'server' | 'hasHistories'>;
  /** One that keeps histories gives no answer. */
  isOneAway: boolean;
}

/** @returns `none_configured` when no server keeps histories, `away` when those that do give no answer */
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

/** The ledger after which a wallet's payments count, those of the second in which it was made among them.
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
 * Where an audit ends: with the newest ledger for which the balances are known and whose payments were read.
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
