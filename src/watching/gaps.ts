/** Ledgers that the source dropped before they were read. They become a gap only once every source
 *  has answered without them, or waiting for one that is away has gone on too long. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { LedgerSession, ServerTip } from '../ledger/network-ledger.js';
import { cursorAfter } from '../ledger/records.js';
import type { LedgerTip } from '../ledger/source.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { FlagGap } from './gap-store.js';
import type { NetworkStateStore } from './network-states.js';
import { planGap } from './plan.js';

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
