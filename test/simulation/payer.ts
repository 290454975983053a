/** The payers, and the ledgers that close with their operations. */
import { memoIdOf } from '../../src/domain/memo.js';
import { NATIVE } from './accounts.js';
import type { Sending } from './chain.js';
import { drawPayer } from './exchange.js';
import { ACCOUNTS, ADDRESSES, ISSUER, type Run, STRANGER } from './run.js';

const STROOPS = [89_999_999, 90_000_000, 100_000_000, 100_000_001, 110_000_000, 1];
const CHECKOUT_STROOPS = [45_000_000, 60_000_000, 90_000_000, 100_000_000, 120_000_000, 1];
/** A little less than is asked. */
const SHORT_STROOPS = [95_000_000, 97_500_000, 94_999_999, 97_499_999];
const OTHER_SHAPES = ['claim', 'trade'] as const;
/** Time between ledgers that close in a group. */
const SWIFT_MS = 100;
const UNUSUAL_SHAPES = ['unjoined', 'create', 'merge', 'host', 'failed', 'self', 'unknown'] as const;

/** Closes ledgers until the run ends, with payments in the first of them. Never returns. */
export async function closeLedgers(run: Run): Promise<never> {
  const { random, scenario, scheduler, network } = run;
  const { outage } = scenario;
  const swift = run.hardships.swiftLedgers;
  const [shortestMs, longestMs] = swift?.everyMs ?? (run.hardships.rates ? [2000, 5500] : [800, 3000]);
  let isBulkPaid = run.hardships.crowd === null;
  for (let n = 0; n < scenario.ledgers; n++) {
    await scheduler.sleep(random.between(shortestMs, longestMs), null);
    network.isAway = outage !== null && n >= outage.from && n < outage.until;
    if (n === outage?.from) scheduler.log('Horizon is away');
    if (n === outage?.until) scheduler.log('Horizon is back');
    // A reset before the service has seen the network cannot be told from the network's beginning.
    const states = await scheduler.hold(run.database.docs('networkStates'));
    const isAnchored = states.some(({ anchor }) => anchor);
    for (let count = random.chance(0.15) ? 7 : random.int(4); count > 0; count--) pay(run);
    for (let left = swift?.atOnce ?? 1; left > 1; left--) {
      closeLedger(run);
      await scheduler.sleep(SWIFT_MS, null);
      if (random.chance(0.3)) pay(run);
    }
    if (!isBulkPaid && n >= scenario.ledgers / 2) isBulkPaid = payInBulk(run);
    const { isCalm, known } = run;
    if (!isCalm && scenario.reset && isAnchored && known.resetsMs.length === 0 && random.chance(0.25)) reset(run);
    else closeLedger(run);
    if (!isCalm && scenario.retention && random.chance(0.3)) {
      run.chain.retain(random.between(1, 4));
      scheduler.log(`Horizon keeps ledgers from ${run.chain.elder}`);
    }
  }
  for (;;) {
    await scheduler.sleep(swift ? SWIFT_MS : 1500, null);
    closeLedger(run);
  }
}

/** Closes ledgers without payments that are older than the run. */
export function closeOldLedgers({ chain, known, scheduler }: Run, count: number): void {
  for (let left = count; left > 0; left--) {
    const { sequence, closedMs } = chain.close(scheduler.nowMs() - left * 5000);
    known.ledgers.push({ chain: chain.number, sequence, closedMs });
  }
}

/** Draws for each transaction the part that clients cannot decode, and for a call whether it also
 *  pays a muxed contract. */
function drawFuture({ random, hardships }: Run): Pick<Sending, 'future' | 'isBeside'> {
  if (!hardships.future) return {};
  const isBeside = random.chance(0.5);
  return random.chance(hardships.future.share)
    ? { isBeside, future: random.pick(['envelope', 'events', 'both'] as const) }
    : { isBeside };
}

/** Opens, before the run, the accounts of the future wallets. */
export function openAccounts({ chain, known, random, scheduler }: Run): void {
  for (const receiver of ADDRESSES) {
    if (random.chance(0.2)) continue;
    const memo = { type: 'none', text: null } as const;
    chain.send({ receiver, asset: NATIVE, stroops: 1_000_000_000n, memo, shape: 'create' });
  }
  const { sequence, closedMs } = chain.close(scheduler.nowMs() - 20_000);
  known.ledgers.push({ chain: chain.number, sequence, closedMs });
}

export function closeLedger({ chain, known, scheduler }: Run): void {
  const { sequence, closedMs } = chain.close(scheduler.nowMs());
  known.ledgers.push({ chain: chain.number, sequence, closedMs });
  scheduler.log(`ledger ${sequence} closes`);
}

function reset({ chain, known, scheduler }: Run): void {
  known.resetsMs.push(Math.floor(scheduler.nowMs() / 1000) * 1000);
  const { sequence, closedMs } = chain.reset(scheduler.nowMs());
  scheduler.log('the network is reset');
  known.ledgers.push({ chain: chain.number, sequence, closedMs });
}

function pay(run: Run): void {
  const { random, known, chain, hardships } = run;
  if (hardships.decisions && random.chance(0.4) && payTwice(run)) return;
  if (hardships.checkouts && known.checkouts.size > 0 && random.chance(0.7)) {
    payCheckout(run);
    return;
  }
  const receivers = [...new Set([...known.wallets.values()].map(({ address }) => address))];
  if (receivers.length === 0) return;
  const memo = drawMemo({ random, known });
  const usdc = random.chance(0.3);
  const sending: Sending = {
    receiver: random.chance(0.1) ? STRANGER : random.pick(receivers),
    asset: usdc ? { code: 'USDC', issuer: ISSUER } : { code: 'XLM', issuer: null },
    stroops: BigInt(random.pick(hardships.orders && random.chance(0.3) ? SHORT_STROOPS : STROOPS)),
    memo,
    shape: random.chance(0.7) ? 'payment' : random.pick(UNUSUAL_SHAPES),
  };
  if (hardships.burns && random.chance(0.3)) sending.shape = 'burn';
  if (hardships.muxed && random.chance(0.3)) sending.shape = 'muxed';
  if (hardships.heavyPages) sending.isHeavy = random.chance(0.5);
  if (hardships.oldVersion) sending.isHidden = random.chance(0.3);
  if (hardships.audits && random.chance(0.2)) sending.shape = random.pick(OTHER_SHAPES);
  if (hardships.waysBack && random.chance(0.2)) sending.shape = 'burn';
  if (hardships.waysBack && sending.shape === 'payment') Object.assign(sending, drawPayer(random, true));
  // Contracts pay by calls, without a market.
  if (hardships.detours && sending.shape !== 'fromContract' && random.chance(0.15)) sending.shape = 'taken';
  if (hardships.detours && ['payment', 'failed'].includes(sending.shape)) sending.isDetour = random.chance(0.5);
  const isPlain = sending.shape === 'payment' && !sending.isDetour;
  if (hardships.burns && isPlain && random.chance(0.3)) sending.asset = { code: 'GIFT', issuer: sending.receiver };
  chain.send({ ...sending, ...drawOmitted(run, sending), ...drawFuture(run) });
}

const NEVER_OMITTED: readonly Sending['shape'][] = ['failed', 'self', 'unknown', 'burn', 'claim', 'trade', 'taken'];

function drawOmitted({ random, hardships, network }: Run, { shape }: Sending): Pick<Sending, 'omitted'> {
  if (!hardships.audits?.omits || NEVER_OMITTED.includes(shape) || network.urls('horizon').length === 0) return {};
  const draw = random.next();
  return draw < 0.15 ? { omitted: 'payments' } : draw < 0.2 ? { omitted: 'everywhere' } : {};
}

/** Pays a checkout, whatever its state: in full, in parts of one or several transactions, too much,
 *  in another asset, or to another wallet of the account. */
function payCheckout({ random, known, chain, hardships }: Run): void {
  const { accountId, walletId, memo, assetCode, assetIssuer } = random.pick([...known.checkouts.values()].slice(-4));
  const wallets = [...known.wallets].filter(([, wallet]) => wallet.accountId === accountId);
  const own = known.wallets.get(walletId)!;
  const receiver = random.chance(0.1) ? random.pick(wallets)[1].address : own.address;
  const isId = random.chance(0.2);
  const spelled: Sending['memo'] = isId ? { type: 'id', text: memoIdOf(memo) } : { type: 'text', text: memo };
  const asset = random.chance(0.1) ? { code: 'OTHER', issuer: ISSUER } : { code: assetCode, issuer: assetIssuer };
  const shape = random.chance(0.9) ? 'payment' : 'host';
  const payer = hardships.waysBack && shape === 'payment' ? drawPayer(random, false) : {};
  for (let part = 0; part === 0 || random.chance(0.4); part++) {
    const isShort = hardships.orders && random.chance(0.3);
    const stroops = BigInt(random.pick(isShort ? SHORT_STROOPS : CHECKOUT_STROOPS));
    const isDetour = hardships.detours !== null && shape === 'payment' && random.chance(0.5);
    chain.send({ receiver, asset, stroops, memo: spelled, shape, ...payer, isDetour, isSameTransaction: part > 0 });
  }
}

/** Pays a checkout or link in full, and the same again: at once, or some ledgers later. */
function payTwice({ random, known, chain, scheduler }: Run): boolean {
  const order = random.pick([...known.checkouts.values()].slice(-3));
  const link = random.pick([...known.links.values()]);
  const terms = known.products.get(link?.productId ?? '')?.terms.at(-1)?.value;
  const [due, asset] =
    order && random.chance(0.7)
      ? [order, { code: order.assetCode, issuer: order.assetIssuer }]
      : [link, { code: terms?.assetCode ?? 'XLM', issuer: terms?.assetIssuer ?? null }];
  if (!due) return false;
  const own = [...known.wallets].filter(([, { accountId }]) => accountId === due.accountId);
  const [, wallet] = own.find(([id]) => due === order && id === order.walletId) ?? random.pick(own);
  const paid = BigInt(random.pick([100_000_000, 100_000_000, 120_000_000]));
  const memo = { type: 'text', text: due.memo as string } as const;
  const send = () => chain.send({ receiver: wallet.address, asset, stroops: paid, memo, shape: 'payment' });
  send();
  if (random.chance(0.3)) send();
  else void scheduler.sleep(random.between(500, 6000), null).then(send);
  return true;
}

/** Pays one link many times in one transaction. */
function payInBulk({ random, known, chain, hardships, scheduler }: Run): boolean {
  const link = [...known.links.values()].find(({ accountId }) => accountId === ACCOUNTS[0]);
  const wallet = [...known.wallets.values()].find(({ accountId }) => accountId === link?.accountId);
  if (!link || !wallet) return false;
  const { payments } = hardships.crowd!;
  for (let n = 0; n < payments; n++) {
    const stroops = BigInt(random.pick(STROOPS));
    const memo = { type: 'text', text: link.memo } as const;
    const asset = { code: 'XLM', issuer: null };
    chain.send({ receiver: wallet.address, asset, stroops, memo, shape: 'payment', isSameTransaction: n > 0 });
  }
  scheduler.log(`a payer pays ${payments} times in one transaction`);
  return true;
}

function drawMemo({ random, known }: Pick<Run, 'random' | 'known'>): Sending['memo'] {
  const links = [...known.links.values()];
  const draw = random.next();
  if (draw < 0.1 || links.length === 0) return { type: 'none', text: null };
  if (draw < 0.15) return { type: 'id', text: '42' };
  if (draw < 0.25) return { type: 'text', text: 'hello' };
  if (random.chance(0.2)) return { type: 'text', text: ` ${random.pick(links).memo.toLowerCase()}` };
  return { type: 'text', text: random.pick(links).memo };
}
