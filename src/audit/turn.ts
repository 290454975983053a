/** One turn of a running audit: takes the balances, reads a few pages of what moved them, and in
 *  the end holds the one against the other. Each step is saved before the next one, so that an
 *  audit may be cut off at any moment and goes on where it was, in whichever process. */

import type { Logger } from 'pino';
import { assetOf } from '../domain/asset.js';
import { closeBooks, isBalanced, MOST_BOOKED, netChange } from '../domain/books.js';
import type { Outbox } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import { type LedgerSession, LedgerUnavailable, type ServerTip, UnfitServer } from '../ledger/index.js';
import type { PaymentStore } from '../payments/index.js';
import { type NetworkStateStore, toWalletSummary, type WalletDoc, type WalletStore } from '../watching/index.js';
import { type AuditDoc, type AuditProgress, type AuditStore, toAuditAssets } from './audit-store.js';
import { createPageReaders, cursorsAfter, FROM_THE_FIRST, type PageReaders, rangeOf, readsOneByOne } from './pages.js';
import {
  chooseServers,
  endOf,
  firstLedgerOf,
  type HeldUp,
  hopeless,
  isHeldUp,
  isPatient,
  ListFailed,
  late,
  readBalances,
  type Save,
  STUCK_MS,
  Superseded,
  startOf,
  unaskedOf,
  waits,
} from './plan.js';
import { closingOf, type HealDeps, namedAsset, readAmounts, storeAmounts, storeRows } from './read.js';

/** More pages wait for the next turn, so that other audits have theirs. */
const PAGES_PER_TURN = 20;
/** Pages of operations that are read one by one take many requests each. */
const PAGES_ONE_BY_ONE = 2;
/** An audit fails when no difference shows twice in a row within this many readings. */
const MOST_READINGS = 5;

interface TurnDeps extends Omit<HealDeps, 'clock'> {
  audits: AuditStore;
  wallets: Pick<WalletStore, 'ofAllAccounts'>;
  payments: Pick<PaymentStore, 'ofOperations'>;
  networkStates: Pick<NetworkStateStore, 'byNetwork'>;
  outbox: Pick<Outbox, 'publish'>;
  transaction: Database['transaction'];
  /** How far the payments of a wallet were read; null before the first reading. */
  readToOf: (wallet: WalletDoc) => Promise<number | null>;
  clock: Clock;
  log: Logger;
}

/** The dependencies of a turn with what is made of them. */
interface TurnTools extends TurnDeps {
  save: Save;
  pages: PageReaders;
}

/** A turn's access to a network's ledger. */
export interface AuditLedger {
  /** The tips of all servers: recent ones, or with `isFresh` current ones. */
  tips: (isFresh: boolean) => Promise<readonly ServerTip[]>;
  on: (server: string) => LedgerSession;
  /** Time until the next check. */
  pauseMs: number;
  /** Wait before a difference is checked again. */
  recheckMs: number;
}

const pagesPerTurn = (progress: AuditProgress) => (readsOneByOne(progress) ? PAGES_ONE_BY_ONE : PAGES_PER_TURN);

const withListFailed = (progress: AuditProgress): AuditProgress => ({
  ...progress,
  listsFailed: (progress.listsFailed ?? 0) + 1,
});

export type TakeTurn = (audit: AuditDoc, ledger: AuditLedger, ended: AbortSignal) => Promise<void>;

export function createTakeTurn(deps: TurnDeps): TakeTurn {
  const saveStep = createSave(deps.audits);
  const tools: TurnTools = { ...deps, save: saveStep, pages: createPageReaders({ ...deps, save: saveStep }) };
  const { audits, wallets } = tools;

  return async (audit, ledger, ended) => {
    const [wallet] = await wallets.ofAllAccounts([audit.walletId]);
    if (!wallet) return audits.removeOf(audit.walletId);
    let current = audit;
    try {
      const heldUp = await steps(tools, audit, wallet, ledger, (at) => {
        current = at;
      });
      if (heldUp && !ended.aborted) await holdUp(tools, current, heldUp, ledger);
    } catch (error) {
      if (error instanceof Superseded || ended.aborted) return;
      await breakOff(tools, current, error, ledger);
    } finally {
      await audits.prune(audit.walletId);
    }
  };
}

/** Takes the balances, and settles where the audit begins. */
async function takeBalances(
  { networkStates, audits, clock, save }: TurnTools,
  audit: AuditDoc,
  wallet: WalletDoc,
  ledger: AuditLedger,
): Promise<AuditDoc | HeldUp> {
  const state = await networkStates.byNetwork(wallet.network);
  // Read first: resets are detected late.
  const resetAt = state?.resetAt ?? null;
  const last = await audits.lastEnded(wallet._id, resetAt);
  const tips = await ledger.tips(audit.seen.length > 0 || Boolean(audit.lateSince));
  const servers = chooseServers(tips, last?.toLedger ?? 0);
  if (servers === 'none_configured')
    return hopeless('No Horizon is configured for this network, and Stellar RPC shows no histories of accounts.');
  if (servers === 'away') return waits('No Horizon answers.');
  const { movements } = servers;
  const { latestLedger } = movements.tip;
  const { from } = wallet.windows[0]!;
  const firstLedger = last ? 0 : await firstLedgerOf(from, ledger.on(movements.server), latestLedger);
  const start = startOf(last?.toLedger ?? null, firstLedger, movements.tip);
  if (!start) return waits('The Horizon that answers is behind the last audit.');
  const isCutShort = start.fromLedger > (last?.toLedger ?? firstLedger);
  if (isCutShort && servers.isOneAway && isPatient(audit, clock))
    return late(
      `The Horizon that answers begins with ledger ${start.fromLedger + 1}, and another one that may keep more does not answer.`,
    );
  const { held, balanceSource, asked } = await readBalances(ledger.on, wallet.address, servers, {
    before: last && { held: closingOf(last.assets), ledger: last.toLedger! },
    moved: (audit.moved ?? []).map(assetOf),
  });
  if (held.balances.length > MOST_BOOKED) return hopeless('The ledger shows more assets than an account can hold.');
  // A balance from before the audited range is no closing balance.
  if ((held.latestLedger ?? start.fromLedger) < start.fromLedger)
    return waits(`${balanceSource} is behind ledger ${start.fromLedger}, with which the audit begins.`);
  const opening = last && start.openingSource === 'PREVIOUS_AUDIT' ? closingOf(last.assets) : null;
  const isQuiet =
    opening !== null &&
    !last?.isIssuer &&
    held.changedLedger > 0 &&
    held.changedLedger <= start.fromLedger &&
    isBalanced(closeBooks(new Map(), opening, held.balances));
  const after = cursorsAfter(start.fromLedger);
  const readsAll = start.openingSource === 'HISTORY';
  const progress: AuditProgress = {
    changedLedger: held.changedLedger,
    knownLedger: Math.max(held.latestLedger ?? 0, held.changedLedger),
    closing: storeAmounts(held.balances),
    asked,
    opening: opening && storeAmounts(opening),
    ...{ before: [], books: [], pagesBefore: 0, firstLedger: null, unknownKind: null, isQuiet },
    ...(last?.isIssuer ? { isIssuer: true } : {}),
    // Balances have not changed since the last audit, so there is nothing to read.
    ...(isQuiet ? { effectsCursor: null, feesCursor: null } : readsAll ? FROM_THE_FIRST : after),
  };
  const { fromLedger, openingSource } = start;
  return save(audit, {
    ...{ fromLedger, openingSource, toLedger: null, resetAt, progress },
    ...{ balanceSource, movementSource: movements.server },
  });
}

/** Fixes the audit's end, once the watcher has reached it. */
async function settleEnd(
  { readToOf, save }: TurnTools,
  audit: AuditDoc,
  wallet: WalletDoc,
  ledger: AuditLedger,
): Promise<AuditDoc | HeldUp> {
  const { changedLedger, knownLedger } = audit.progress!;
  const readTo = wallet.watching ? ((await readToOf(wallet)) ?? 0) : null;
  const toLedger = endOf({ fromLedger: audit.fromLedger!, changedLedger, knownLedger }, readTo);
  if (toLedger === null) return waits(`Payments have not been read up to ledger ${changedLedger} yet.`);
  if (audit.openingSource === 'COMPUTED_BACK') {
    const { oldestLedger } = await ledger.on(audit.movementSource!).tip();
    if (oldestLedger > audit.fromLedger! + 1) {
      const fromLedger = Math.min(oldestLedger - 1, toLedger);
      return save(audit, { fromLedger, toLedger, progress: { ...audit.progress!, ...cursorsAfter(fromLedger) } });
    }
  }
  return save(audit, { toLedger });
}

/** Starts the audit over with fresh balances. @param seen why */
async function readAgain(
  { clock, save }: TurnTools,
  audit: AuditDoc,
  ledger: AuditLedger,
  seen: string,
  changes: Pick<AuditDoc, 'moved'> = {},
): Promise<HeldUp | null> {
  if (audit.seen.length >= MOST_READINGS) return hopeless('Balances and movements do not settle.');
  const turnAt = new Date(clock.nowMs() + ledger.recheckMs);
  await save(audit, { ...changes, progress: null, turnAt, seen: [...audit.seen, seen] });
  return null;
}

/** Lists silently begin with the oldest ledger that is kept, so dropped ledgers show only in the
 *  server's tip. @returns the oldest ledger that is kept, where that is too late; else null */
async function keptFrom({ openingSource, fromLedger, movementSource, progress }: AuditDoc, ledger: AuditLedger) {
  const { isQuiet, firstLedger } = progress!;
  if (isQuiet) return null;
  const { oldestLedger } = await ledger.on(movementSource!).tip();
  const begin = openingSource === 'HISTORY' && firstLedger !== null ? firstLedger : fromLedger! + 1;
  return oldestLedger > begin ? oldestLedger : null;
}

/** Fields of every ended audit. */
async function endNow({ pages, clock }: TurnTools, audit: AuditDoc): Promise<Partial<AuditDoc>> {
  const { missingPayments } = await pages.countHealed(audit);
  const { isIssuer } = audit.progress ?? {};
  const ended = { progress: null, turnAt: null, finishedAt: clock.now(), missingPayments, healing: [] };
  return isIssuer ? { ...ended, isIssuer } : ended;
}

/** Compares balances with movements. A difference counts only when two readings in a row show it:
 *  one odd answer raises no alarm. */
async function conclude(
  tools: TurnTools,
  audit: AuditDoc,
  wallet: WalletDoc,
  ledger: AuditLedger,
): Promise<HeldUp | null> {
  const { save } = tools;
  const { closing, opening, unknownKind, knownLedger } = audit.progress!;
  const { before, books } = rangeOf(audit);
  const opened =
    audit.openingSource === 'HISTORY'
      ? [...before.values()].map(({ asset, sums }) => ({ asset, stroops: netChange(sums) }))
      : opening && readAmounts(opening);
  const rows = closeBooks(books, opened, readAmounts(closing));
  const kept = await keptFrom(audit, ledger);
  if (kept !== null) return readAgain(tools, audit, ledger, `dropped before ${kept}`);
  const unasked = unaskedOf(rows, audit.progress!.asked, audit.openingSource === 'COMPUTED_BACK');
  if (unasked.length > 0) {
    const moved = [...(audit.moved ?? []), ...unasked.map(namedAsset)];
    return readAgain(tools, audit, ledger, 'assets that no list had shown', { moved });
  }
  const assets = storeRows(rows);
  if (isBalanced(rows)) {
    const holes = await checkHoles(tools, audit, wallet);
    if (holes) return holes;
    await save(audit, { ...(await endNow(tools, audit)), assets, status: 'PROVEN' });
    return null;
  }
  if (unknownKind !== null)
    return hopeless(`The ledger shows effects of a kind that is not known here: ${unknownKind}.`);
  // The balance may predate the audited range.
  if (knownLedger < audit.fromLedger!) return readAgain(tools, audit, ledger, `a balance of ledger ${knownLedger}`);
  const shown = storeRows(rows.filter(({ difference }) => difference !== 0n))
    .map(({ assetCode, assetIssuer, difference }) => `${assetCode}:${assetIssuer}:${difference}`)
    .join(' ');
  if (audit.seen.at(-1) !== shown) return readAgain(tools, audit, ledger, shown);
  await endWithDifference(tools, audit, wallet, assets);
  return null;
}

/** Ends the audit and publishes its difference, in one transaction. */
async function endWithDifference(
  tools: TurnTools,
  audit: AuditDoc,
  wallet: WalletDoc,
  assets: AuditDoc['assets'],
): Promise<void> {
  const { audits, transaction, outbox, log } = tools;
  const end = await endNow(tools, audit);
  await transaction(async (session) => {
    if (!(await audits.save(audit, { ...end, assets, stuckSince: null, status: 'DIFFERENT' }, session)))
      throw new Superseded();
    const data = { wallet: toWalletSummary(wallet), assets: toAuditAssets(assets) };
    const { accountId, _id: occurrence } = audit;
    await outbox.publish([{ type: 'wallet.difference', accountId, data, occurrence }], session);
  });
  log.error({ network: wallet.network, wallet: wallet._id, audit: audit._id }, 'an audit found a difference');
  tools.eventsStored();
}

/** Parked and unreadable records may be payments that are not recorded, although the books
 *  balance. */
async function checkHoles(
  { pages, parkedRecords, clock }: TurnTools,
  audit: AuditDoc,
  { network, address }: WalletDoc,
): Promise<HeldUp | null> {
  const { parked = [], unread = 0, isIssuer = false } = audit.progress!;
  if (unread > 0) return hopeless(`Operations that credited this wallet cannot be read: ${unread}.`);
  const credited = await pages.stillOpen(parked);
  // No balance shows what came back to the issuer of an asset.
  const range = { after: audit.fromLedger!, upTo: audit.toLedger!, isIssuer };
  const returned = await parkedRecords.toIssuerIn(network, address, range);
  const open = new Set([...credited, ...returned]).size;
  if (open === 0) return null;
  const reason = `Records of the ledger that credited this wallet, or may have, are parked: ${open}.`;
  return isPatient(audit, clock) ? late(reason) : hopeless(reason);
}

async function fail(tools: TurnTools, audit: AuditDoc, reason: string): Promise<void> {
  await tools.audits.save(audit, { ...(await endNow(tools, audit)), stuckSince: null, status: 'FAILED', reason });
  tools.log.warn({ network: audit.network, wallet: audit.walletId, audit: audit._id, reason }, 'an audit failed');
}

/** Tries again later, and fails the audit after `STUCK_MS` without progress. */
async function wait(tools: TurnTools, audit: AuditDoc, reason: string, pauseMs: number): Promise<void> {
  const { clock, audits } = tools;
  const stuckSince = audit.stuckSince ?? clock.now();
  if (clock.nowMs() - stuckSince.getTime() > STUCK_MS) return fail(tools, audit, reason);
  const { progress } = audit;
  await audits.save(audit, { stuckSince, progress, turnAt: new Date(clock.nowMs() + pauseMs) });
}

async function waitForLate({ clock, audits }: TurnTools, audit: AuditDoc, pauseMs: number): Promise<void> {
  const turnAt = new Date(clock.nowMs() + pauseMs);
  await audits.save(audit, { stuckSince: null, lateSince: audit.lateSince ?? clock.now(), turnAt });
}

/** Ends or postpones an audit that cannot go on now. */
function holdUp(tools: TurnTools, audit: AuditDoc, { heldUp, reason }: HeldUp, ledger: AuditLedger): Promise<void> {
  if (heldUp === 'hopeless') return fail(tools, audit, reason);
  return heldUp === 'late' ? waitForLate(tools, audit, ledger.recheckMs) : wait(tools, audit, reason, ledger.pauseMs);
}

/** Postpones an audit whose step failed. */
async function breakOff(tools: TurnTools, audit: AuditDoc, error: unknown, ledger: AuditLedger): Promise<void> {
  if (error instanceof UnfitServer) return wait(tools, audit, error.message, ledger.pauseMs);
  if (error instanceof LedgerUnavailable) {
    const progress = error instanceof ListFailed ? withListFailed(audit.progress!) : audit.progress;
    return wait(tools, { ...audit, progress }, error.message, Math.max(ledger.pauseMs, error.retryAfterMs));
  }
  tools.log.error({ err: error, audit: audit._id }, 'an audit broke off; trying again');
  return wait(tools, audit, 'An internal error.', STUCK_MS / 4);
}

async function steps(
  tools: TurnTools,
  audit: AuditDoc,
  wallet: WalletDoc,
  ledger: AuditLedger,
  note: (at: AuditDoc) => void,
): Promise<HeldUp | null> {
  const { pages, save, clock } = tools;
  const begun = audit.progress ? audit : await takeBalances(tools, audit, wallet, ledger);
  if (isHeldUp(begun)) return begun;
  note(begun);
  const bounded = begun.toLedger === null ? await settleEnd(tools, begun, wallet, ledger) : begun;
  if (isHeldUp(bounded)) return bounded;
  note(bounded);
  let current = bounded;
  for (let read = 0; read < pagesPerTurn(current.progress!); read++) {
    const { effectsCursor, feesCursor } = current.progress!;
    if (effectsCursor === null && feesCursor === null) return conclude(tools, current, wallet, ledger);
    const readPage = effectsCursor === null ? pages.feesPage : pages.effectsPage;
    const next = await readPage(current, wallet, ledger.on(current.movementSource!));
    if (isHeldUp(next)) return next;
    note(next);
    current = next;
  }
  await save(current, { turnAt: clock.now() });
  return null;
}

/** @returns stores a step of an audit; throws Superseded when another process has stored
 *  one since */
const createSave =
  (audits: Pick<AuditStore, 'save'>): Save =>
  async (audit, changes) => {
    const all = { stuckSince: null, lateSince: null, ...changes };
    if (!(await audits.save(audit, all))) throw new Superseded();
    return { ...audit, ...all, revision: audit.revision + 1 };
  };
