/** Expires checkouts, once it is proven that they were not paid: when the ledger has been read beyond their end for their wallet.
 *
 *  A payment is stored in the transaction that moves the cursor past it. So whoever reads the cursor first and the checkout after it sees every
 *  payment that the cursor covers. Runs of several processes do no harm: of two that expire a checkout one finds it OPEN. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { isProvenUnpaid, type ReadState } from '../domain/checkout.js';
import { cursorId, FEED, gapFoundAt, shownCursor } from '../domain/coverage.js';
import type { Outbox } from '../events/outbox.js';
import type { CheckoutFacts } from '../resources/checkout.js';
import type { CheckoutDoc, CheckoutStore } from '../stores/checkouts.js';
import type { CursorStore } from '../stores/cursors.js';
import type { Database } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { NetworkStateStore } from '../stores/network-states.js';
import type { PaymentStore } from '../stores/payments.js';
import type { ProductDoc, ProductStore } from '../stores/products.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';

const BATCH = 200;
/** More batches than this are left for the next run. */
const MAX_BATCHES = 10;
const EXPIRED_AT_ONCE = 20;
/** A checkout whose ledgers are not read yet is looked at again after a tenth of the time since its end, within these. */
const MIN_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

/** Of a wallet that was deleted a moment ago. */
const UNREAD: ReadState = { readTo: null, gapFoundAt: null };

export interface CheckoutExpiryDeps {
  forAccount: ForAccount<'checkouts'>;
  checkouts: CheckoutStore;
  wallets: Pick<WalletStore, 'ofAllAccounts'>;
  products: Pick<ProductStore, 'ofAllAccounts'>;
  payments: Pick<PaymentStore, 'ofCheckout'>;
  cursors: Pick<CursorStore, 'byIds'>;
  networkStates: Pick<NetworkStateStore, 'all'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  clock: Clock;
  log: Logger;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}

export function createCheckoutExpiry(deps: CheckoutExpiryDeps) {
  const { forAccount, checkouts, wallets, products, payments, cursors, outbox, transaction } = deps;
  const { clock, log, eventsStored } = deps;

  /** First how far was read, then what was missing on the way: a gap is flagged before a cursor moves past it. */
  async function readStates(used: readonly WalletDoc[]): Promise<Map<string, ReadState>> {
    const ids = used.flatMap(({ network, address }) => [cursorId(network, address), cursorId(network, FEED)]);
    const cursorById = new Map((await cursors.byIds([...new Set(ids)])).map((cursor) => [cursor._id, cursor]));
    // A wallet that is not watched any more was read to its end, and what came after that pays nothing: whatever has closed counts as read. It has an OPEN
    // checkout when the request that made it died while the wallet was made inactive.
    const states = used.some(({ watching }) => !watching) ? await deps.networkStates.all() : [];
    const newest = new Map(states.map(({ _id, latestClosedAt }) => [_id, latestClosedAt]));
    const now = await wallets.ofAllAccounts(used.map(({ _id }) => _id));
    return new Map(
      now.map((wallet) => {
        const own = cursorById.get(cursorId(wallet.network, wallet.address));
        const feed = cursorById.get(cursorId(wallet.network, FEED));
        const shown = wallet.watchStarted ? (shownCursor(own, feed)?.shownClosedAt ?? null) : null;
        const readTo = wallet.watching ? shown : (newest.get(wallet.network) ?? null);
        return [wallet._id, { readTo, gapFoundAt: gapFoundAt(wallet.gap) }];
      }),
    );
  }

  /** In one transaction. @returns how many were still OPEN */
  function expire(proven: readonly CheckoutFacts[]): Promise<number> {
    return transaction(async (session) => {
      const factsById = new Map(proven.map((facts) => [facts.checkout._id, facts]));
      const outboxEvents = [];
      for (const checkout of await checkouts.expire([...factsById.keys()], clock.now(), session)) {
        const facts = factsById.get(checkout._id)!;
        const came = checkout.paymentCount > 0 ? await payments.ofCheckout(checkout, session) : [];
        outboxEvents.push(outbox.ofCheckout('checkout.expired', { ...facts, checkout }, came));
      }
      await outbox.publish(outboxEvents, session);
      return outboxEvents.length;
    });
  }

  async function expireAll(proven: readonly CheckoutFacts[]): Promise<void> {
    for (let from = 0; from < proven.length; from += EXPIRED_AT_ONCE) {
      const some = proven.slice(from, from + EXPIRED_AT_ONCE);
      try {
        await expire(some);
      } catch (error) {
        log.error({ err: error, checkouts: some.length }, 'checkouts not expired; trying again later');
        await lookAgain(some.map(({ checkout }) => checkout));
      }
    }
    if (proven.length > 0) eventsStored();
  }

  async function lookAgain(waiting: readonly CheckoutDoc[]): Promise<void> {
    const nowMs = clock.nowMs();
    await checkouts.checkExpiryAgain(
      waiting.map(({ _id, expiresAt }) => {
        const waitMs = Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, (nowMs - expiresAt.getTime()) / 10));
        return { id: _id, at: new Date(nowMs + waitMs) };
      }),
    );
  }

  async function runBatch(due: readonly CheckoutDoc[]): Promise<void> {
    const used = await wallets.ofAllAccounts([...new Set(due.map(({ walletId }) => walletId))]);
    // Before the checkouts are expired, never after.
    const readByWallet = await readStates(used);
    const sold = await products.ofAllAccounts([...new Set(due.flatMap(({ productId }) => productId ?? []))]);
    const walletById = new Map(used.map((wallet) => [wallet._id, wallet]));
    const productById = new Map<string, ProductDoc>(sold.map((product) => [product._id, product]));
    const proven: CheckoutFacts[] = [];
    const waiting: CheckoutDoc[] = [];
    const orphans = new Map<string, string[]>();
    for (const checkout of due) {
      const wallet = walletById.get(checkout.walletId);
      const product = productById.get(checkout.productId ?? '') ?? null;
      if (!wallet || (checkout.productId !== null && !product)) {
        const { accountId, _id } = checkout;
        orphans.set(accountId, [...(orphans.get(accountId) ?? []), _id]);
      } else if (isProvenUnpaid(checkout, readByWallet.get(wallet._id) ?? UNREAD))
        proven.push({ checkout, product, wallet });
      else waiting.push(checkout);
    }
    await lookAgain(waiting);
    await expireAll(proven);
    for (const [accountId, ids] of orphans) {
      await transaction((session) => forAccount(accountId).checkouts.removeUnpaid(ids, session));
    }
  }

  return {
    /** Looks at what is due. What several processes do at once, or after a crash again, is done once. @returns how many it looked at */
    async run(signal: AbortSignal): Promise<number> {
      let looked = 0;
      for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++) {
        const due = await checkouts.dueForExpiry(clock.now(), BATCH);
        if (due.length > 0) await runBatch(due);
        looked += due.length;
        if (due.length < BATCH) break;
      }
      return looked;
    },
  };
}
