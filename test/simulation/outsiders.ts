/** Strangers who look at payment pages and begin to pay, far more often than their share of the
 *  request budget allows. */
import { NATIVE } from './accounts.js';
import { stroops } from './oracle/verdicts.js';
import { ADDRESSES, ISSUER, type Run } from './run.js';
import type { Supervisor } from './supervisor.js';

const VISITORS = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as const;
/** Leads to more views per hour than the largest of the small budgets has requests. */
const PAUSE_MS = { least: 500, most: 8000 };
/** Number of asset codes: each has its own answer, so that no answer is cached. */
const CODES = 36 ** 3;

/** Runs until the end of the run. Never returns. */
export async function visitPages(run: Run, supervisor: Supervisor): Promise<never> {
  const { random, scheduler } = run;
  for (;;) {
    await scheduler.sleep(random.between(PAUSE_MS.least, PAUSE_MS.most), null);
    const { process, destinationCheck, payerLedger } = await supervisor.openApi();
    const visitor = random.pick(VISITORS);
    const address = random.pick(ADDRESSES);
    const asset = { code: random.int(CODES).toString(36).toUpperCase().padStart(3, '0'), issuer: ISSUER };
    const look = random.chance(0.7)
      ? destinationCheck.to('LOCAL', address, asset, visitor)
      : payerLedger.sequenceOf('LOCAL', address, visitor);
    await Promise.race([look, process.death]).catch(() => undefined);
  }
}

/** A visitor's time before paying: mostly less than the lock. */
const THINKING_MS = { least: 200, most: 20_000 };

/** Visitors look at the page of a link or order, and pay its amount exactly, nearly, or in part.
 *  Runs until the end of the run. Never returns. */
export async function visitShops(run: Run, supervisor: Supervisor): Promise<never> {
  const { random, scheduler } = run;
  for (;;) {
    await scheduler.sleep(random.between(500, 4000), null);
    if (!run.isCalm) await visitShop(run, supervisor).catch(() => undefined);
  }
}

async function visitShop(run: Run, supervisor: Supervisor): Promise<void> {
  const { random, scheduler, known, rates, database } = run;
  const orders = [...known.checkouts.values()].slice(-3);
  const order = random.chance(0.5) ? random.pick(orders) : undefined;
  const [linkId, link] = order ? [null, null] : (random.pick([...known.links]) ?? [null, null]);
  const id = order?._id ?? linkId;
  if (!id) return;
  const stored = (await scheduler.hold(database.docs(order ? 'checkouts' : 'paymentLinks'))).find(
    ({ _id }) => _id === id,
  );
  const { process, pages } = await supervisor.openApi();
  const asks = order ? pages.checkoutBySlug(stored!.slug, VISITORS[0]) : pages.linkBySlug(stored!.slug, VISITORS[0]);
  const atMs = scheduler.nowMs();
  const page = await Promise.race([asks, process.death]);
  if (!page?.priced || page.product.price === null || (page.checkout && page.checkout.status !== 'OPEN')) return;
  const asked = stroops(page.product.price)!;
  // The shown amount may be of any moment while the page was made.
  if (asked <= 0n || scheduler.nowMs() - atMs > SHOWN_AT_ONCE_MS) return;
  rates.looks.push({ atMs, id, asked });
  scheduler.log(`a visitor is asked for ${asked} stroops by ${id.slice(-6)}`);
  const amount = random.pick([asked, asked, asked, asked - 1n, asked / 2n, asked + 1n, asked * 2n]);
  void pay(run, { memo: (order ?? link)!.memo as string, receiver: page.wallet.address, amount });
}

const SHOWN_AT_ONCE_MS = 2000;

async function pay(
  { scheduler, random, chain }: Run,
  { memo, receiver, amount }: { memo: string; receiver: string; amount: bigint },
) {
  await scheduler.sleep(random.between(THINKING_MS.least, THINKING_MS.most), null);
  if (amount > 0n)
    chain.send({ receiver, asset: NATIVE, stroops: amount, memo: { type: 'text', text: memo }, shape: 'payment' });
}
