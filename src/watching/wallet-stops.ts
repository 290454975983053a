/** Stops watching inactive wallets once their last window is shown to be read to its end. */
import type { Network } from '../../contracts/networks.js';
import { cursorId, FEED, isShownPast, type ReadTo, shownCursor, wasRead } from '../domain/coverage.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { Modes } from './mode.js';
import type { ReadOptions, StreamReader } from './stream-reader.js';
import type { WalletDoc, WalletStore } from './wallet-store.js';

const BATCH = 1000;
/** Quiet checks in one round. */
const CHECKS_PER_ROUND = 20;

interface EndedWallet {
  wallet: WalletDoc;
  cursor: CursorDoc | null;
  isDone: boolean;
}

/** Determines which inactive wallets are done. Pure. */
export function planStops(
  ended: readonly WalletDoc[],
  own: ReadonlyMap<string, CursorDoc>,
  feed: CursorDoc | null,
): EndedWallet[] {
  return ended.map((wallet) => {
    const cursor = shownCursor(own.get(cursorId(wallet.network, wallet.address)), feed) ?? null;
    const until = wallet.windows.at(-1)?.until;
    // Without a cursor it was never restarted, because nothing of its new window was unread.
    const isDone = cursor
      ? until && isShownPast(cursor, until)
      : wallet.windows.every((each) => wasRead(each, undefined, wallet.readTo));
    return { wallet, cursor, isDone: Boolean(isDone) };
  });
}

function readToOf({ windows }: WalletDoc, { shownLedger, shownClosedAt, readAt }: CursorDoc): ReadTo {
  const { at, ledger } = windows.at(-1)!.until!;
  return {
    ledger: Math.min(shownLedger, ledger ?? shownLedger),
    at: readAt,
    closedAt: at > shownClosedAt ? at : shownClosedAt,
  };
}

/** The streams past their wallet's end by claimed ledgers but not by shown ones. Pure. */
export function streamsToCheck(planned: readonly EndedWallet[]): CursorDoc[] {
  const streams = planned.flatMap(({ wallet, cursor, isDone }) => {
    const until = wallet.windows.at(-1)?.until;
    const seemsPast =
      until && cursor && isShownPast({ ...cursor, shownLedger: cursor.ledger, shownClosedAt: cursor.closedAt }, until);
    return !isDone && seemsPast ? [cursor] : [];
  });
  return [...new Map(streams.map((each) => [each._id, each])).values()].slice(0, CHECKS_PER_ROUND);
}

export function createWalletStops(deps: {
  network: Network;
  wallets: Pick<WalletStore, 'inactiveButWatching' | 'stopWatching'>;
  cursors: Pick<CursorStore, 'byId' | 'byIds'>;
  reader: Pick<StreamReader, 'quietCheck'>;
  modes: Pick<Modes, 'forgetUnwatched'>;
}) {
  const { network, wallets, cursors, reader, modes } = deps;
  /** The newest ledger when each stream was last checked: once per ledger is enough. */
  let checked = new Map<string, number>();

  async function plan(): Promise<{ planned: EndedWallet[]; own: CursorDoc[] }> {
    const ended = await wallets.inactiveButWatching(network, BATCH);
    if (ended.length === 0) return { planned: [], own: [] };
    const own = await cursors.byIds([...new Set(ended.map(({ address }) => cursorId(network, address)))]);
    const feed = await cursors.byId(cursorId(network, FEED));
    return { planned: planStops(ended, new Map(own.map((each) => [each._id, each])), feed), own };
  }

  async function check(
    options: Pick<ReadOptions, 'session' | 'tip'>,
    planned: readonly EndedWallet[],
  ): Promise<boolean> {
    const due = streamsToCheck(planned).filter(({ _id }) => checked.get(_id) !== options.tip.latestLedger);
    checked = new Map(due.map(({ _id }) => [_id, options.tip.latestLedger]));
    for (const stream of due) await reader.quietCheck(options, stream);
    return due.length > 0;
  }

  return {
    /** Ids of wallets that are read to their end: ledgers dropped from now on are no gap for them. */
    async done(): Promise<string[]> {
      return (await plan()).planned.filter(({ isDone }) => isDone).map(({ wallet }) => wallet._id);
    },

    /** @throws LedgerUnavailable */
    async stopAll(options: Pick<ReadOptions, 'session' | 'tip'>): Promise<void> {
      let { planned, own } = await plan();
      if (await check(options, planned)) ({ planned, own } = await plan());
      const done = planned.filter(({ isDone }) => isDone);
      for (const { wallet, cursor } of done) {
        await wallets.stopWatching(wallet._id, cursor ? readToOf(wallet, cursor) : wallet.readTo!);
      }
      const addresses = new Set(done.map(({ wallet }) => wallet.address));
      await modes.forgetUnwatched(own.filter(({ address }) => addresses.has(address!)));
    },
  };
}
