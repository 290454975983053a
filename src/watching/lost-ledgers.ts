/** Ledgers that are lost: those that the source dropped before they were read, and those of before
 *  a reset. They become a gap only once every source has answered without them, or waiting for one
 *  that is away has gone on too long. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { cursorId, FEED } from '../domain/coverage.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { cursorAfter, type LedgerSession, type LedgerTip, type ServerTip } from '../ledger/index.js';
import type { PaymentLinkStore, ProductStore } from '../selling/index.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { FlagGap } from './gap-store.js';
import type { NetworkStateDoc, NetworkStateStore } from './network-states.js';
import type { ParkedRecordStore } from './parked-store.js';
import { checkReset, planGap } from './plan.js';
import type { WalletStore } from './wallet-store.js';

/** How long the tips of all sources are kept. */
const TIPS_FOR_MS = 30_000;

/** Where a stream goes on: with this session and its tip, from this cursor. Null when it has
 *  to wait. */
interface Continuation {
  session: LedgerSession;
  tip: LedgerTip;
  cursor: CursorDoc;
}

interface GapDeps {
  network: Network;
  flagGap: FlagGap;
  cursors: Pick<CursorStore, 'save'>;
  networkStates: NetworkStateStore;
  /** Ids of wallets that are read to their end and so miss nothing. */
  done: () => Promise<string[]>;
  clock: Clock;
  /** Ages the kept tips. Default the clock. */
  monotonic?: Pick<MonotonicClock, 'nowMs'>;
  log: Logger;
}

export function createGaps(deps: GapDeps) {
  const { network, flagGap, cursors, networkStates, done, clock, log } = deps;
  const tipsOf = createTipsOf(deps);
  const waited = createWaited(deps);

  async function passOver(cursor: CursorDoc, toLedger: number): Promise<CursorDoc> {
    const gap = { fromLedger: cursor.shownLedger + 1, toLedger, at: clock.now() };
    log.error({ network, stream: cursor._id, ...gap }, 'ledgers were missed that no source has any more');
    await flagGap(network, { gap, address: cursor.address, without: await done() });
    const after = cursorAfter(toLedger);
    const moved = {
      ...cursor,
      cursor: BigInt(cursor.cursor) > BigInt(after) ? cursor.cursor : after,
      ledger: Math.max(cursor.ledger, toLedger),
      shownLedger: toLedger,
      readAt: clock.now(),
    };
    await cursors.save([moved]);
    return moved;
  }

  return {
    /** The oldest ledger kept by any source that answers and has reached `ledger`. */
    async oldestKept(session: LedgerSession, tip: LedgerTip, ledger: number): Promise<number> {
      const tips = await tipsOf(session, tip);
      const having = tips.flatMap((each) => (each.tip && each.tip.latestLedger >= ledger ? [each.tip] : []));
      return Math.min(tip.oldestLedger, ...having.map(({ oldestLedger }) => oldestLedger));
    },

    /** Call when no stream waits any more. */
    async endWait(): Promise<void> {
      await networkStates.noteGapWait(network, null);
    },

    /** @returns how a stream goes on; null while a source that may have its ledgers is away.
     *  @throws LedgerUnavailable */
    async pass(session: LedgerSession, tip: LedgerTip, cursor: CursorDoc): Promise<Continuation | null> {
      const fromLedger = cursor.shownLedger + 1;
      if (fromLedger >= tip.oldestLedger) return { session, tip, cursor };
      const tips = await tipsOf(session, tip);
      let plan = planGap(fromLedger, tip, tips, 0);
      if (plan.kind === 'wait') {
        plan = planGap(fromLedger, tip, tips, await waited());
      }
      switch (plan.kind) {
        case 'none':
          return { session, tip, cursor };
        case 'wait':
          log.warn(
            { network, stream: cursor._id, fromLedger, servers: plan.servers },
            'waiting for a source that may have dropped ledgers',
          );
          return null;
        case 'read_elsewhere': {
          const other = session.on(plan.server);
          return { session: other, tip: await other.tip(), cursor };
        }
        case 'gap':
          return { session, tip, cursor: await passOver(cursor, plan.toLedger) };
      }
    },
  };
}

/** @returns what all sources say of themselves; the session's own server with its present tip,
 *  because it may have dropped more since it was asked last */
function createTipsOf({ clock, monotonic = clock }: GapDeps) {
  let known: { tips: ServerTip[]; untilMs: number } = { tips: [], untilMs: 0 };
  return async (session: LedgerSession, tip: LedgerTip): Promise<ServerTip[]> => {
    const nowMs = monotonic.nowMs();
    if (known.untilMs <= nowMs) known = { tips: await session.tips(), untilMs: nowMs + TIPS_FOR_MS };
    return known.tips.map((each) => (each.server === session.server ? { ...each, tip } : each));
  };
}

/** @returns how many milliseconds a gap has waited; the wait begins now where none did. A clock
 *  that is set forward does not prolong it. */
function createWaited({ network, networkStates, clock, monotonic = clock }: GapDeps) {
  /** The wait as this process first saw it. */
  let wait: { since: number; waitedMs: number; seenAtMs: number } | null = null;
  return async (): Promise<number> => {
    const now = clock.now();
    const since = (await networkStates.byNetwork(network))?.gapWaitsSince ?? now;
    if (since === now) await networkStates.noteGapWait(network, now);
    const waitedMs = now.getTime() - since.getTime();
    const nowMs = monotonic.nowMs();
    if (wait?.since !== since.getTime()) wait = { since: since.getTime(), waitedMs, seenAtMs: nowMs };
    return Math.min(waitedMs, wait.waitedMs + nowMs - wait.seenAtMs);
  };
}

// Resets of a test network: the old ledgers are lost, and watching continues from the newest one.

const BATCH = 1000;
const ANCHOR_EVERY_LEDGERS = 1000;

interface ResetDeps {
  network: Network;
  wallets: WalletStore;
  flagGap: FlagGap;
  products: Pick<ProductStore, 'forgetLedgers'>;
  paymentLinks: Pick<PaymentLinkStore, 'forgetLedgers'>;
  cursors: CursorStore;
  networkStates: NetworkStateStore;
  parkedRecords: Pick<ParkedRecordStore, 'lose'>;
  clock: Clock;
  log: Logger;
}

export function createResets(deps: ResetDeps) {
  return {
    happened: (session: LedgerSession, tip: LedgerTip, state: NetworkStateDoc | null) =>
      happened(deps, session, tip, state),
    startAnew: (tip: LedgerTip, state: NetworkStateDoc, latestSeen: NetworkStateDoc['latestSeen']) =>
      startAnew(deps, tip, state, latestSeen),
    keepAnchor: (session: LedgerSession, tip: LedgerTip, state: NetworkStateDoc | null) =>
      keepAnchor(deps, session, tip, state),
  };
}

const cursorAt = (
  { network, clock }: ResetDeps,
  address: string | null,
  { latestLedger, latestClosedAt }: LedgerTip,
): CursorDoc => ({
  _id: cursorId(network, address ?? FEED),
  network,
  address,
  cursor: cursorAfter(latestLedger),
  ledger: latestLedger,
  closedAt: latestClosedAt,
  readAt: clock.now(),
  shownLedger: latestLedger,
  shownClosedAt: latestClosedAt,
  fromLedger: address === null ? latestLedger : null,
  recordLedger: null,
});

/** @throws LedgerUnavailable */
async function happened(
  { clock }: ResetDeps,
  session: LedgerSession,
  tip: LedgerTip,
  state: NetworkStateDoc | null,
): Promise<boolean> {
  const check = checkReset(tip, state, clock.nowMs());
  if (check !== 'compare_hash') return check === 'reset';
  const anchor = state!.anchor!;
  const ledger = await session.ledger(anchor.ledger);
  // Below the anchor: the network was reset and has not reached it yet.
  if (ledger === null) return tip.latestLedger < anchor.ledger;
  return ledger !== 'gone' && ledger.hash !== anchor.hash;
}

/** Moves all cursors to the new network. Repeatable after a crash: the anchor is forgotten last.
 *  @returns the state of the new network */
async function startAnew(
  deps: ResetDeps,
  tip: LedgerTip,
  state: NetworkStateDoc,
  latestSeen: NetworkStateDoc['latestSeen'],
): Promise<NetworkStateDoc> {
  const { clock, log, network, flagGap, parkedRecords, wallets, paymentLinks, products, cursors, networkStates } = deps;
  const gap = { fromLedger: 1, toLedger: tip.latestLedger, at: clock.now() };
  log.error({ network, ledgerBefore: state.latestLedger, ledgerNow: tip.latestLedger }, 'the network was reset');
  await flagGap(network, { gap, address: null, without: [], lostSince: state.seenAt });
  // The gap covers parked records of the old network.
  await parkedRecords.lose(network, state.seenAt, { at: clock.now(), why: 'the network was reset' });
  // Ledger stamps hold numbers of the old network, too.
  const walletIds = await wallets.forgetLedgers(network);
  await paymentLinks.forgetLedgers(await products.forgetLedgers(walletIds));
  if (await cursors.byId(cursorId(network, FEED))) await cursors.save([cursorAt(deps, null, tip)]);
  for (let after: string | undefined; ; ) {
    const addresses = await wallets.watchedAddresses(network, { ...(after ? { after } : {}), limit: BATCH });
    if (addresses.length === 0) break;
    await cursors.save(addresses.map((address) => cursorAt(deps, address, tip)));
    after = addresses.at(-1);
  }
  const { latestLedger, latestClosedAt } = tip;
  const changes = { anchor: null, resetAt: latestClosedAt, latestLedger, latestClosedAt, latestSeen };
  await networkStates.save(network, changes);
  return { ...state, ...changes };
}

/** Stores the hash of a ledger from time to time. */
async function keepAnchor(
  { networkStates, network }: ResetDeps,
  session: LedgerSession,
  tip: LedgerTip,
  state: NetworkStateDoc | null,
): Promise<void> {
  if (state?.anchor && tip.latestLedger - state.anchor.ledger < ANCHOR_EVERY_LEDGERS) return;
  const ledger = await session.ledger(tip.latestLedger);
  if (ledger && ledger !== 'gone') {
    await networkStates.save(network, { anchor: { ledger: ledger.sequence, hash: ledger.hash } });
  }
}
