/** Expires checkouts that are proven unpaid: their wallet's ledger has been read beyond their end,
 *  and no parked record may have paid them. By the same proof cancelled checkouts give back what
 *  they hold, once the ledger has been read beyond their cancellation.
 *
 *  By the transaction that moves the cursor past a record its payment is stored or parked, and a
 *  parked record stays until the transaction that stores its payment. Reading the cursor first,
 *  then parked records, then the checkout therefore sees every payment that the cursor covers.
 *  Several processes may run at once: of two that expire a checkout, one finds it OPEN. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { isReadToEnd, isWhole, type ReadState } from '../domain/checkout.js';
import { cursorId, FEED, gapFoundAt, isShownPast, type Reach, shownCursor } from '../domain/coverage.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { CheckoutDoc, CheckoutStore } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import type { CursorStore, NetworkStateStore, ParkedRecordStore, WalletDoc } from '../watching/index.js';
import { toCheckoutState, withState } from './checkout.js';
import { type CheckoutPayable, loadPayables, ofAllAccounts, type SystemPayables } from './payable.js';
import type { Settle } from './settle.js';

const BATCH = 200;
/** Batches in one run; the next run continues. */
const MAX_BATCHES = 10;
const AT_ONCE = 20;
/** A checkout whose ledgers are not read yet is checked again after a tenth of the time since its
 *  end or cancellation, within these bounds: thousands of them leave time for others. */
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

/** Read state of a wallet that was just deleted. */
const UNREAD: WalletState = { readTo: null, gapFoundAt: null, reach: null };
/** Clocks differ, and numbers of ledgers may decide within this time what counts: as far beyond a
 *  cancellation parked records may hold its money. */
const BEYOND_CANCELLATION_MS = 15_000;

interface WalletState extends ReadState {
  /** How far servers have shown its address; null before the first reading. `all`: it is watched no
   *  longer, and was read to its end. */
  reach: Reach | 'all' | null;
}

interface CheckoutExpiryDeps extends Pick<SystemPayables, 'products' | 'wallets'> {
  forAccount: ForAccount<'checkouts'>;
  checkouts: Pick<CheckoutStore, 'dueForExpiry' | 'checkExpiryAgain' | 'openOf' | 'giveBack' | 'update'> &
    Pick<CheckoutStore, 'dueForGivingBack' | 'checkGivingBackAgain' | 'stillHolding'>;
  cursors: Pick<CursorStore, 'byIds'>;
  networkStates: Pick<NetworkStateStore, 'all'>;
  parkedRecords: Pick<ParkedRecordStore, 'networksWithOpen' | 'mayHavePaid'>;
  settle: Settle;
  transaction: Database['transaction'];
  clock: Clock;
  log: Logger;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}

const expired = (checkout: CheckoutDoc, now: Date): CheckoutDoc =>
  withState(checkout, { ...toCheckoutState(checkout), status: 'EXPIRED' }, now);

export function createCheckoutExpiry(deps: CheckoutExpiryDeps) {
  const { checkouts, clock } = deps;

  return {
    /** Checks due checkouts. Safe in several processes at once, and to repeat after a crash.
     *  @returns how many were checked */
    async run(signal: AbortSignal): Promise<number> {
      const ended = await inBatches(
        () => checkouts.dueForExpiry(clock.now(), BATCH),
        (due) => expireProven(deps, due),
        signal,
      );
      const cancelled = await inBatches(
        () => checkouts.dueForGivingBack(clock.now(), BATCH),
        (due) => giveBackProven(deps, due),
        signal,
      );
      return ended + cancelled;
    },
  };
}

/** @returns how many checkouts all batches had */
async function inBatches(
  findDue: () => Promise<CheckoutDoc[]>,
  check: (due: readonly CheckoutDoc[]) => Promise<void>,
  signal: AbortSignal,
): Promise<number> {
  let checked = 0;
  for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++) {
    const due = await findDue();
    if (due.length > 0) await check(due);
    checked += due.length;
    if (due.length < BATCH) break;
  }
  return checked;
}

/** Read the cursors first, then the gaps: a gap is flagged before a cursor moves past it. */
async function readStates(deps: CheckoutExpiryDeps, used: readonly WalletDoc[]): Promise<Map<string, WalletState>> {
  const ids = used.flatMap(({ network, address }) => [cursorId(network, address), cursorId(network, FEED)]);
  const cursorById = new Map((await deps.cursors.byIds([...new Set(ids)])).map((cursor) => [cursor._id, cursor]));
  // An unwatched wallet was read to its end, and later payments count for nothing, so every closed
  // ledger counts as read. It has an OPEN checkout if the creating request died during the
  // wallet's deactivation.
  const states = used.some(({ watching }) => !watching) ? await deps.networkStates.all() : [];
  const newest = new Map(states.map(({ _id, latestClosedAt }) => [_id, latestClosedAt]));
  const asOfNow = await deps.wallets.ofAllAccounts(used.map(({ _id }) => _id));
  return new Map(
    asOfNow.map((wallet) => {
      const own = cursorById.get(cursorId(wallet.network, wallet.address));
      const feed = cursorById.get(cursorId(wallet.network, FEED));
      const shown = wallet.watchStarted ? (shownCursor(own, feed) ?? null) : null;
      const readTo = wallet.watching ? (shown?.shownClosedAt ?? null) : (newest.get(wallet.network) ?? null);
      const reach = wallet.watching ? shown : 'all';
      return [wallet._id, { readTo, gapFoundAt: gapFoundAt(wallet.gap), reach }];
    }),
  );
}

/** Those that are still OPEN, in one transaction. */
function expire(
  { transaction, clock, checkouts, settle }: CheckoutExpiryDeps,
  proven: readonly CheckoutPayable[],
): Promise<unknown> {
  return transaction(async (session) => {
    const payableById = new Map(proven.map((payable) => [payable.checkout._id, payable]));
    const now = clock.now();
    const open = await checkouts.openOf(
      proven.map(({ checkout }) => checkout),
      session,
    );
    const changes = open.map((checkout) => ({
      payable: { ...payableById.get(checkout._id)!, checkout: expired(checkout, now) },
      statusBefore: checkout.status,
      payments: [],
    }));
    await settle(changes, session);
  });
}

/** Some in a transaction: those of one that fails are looked at again later, and hold up
 *  no others. */
async function inTransactions<Proven>(
  { log }: CheckoutExpiryDeps,
  proven: readonly Proven[],
  act: (some: readonly Proven[]) => Promise<unknown>,
  later: (some: readonly Proven[]) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < proven.length; from += AT_ONCE) {
    const some = proven.slice(from, from + AT_ONCE);
    try {
      await act(some);
    } catch (error) {
      log.error({ err: error, checkouts: some.length }, 'checkouts not ended; trying again later');
      await later(some);
    }
  }
}

async function expireAll(deps: CheckoutExpiryDeps, proven: readonly CheckoutPayable[]): Promise<void> {
  const later = (some: readonly CheckoutPayable[]) =>
    lookAgain(
      deps,
      some.map(({ checkout }) => checkout),
    );
  await inTransactions(deps, proven, (some) => expire(deps, some), later);
  if (proven.length > 0) deps.eventsStored();
}

const lookAgain = ({ clock, checkouts }: CheckoutExpiryDeps, waiting: readonly CheckoutDoc[]): Promise<void> =>
  checkouts.checkExpiryAgain(waiting.map((checkout) => ({ checkout, at: againAt(checkout.expiresAt, clock.nowMs()) })));

/** @param since when the checkout ended */
const againAt = (since: Date, nowMs: number): Date =>
  new Date(nowMs + Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, (nowMs - since.getTime()) / 10)));

/** Whether a parked record may have paid it. @param withOpen networks with such records */
const mayBeParked = async (
  { parkedRecords }: CheckoutExpiryDeps,
  { checkout, wallet: { network, address } }: CheckoutPayable,
  { until, withOpen }: { until: Date; withOpen: ReadonlySet<Network> },
): Promise<boolean> =>
  withOpen.has(network) && parkedRecords.mayHavePaid({ network, address, from: checkout.createdAt, until });

/** How far the wallets are read, and then which networks have parked records: never the other
 *  way around. */
async function readBefore(deps: CheckoutExpiryDeps, payables: readonly CheckoutPayable[]) {
  const stateOf = await readStates(deps, [...new Set(payables.map(({ wallet }) => wallet))]);
  const withOpen = await deps.parkedRecords.networksWithOpen(new Set(payables.map(({ wallet }) => wallet.network)));
  return { stateOf, withOpen };
}

async function expireProven(deps: CheckoutExpiryDeps, due: readonly CheckoutDoc[]): Promise<void> {
  const payables = await loadPayables(ofAllAccounts(deps, due), due);
  // Before the checkouts are expired, never after.
  const { stateOf, withOpen } = await readBefore(deps, payables);
  const unpaid = new Set<CheckoutPayable>();
  for (const payable of payables) {
    const { checkout, wallet } = payable;
    const isRead = isReadToEnd(checkout, stateOf.get(wallet._id) ?? UNREAD);
    if (isRead && !(await mayBeParked(deps, payable, { until: checkout.expiresAt, withOpen }))) unpaid.add(payable);
  }
  await lookAgain(
    deps,
    payables.filter((payable) => !unpaid.has(payable)).map(({ checkout }) => checkout),
  );
  await expireAll(deps, [...unpaid]);
  const found = new Set(payables.map(({ checkout }) => checkout._id));
  await removeOrphans(
    deps,
    due.filter(({ _id }) => !found.has(_id)),
  );
}

/** Cancelled checkouts of which no money can have come before their cancellation give back what
 *  they hold. Money that came decides otherwise: the merchant accepts it, or sends it back. */
async function giveBackProven(deps: CheckoutExpiryDeps, held: readonly CheckoutDoc[]): Promise<void> {
  const { checkouts, clock } = deps;
  const payables = await loadPayables(ofAllAccounts(deps, held), held);
  const { stateOf, withOpen } = await readBefore(deps, payables);
  const proven = new Set<CheckoutDoc>();
  for (const payable of payables) {
    const { checkout, wallet } = payable;
    const { reach, gapFoundAt } = stateOf.get(wallet._id) ?? UNREAD;
    const from = checkout.cancelledFrom!;
    const isRead = (reach === 'all' || (reach !== null && isShownPast(reach, from))) && isWhole(checkout, gapFoundAt);
    const until = new Date(from.at.getTime() + BEYOND_CANCELLATION_MS);
    if (isRead && !(await mayBeParked(deps, payable, { until, withOpen }))) proven.add(checkout);
  }
  const later = (some: readonly CheckoutDoc[]) =>
    checkouts.checkGivingBackAgain(
      some.map((checkout) => ({ checkout, at: againAt(checkout.cancelledFrom!.at, clock.nowMs()) })),
    );
  await later(held.filter((checkout) => !proven.has(checkout)));
  await inTransactions(deps, [...proven], (some) => giveBack(deps, some), later);
}

function giveBack({ transaction, checkouts }: CheckoutExpiryDeps, proven: readonly CheckoutDoc[]): Promise<unknown> {
  return transaction(async (session) => {
    const given = await checkouts.giveBack(await checkouts.stillHolding(proven, session), session);
    await checkouts.update(
      given.map((checkout) => ({ ...checkout, giveBackAt: null })),
      session,
    );
  });
}

/** Checkouts whose product or wallet is gone, left by an interrupted deletion. */
async function removeOrphans(
  { transaction, forAccount }: CheckoutExpiryDeps,
  orphans: readonly CheckoutDoc[],
): Promise<void> {
  const idsOf = new Map<string, string[]>();
  for (const { accountId, _id } of orphans) idsOf.set(accountId, [...(idsOf.get(accountId) ?? []), _id]);
  for (const [accountId, ids] of idsOf)
    await transaction((session) => forAccount(accountId).checkouts.removeUnpaid(ids, session));
}
