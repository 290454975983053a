/** One turn of a running audit: takes the balances, reads a few pages of what moved them, and in the end holds the one against the other. Each step is
 *  saved before the next one, so that an audit may be cut off at any moment and goes on where it was, in whichever process. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { assetName, NATIVE } from '../domain/asset.js';
import { type Amount, closeBooks, isBalanced, netChange } from '../domain/books.js';
import type { LedgerStamp } from '../domain/terms.js';
import { isWatched } from '../domain/terms.js';
import type { Outbox } from '../events/outbox.js';
import { LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { LedgerSession, ServerTip } from '../ledger/network-ledger.js';
import { type Holdings, MOST_ASSETS } from '../ledger/source.js';
import { cursorAfter } from '../ledger/toid.js';
import { toAuditAssets } from '../resources/audit.js';
import { toWalletSummary } from '../resources/index.js';
import type { AuditDoc, AuditProgress, AuditStore } from '../stores/audits.js';
import type { Database } from '../stores/database.js';
import type { NetworkStateStore } from '../stores/network-states.js';
import type { PaymentStore } from '../stores/payments.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';
import { creditsIn, type HealDeps, heal } from './heal.js';
import { type AuditServers, chooseServers, endOf, startOf } from './plan.js';
import { type Range, readEffects, readFees } from './read.js';
import { closingOf, readAmounts, readBooks, storeAmounts, storeBooks, storeRows } from './stored.js';

/** Then others have their turn. */
const PAGES_PER_TURN = 20;
/** So much is read of what was before a first audit; beyond that its opening is worked out backwards. */
const PAGES_BEFORE = 50;
/** An audit that comes no further for so long has failed. */
const STUCK_MS = 60_000;
/** A difference that does not show twice in a row, in so many readings, is none that anybody can tell. */
const MOST_READINGS = 5;

export interface TurnDeps extends Omit<HealDeps, 'clock'> {
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

/** What a turn asks of a network's ledger. */
export interface AuditLedger {
  tips: () => Promise<readonly ServerTip[]>;
  on: (server: string) => LedgerSession;
  /** How soon the next look is worth it. */
  pauseMs: number;
  /** How long to wait before a difference is looked at again: until every server has what was read. */
  recheckMs: number;
}

const FROM_THE_FIRST = { effectsCursor: '0-0', feesCursor: '0' };
const cursorsAfter = (ledger: number) => {
  const cursor = cursorAfter(ledger);
  return { effectsCursor: `${cursor}-0`, feesCursor: cursor };
};

/** Another process saved a step: this one stops. */
class Superseded extends Error {}
/** The audit has to wait. */
class NotYet extends Error {}
/** Nobody can tell. */
class Hopeless extends Error {}

export type TakeTurn = (audit: AuditDoc, ledger: AuditLedger, ended: AbortSignal) => Promise<void>;

export function createTakeTurn(deps: TurnDeps): TakeTurn {
  const { audits, wallets, payments, networkStates, outbox, transaction, readToOf, clock, log } = deps;

  async function save(audit: AuditDoc, changes: Partial<AuditDoc>): Promise<AuditDoc> {
    const all = { stuckSince: null, ...changes };
    if (!(await audits.save(audit, all))) throw new Superseded();
    return { ...audit, ...all, revision: audit.revision + 1 };
  }

  async function firstLedgerOf({ windows }: WalletDoc, session: LedgerSession): Promise<number> {
    const { at, ledger }: LedgerStamp = windows[0]!.from;
    return ledger ?? (await session.ledgerAtOrBefore(at))?.sequence ?? 0;
  }

  /** Where the other server cannot list what an account holds, it is asked for what the first one lists and what was held before. */
  async function readBalances(
    { address }: WalletDoc,
    ledger: AuditLedger,
    { movements, balances }: AuditServers,
    before: readonly Amount[],
  ): Promise<{ held: Holdings; balanceSource: string }> {
    const lister = balances.hasHistories ? balances : movements;
    const listed = await ledger.on(lister.server).holdings(address, []);
    const assets = new Map([...listed.balances, ...before].map(({ asset }) => [assetName(asset), asset]));
    assets.delete(assetName(NATIVE));
    if (balances.hasHistories || assets.size > MOST_ASSETS) return { held: listed, balanceSource: lister.server };
    const held = await ledger.on(balances.server).holdings(address, [...assets.values()]);
    return { held, balanceSource: balances.server };
  }

  /** Takes the balances, and settles where the audit begins. */
  async function takeBalances(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger): Promise<AuditDoc> {
    const state = await networkStates.byNetwork(wallet.network);
    const last = await audits.lastEnded(wallet._id, state?.resetAt ?? null);
    const servers = chooseServers(await ledger.tips(), last?.toLedger ?? 0);
    if (servers === 'none_configured')
      throw new Hopeless('No Horizon is configured for this network, and Stellar RPC shows no histories of accounts.');
    if (servers === 'away') throw new NotYet('No Horizon answers.');
    const { movements } = servers;
    const firstLedger = last ? 0 : await firstLedgerOf(wallet, ledger.on(movements.server));
    const start = startOf(last?.toLedger ?? null, firstLedger, movements.tip);
    if (!start) throw new NotYet('The Horizon that answers is behind the last audit.');
    const { held, balanceSource } = await readBalances(wallet, ledger, servers, last ? closingOf(last.assets) : []);
    // What an account held before the audit begins is no closing balance.
    if ((held.latestLedger ?? start.fromLedger) < start.fromLedger)
      throw new NotYet(`${balanceSource} is behind ledger ${start.fromLedger}, with which the audit begins.`);
    const opening = last && start.openingSource === 'PREVIOUS_AUDIT' ? closingOf(last.assets) : null;
    const isQuiet =
      opening !== null &&
      held.changedLedger > 0 &&
      held.changedLedger <= start.fromLedger &&
      isBalanced(closeBooks(new Map(), opening, held.balances));
    const after = cursorsAfter(start.fromLedger);
    const readsAll = start.openingSource === 'HISTORY';
    const progress: AuditProgress = {
      changedLedger: held.changedLedger,
      knownLedger: Math.max(held.latestLedger ?? 0, held.changedLedger),
      closing: storeAmounts(held.balances),
      opening: opening && storeAmounts(opening),
      ...{ before: [], books: [], pagesBefore: 0, unknownKind: null, healing: null },
      // Nothing has changed since: there is nothing to read.
      ...(isQuiet ? { effectsCursor: null, feesCursor: null } : readsAll ? FROM_THE_FIRST : after),
    };
    const { fromLedger, openingSource } = start;
    return save(audit, {
      ...{ fromLedger, openingSource, toLedger: null, progress },
      ...{ balanceSource, movementSource: movements.server },
    });
  }

  /** Settles where the audit ends, once the watcher and the server have come that far. */
  async function settleEnd(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger): Promise<AuditDoc> {
    const { changedLedger, knownLedger, effectsCursor } = audit.progress!;
    const readTo = wallet.watching ? ((await readToOf(wallet)) ?? 0) : null;
    const toLedger = endOf({ fromLedger: audit.fromLedger!, changedLedger, knownLedger }, readTo);
    if (toLedger === null) throw new NotYet(`Payments have not been read up to ledger ${changedLedger} yet.`);
    if (effectsCursor !== null) {
      const { latestLedger, oldestLedger } = await ledger.on(audit.movementSource!).tip();
      if (latestLedger < toLedger) throw new NotYet(`The Horizon has not come to ledger ${toLedger} yet.`);
      if (audit.openingSource === 'COMPUTED_BACK' && oldestLedger > audit.fromLedger! + 1) {
        const fromLedger = Math.min(oldestLedger - 1, toLedger);
        return save(audit, { fromLedger, toLedger, progress: { ...audit.progress!, ...cursorsAfter(fromLedger) } });
      }
    }
    return save(audit, { toLedger });
  }

  function rangeOf({ fromLedger, toLedger, progress }: AuditDoc): Range {
    const { before, books } = progress!;
    return { fromLedger: fromLedger!, toLedger: toLedger!, before: readBooks(before), books: readBooks(books) };
  }

  /** What lies before the audit is not known as a whole. */
  const computedBack = (audit: AuditDoc): Promise<AuditDoc> => {
    const progress = { ...audit.progress!, ...cursorsAfter(audit.fromLedger!), before: [], books: [], healing: null };
    return save(audit, { openingSource: 'COMPUTED_BACK', progress });
  };

  async function readEffectsPage(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger): Promise<AuditDoc> {
    const progress = audit.progress!;
    const cursor = progress.effectsCursor!;
    const session = ledger.on(audit.movementSource!);
    const range = rangeOf(audit);
    const shouldBePaid: Parameters<typeof readEffects>[0]['shouldBePaid'] = (close) =>
      close.ledger > range.fromLedger && isWatched(wallet.windows, close);
    const reading = { history: session.history, session, payments, shouldBePaid };
    const read = await readEffects(reading, { walletId: wallet._id, address: wallet.address }, cursor, range);
    if (audit.openingSource === 'HISTORY') {
      const isFromBeginning = cursor !== '0-0' || (read.first?.isCreation ?? progress.closing.length === 0);
      const isLong = read.isBefore && progress.pagesBefore >= PAGES_BEFORE;
      if (!isFromBeginning || isLong) return computedBack(audit);
    }
    const credits = await creditsIn(deps, wallet, session, read.unpaid);
    const stored = await payments.ofOperations(wallet._id, [...new Set(credits.map(({ operationId }) => operationId))]);
    const known = new Set(stored.map((payment) => payment.operationId + payment.ledgerClosedAt.getTime()));
    const fresh = credits.filter(({ operationId, closedAt }) => !known.has(operationId + closedAt.getTime()));
    const wasCut = progress.healing?.cursor === cursor;
    const missing = wasCut ? progress.healing!.missing : fresh.length;
    let current = audit;
    if (missing > 0 && !wasCut)
      current = await save(audit, { progress: { ...progress, healing: { cursor, missing } } });
    if (credits.length > 0) await heal(deps, { network: wallet.network, wallet }, credits);
    return save(current, {
      missingPayments: current.missingPayments + missing,
      progress: {
        ...progress,
        ...{ before: storeBooks(range.before), books: storeBooks(range.books) },
        ...{ effectsCursor: read.cursor, healing: null },
        unknownKind: progress.unknownKind ?? read.unknownKind,
        pagesBefore: progress.pagesBefore + (read.isBefore ? 1 : 0),
      },
    });
  }

  async function readFeesPage(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger): Promise<AuditDoc> {
    const progress = audit.progress!;
    const range = rangeOf(audit);
    const { history } = ledger.on(audit.movementSource!);
    const read = await readFees(history, wallet.address, progress.feesCursor!, range);
    const pagesBefore = progress.pagesBefore + (read.isBefore ? 1 : 0);
    if (audit.openingSource === 'HISTORY' && pagesBefore > 2 * PAGES_BEFORE) return computedBack(audit);
    const books = { before: storeBooks(range.before), books: storeBooks(range.books) };
    return save(audit, { progress: { ...progress, ...books, pagesBefore, feesCursor: read.cursor } });
  }

  /** Takes the balances anew and reads everything once more. @param seen why */
  async function readAgain(audit: AuditDoc, ledger: AuditLedger, seen: string): Promise<void> {
    if (audit.seen.length >= MOST_READINGS) throw new Hopeless('Balances and movements do not settle.');
    const turnAt = new Date(clock.nowMs() + ledger.recheckMs);
    await save(audit, { progress: null, turnAt, seen: [...audit.seen, seen] });
  }

  /** Holds balances against movements. A difference has to show twice: servers behind one address may lag. */
  async function conclude(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger): Promise<void> {
    const { closing, opening, unknownKind } = audit.progress!;
    const { before, books } = rangeOf(audit);
    const opened =
      audit.openingSource === 'HISTORY'
        ? [...before.values()].map(({ asset, sums }) => ({ asset, stroops: netChange(sums) }))
        : opening && readAmounts(opening);
    const rows = closeBooks(books, opened, readAmounts(closing));
    const end = { progress: null, turnAt: null, finishedAt: clock.now(), assets: storeRows(rows) };
    // An opening that was worked out backwards fits whatever was read: nothing else tells that ledgers were dropped meanwhile.
    if (audit.openingSource === 'COMPUTED_BACK') {
      const { oldestLedger } = await ledger.on(audit.movementSource!).tip();
      if (oldestLedger > audit.fromLedger! + 1) return readAgain(audit, ledger, `dropped before ${oldestLedger}`);
    }
    if (isBalanced(rows)) {
      await save(audit, { ...end, status: 'PROVEN' });
      return;
    }
    if (unknownKind !== null)
      throw new Hopeless(`The ledger shows effects of a kind that is not known here: ${unknownKind}.`);
    const shown = storeRows(rows.filter(({ difference }) => difference !== 0n))
      .map(({ assetCode, assetIssuer, difference }) => `${assetCode}:${assetIssuer}:${difference}`)
      .join(' ');
    if (audit.seen.at(-1) !== shown) return readAgain(audit, ledger, shown);
    await transaction(async (session) => {
      if (!(await audits.save(audit, { ...end, stuckSince: null, status: 'DIFFERENT' }, session)))
        throw new Superseded();
      const data = { wallet: toWalletSummary(wallet), assets: toAuditAssets(end.assets) };
      const { accountId, _id: occurrence } = audit;
      await outbox.publish([{ type: 'wallet.difference', accountId, data, occurrence }], session);
    });
    log.error({ network: wallet.network, wallet: wallet._id, audit: audit._id }, 'an audit found a difference');
    deps.paymentsStored();
  }

  async function fail(audit: AuditDoc, reason: string): Promise<void> {
    const end = { progress: null, turnAt: null, finishedAt: clock.now(), stuckSince: null };
    await audits.save(audit, { ...end, status: 'FAILED', reason });
    log.warn({ network: audit.network, wallet: audit.walletId, audit: audit._id, reason }, 'an audit failed');
  }

  /** Tries again, unless it has come no further for too long. */
  async function wait(audit: AuditDoc, reason: string, pauseMs: number): Promise<void> {
    const stuckSince = audit.stuckSince ?? clock.now();
    if (clock.nowMs() - stuckSince.getTime() > STUCK_MS) return fail(audit, reason);
    await audits.save(audit, { stuckSince, turnAt: new Date(clock.nowMs() + pauseMs) });
  }

  async function steps(audit: AuditDoc, wallet: WalletDoc, ledger: AuditLedger, note: (at: AuditDoc) => void) {
    let current = audit.progress ? audit : await takeBalances(audit, wallet, ledger);
    note(current);
    if (current.toLedger === null) current = await settleEnd(current, wallet, ledger);
    note(current);
    for (let pages = 0; pages < PAGES_PER_TURN; pages++) {
      const { effectsCursor, feesCursor } = current.progress!;
      if (effectsCursor !== null) current = await readEffectsPage(current, wallet, ledger);
      else if (feesCursor !== null) current = await readFeesPage(current, wallet, ledger);
      else return conclude(current, wallet, ledger);
      note(current);
    }
    await save(current, { turnAt: clock.now() });
  }

  return async (audit, ledger, ended) => {
    const [wallet] = await wallets.ofAllAccounts([audit.walletId]);
    if (!wallet) return audits.removeOf(audit.walletId);
    let current = audit;
    try {
      await steps(audit, wallet, ledger, (at) => {
        current = at;
      });
    } catch (error) {
      if (error instanceof Superseded || ended.aborted) return;
      if (error instanceof Hopeless) await fail(current, error.message);
      else if (error instanceof NotYet) await wait(current, error.message, ledger.pauseMs);
      else if (error instanceof LedgerUnavailable)
        await wait(current, error.message, Math.max(ledger.pauseMs, error.retryAfterMs));
      else if (error instanceof UnfitServer) await wait(current, error.message, ledger.pauseMs);
      else {
        log.error({ err: error, audit: audit._id }, 'an audit broke off; trying again');
        await wait(current, 'An internal error.', STUCK_MS / 4);
      }
    } finally {
      await audits.prune(audit.walletId);
    }
  };
}
