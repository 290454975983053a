/** Resets of a test network: the old ledgers are lost, and watching continues from the
 *  newest one. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { cursorId, FEED } from '../domain/coverage.js';
import type { Clock } from '../kit/clock.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import { cursorAfter } from '../ledger/records.js';
import type { LedgerTip } from '../ledger/source.js';
import type { PaymentLinkStore, ProductStore } from '../selling/index.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { FlagGap } from './gap-store.js';
import type { NetworkStateDoc, NetworkStateStore } from './network-states.js';
import type { ParkedRecordStore } from './parked-store.js';
import { checkReset } from './plan.js';
import type { WalletStore } from './wallet-store.js';

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
