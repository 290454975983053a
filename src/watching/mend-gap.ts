/** Mends gaps: reads the ledgers that a wallet missed from a source that still has them, and
 *  records their payments as usual. Interrupted at any moment, it resumes where it stopped. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { cursorId } from '../domain/coverage.js';
import { rateLimited } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { LeaseStore } from '../kit/leases.js';
import {
  type Asker,
  BudgetUsedUp,
  cursorAfter,
  type LedgerSession,
  type LedgerTip,
  LedgerUnavailable,
  ledgerOfCursor,
  type NetworkLedger,
  UnfitServer,
} from '../ledger/index.js';
import type { Recorder } from '../payments/index.js';
import type { CursorStore } from './cursors.js';
import type { GapDoc, GapStore } from './gap-store.js';
import { FARTHEST_BEHIND_LEDGERS, FARTHEST_BEHIND_MS } from './plan.js';
import { readRecords } from './reading.js';
import type { WalletDoc, WalletStore } from './wallet-store.js';

const PAGE_LIMIT = 200;
/** Page limit of one call; the next call continues. */
const MAX_PAGES = 50;
const LEASE_MS = 120_000;
/** How long to wait for budget for the request that confirms the pages read, so that they are
 *  not lost. */
const LAST_WAIT_MS = 30_000;

interface MendOptions {
  /** Replaces the configured sources. */
  source?: Pick<NetworkLedger, 'session'>;
  /** Set where the tenant, not the operator, named the source: records that cannot be understood
   *  are not parked, and fewer pages are read. */
  isForeign?: boolean;
  /** Called when a source with the missing ledgers is found, before anything is recorded. */
  onBegin?: () => Promise<void>;
}

/** `isCut`: the page limit was reached. `no_source`: no source has the ledgers. `away`: a source
 *  that may have them does not answer. `busy`: another call reads them. */
export type MendOutcome = { mended: number; open: number; isCut: boolean } | 'no_source' | 'away' | 'busy';

export interface MendDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  wallets: Pick<WalletStore, 'ofAllAccounts' | 'setGap'>;
  cursors: Pick<CursorStore, 'byId'>;
  gaps: GapStore;
  recorder: Pick<Recorder, 'record'>;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  transaction: Database['transaction'];
  processId: string;
  clock: Clock;
  log: Logger;
}

/** A source that has a gap. */
interface Holder {
  session: LedgerSession;
  tip: LedgerTip;
  /** Whether it still has this ledger. @throws LedgerUnavailable when it has not */
  keeps(ledger: number): Promise<boolean>;
}

export function createMendGaps(deps: MendDeps) {
  const { leases, processId, clock } = deps;

  /** @throws ApiError `rate_limited` when the account's share of the request budget is used up:
   *  pages read by then are kept */
  return async (wallet: WalletDoc, options: MendOptions = {}): Promise<MendOutcome> => {
    const lease = `mend:${wallet._id}`;
    const holder = `${processId}:${clock.randomBytes(8).toString('hex')}`;
    if (!(await leases.hold(lease, holder, LEASE_MS))) return 'busy';
    try {
      return await mendAll(deps, wallet, options);
    } finally {
      await leases.release(lease, holder);
    }
  };
}

/** Continues reading a gap. @returns whether its end was reached. @throws LedgerUnavailable */
async function read(
  deps: MendDeps,
  { session, tip, keeps }: Holder,
  wallet: WalletDoc,
  gap: GapDoc,
  pages: { left: number },
  isForeign: boolean,
) {
  const { clock, recorder, gaps } = deps;
  const { network, address } = wallet;
  const isOurs = async () => new Set([address]);
  const firstLedger = (gap.readTo ?? gap.fromLedger - 1) + 1;
  const hasRecords = await hasKeptRecords(deps, wallet, tip);
  const readPage = async (from: string) => {
    const page = await session.accountPayments(address, from, PAGE_LIMIT, { hasRecords });
    if (page.gone) throw new LedgerUnavailable('it no longer has the next records', 0);
    const within = page.records.filter(({ outcome }) => isUpTo(outcome.pagingToken, gap.toLedger));
    return { page, reading: await readRecords({ network, session, clock, isOurs, historyOf: address }, within) };
  };
  const begin = cursorAfter(firstLedger - 1);
  let cursor = begin;
  let usedUp: BudgetUsedUp | null = null;
  while (pages.left > 0) {
    pages.left -= 1;
    const read = await readPage(cursor).catch((error: unknown) => {
      if (!(error instanceof BudgetUsedUp)) throw error;
      return error;
    });
    if (read instanceof BudgetUsedUp) {
      usedUp = read;
      break;
    }
    const { page, reading } = read;
    if (isForeign && reading.parked.length > 0)
      throw new LedgerUnavailable('it has records that cannot be understood', 0);
    await recorder.record(network, { ...reading, only: wallet }, null);
    const end = page.cursor;
    if (end !== null && ledgerOfCursor(end) > gap.toLedger) return keeps(firstLedger);
    if (!page.full) {
      const isShown = (page.shownLedger ?? 0) >= gap.toLedger;
      if (isShown || (await isQuietTo({ session, tip, hasRecords }, wallet, gap, end ?? cursor)))
        return keeps(firstLedger);
      throw new LedgerUnavailable('it does not show the end of the gap', 0);
    }
    if (end === null || BigInt(end) <= BigInt(cursor)) throw new LedgerUnavailable('its page does not advance', 0);
    cursor = end;
  }
  // The last ledger may continue on the next page.
  if (cursor !== begin && (await keeps(firstLedger))) await gaps.noteRead(gap._id, ledgerOfCursor(cursor) - 1);
  if (usedUp) throw usedUp;
  return false;
}

/** Whether a server that keeps as much as the tip says must know the address. */
async function hasKeptRecords(
  { cursors }: MendDeps,
  { network, address }: WalletDoc,
  { oldestLedger }: LedgerTip,
): Promise<boolean> {
  const { recordLedger = null } = (await cursors.byId(cursorId(network, address))) ?? {};
  return recordLedger !== null && recordLedger >= oldestLedger;
}

/** Whether one answer shows that nothing came after the cursor up to the gap's end: behind a load
 *  balancer, the server of the last page may lag behind that of the tip. */
async function isQuietTo(
  { session, tip, hasRecords }: Pick<Holder, 'session' | 'tip'> & { hasRecords: boolean },
  { address }: WalletDoc,
  { toLedger, at }: GapDoc,
  cursor: string,
): Promise<boolean> {
  const { isQuiet, shownLedger } = await session.quietCheck(address, cursor, { hasRecords });
  if (shownLedger !== null) return isQuiet && shownLedger >= toLedger;
  // For an account without history some servers do not say how far they are; none lags this much.
  const isLongPast =
    tip.latestLedger - toLedger >= FARTHEST_BEHIND_LEDGERS &&
    tip.latestClosedAt.getTime() - at.getTime() >= FARTHEST_BEHIND_MS;
  return isQuiet && isLongPast;
}

/** If the server dropped ledgers during the reading, its pages lack them. */
async function keepsOn(
  { clock }: MendDeps,
  from: Pick<NetworkLedger, 'session'>,
  asker: Asker,
  server: string,
  ledger: number,
) {
  const [tooLong, done] = [new AbortController(), new AbortController()];
  void clock.sleep(LAST_WAIT_MS, done.signal).then(() => tooLong.abort());
  try {
    const { oldestLedger } = await from.session(asker, tooLong.signal).on(server).tip();
    if (oldestLedger > ledger) throw new LedgerUnavailable('it dropped the ledgers that were being read', 0);
    return true;
  } finally {
    done.abort();
  }
}

/** The source that has the whole gap, with a session of its own; null when none has. @throws
 *  LedgerUnavailable when one that may have it is away */
async function holderOf(
  deps: MendDeps,
  from: Pick<NetworkLedger, 'session'>,
  asker: Asker,
  gap: GapDoc,
): Promise<Holder | null> {
  const session = from.session(asker);
  const tips = await session.tips();
  const fromLedger = (gap.readTo ?? gap.fromLedger - 1) + 1;
  const holder = tips.find(({ tip }) => tip && tip.oldestLedger <= fromLedger && tip.latestLedger >= gap.toLedger);
  if (holder?.tip) {
    const { server, tip } = holder;
    return { session: session.on(server), tip, keeps: (ledger) => keepsOn(deps, from, asker, server, ledger) };
  }
  if (tips.some(({ tip }) => tip === null)) throw new LedgerUnavailable('a source does not answer', 0);
  return null;
}

async function close(
  { transaction, gaps, clock, wallets }: MendDeps,
  wallet: WalletDoc,
  gap: GapDoc,
): Promise<boolean> {
  return transaction(async (session) => {
    if (!(await gaps.mend(gap, clock.now(), session))) return false;
    const [now] = await wallets.ofAllAccounts([wallet._id], session);
    const since = now?.windows.at(-1)?.from.at;
    // Reactivating the wallet acknowledged the gap: it stays acknowledged.
    if (!now?.gap || !since) return true;
    const newest = await gaps.newestOf(wallet._id, since, session);
    const left = newest && {
      ...{ fromLedger: newest.fromLedger, toLedger: newest.toLedger, at: newest.at },
      // Never earlier than before: checkouts must not expire on a guess.
      ...(now.gap.lastAt ? { lastAt: now.gap.lastAt } : {}),
    };
    await wallets.setGap([wallet._id], left, session);
    return true;
  });
}

async function mendAll(
  deps: MendDeps,
  wallet: WalletDoc,
  { source, isForeign = false, onBegin }: MendOptions,
): Promise<MendOutcome> {
  const { gaps, ledgers, log } = deps;
  const open = await gaps.openOf(wallet._id);
  const from = source ?? ledgers.get(wallet.network);
  if (!from) return 'away';
  const asker: Asker = { purpose: 'tenants', by: wallet.accountId };
  const pages = { left: isForeign ? MAX_PAGES / 5 : MAX_PAGES };
  let [mended, had, away] = [0, 0, false];
  for (const gap of open) {
    try {
      const holder = await holderOf(deps, from, asker, gap);
      if (!holder) continue;
      if (had === 0) await onBegin?.();
      had += 1;
      if ((await read(deps, holder, wallet, gap, pages, isForeign)) && (await close(deps, wallet, gap))) mended += 1;
    } catch (error) {
      if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
      if (!(error instanceof LedgerUnavailable || error instanceof UnfitServer)) throw error;
      log.warn({ network: wallet.network, wallet: wallet._id, reason: error.message }, 'gap not mended');
      away = true;
    }
  }
  if (open.length > 0 && mended === 0 && had === 0) return away ? 'away' : 'no_source';
  return { mended, open: (await gaps.openOf(wallet._id)).length, isCut: pages.left === 0 };
}

const isUpTo = (pagingToken: string | null, ledger: number): boolean =>
  pagingToken === null || ledgerOfCursor(pagingToken) <= ledger;
