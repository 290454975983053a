/** The payers, and the ledgers that close with what they send. */
import type { Sending } from './chain.js';
import { ISSUER, type Run, STRANGER } from './run.js';

const STROOPS = [89_999_999, 90_000_000, 100_000_000, 100_000_001, 110_000_000, 1];
const UNUSUAL_SHAPES = ['unjoined', 'create', 'merge', 'host', 'failed', 'self', 'unknown'] as const;

/** Closes ledgers until the run ends, with payments in the first of them. Never returns. */
export async function closeLedgers(run: Run): Promise<never> {
  const { random, scenario, scheduler, network } = run;
  const { outage } = scenario;
  for (let n = 0; n < scenario.ledgers; n++) {
    await scheduler.sleep(random.between(800, 3000), null);
    network.isAway = outage !== null && n >= outage.from && n < outage.until;
    if (n === outage?.from) scheduler.log('Horizon is away');
    if (n === outage?.until) scheduler.log('Horizon is back');
    // A reset before the network was ever looked at cannot be told from its beginning.
    const states = await scheduler.hold(run.database.docs('networkStates'));
    const isAnchored = states.some(({ anchor }) => anchor);
    for (let count = random.chance(0.15) ? 7 : random.int(4); count > 0; count--) pay(run);
    const { isCalm, known } = run;
    if (!isCalm && scenario.reset && isAnchored && known.resetsMs.length === 0 && random.chance(0.25)) reset(run);
    else closeLedger(run);
    if (!isCalm && scenario.retention && random.chance(0.3)) {
      run.chain.retain(random.between(1, 4));
      scheduler.log(`Horizon keeps ledgers from ${run.chain.elder}`);
    }
  }
  for (;;) {
    await scheduler.sleep(1500, null);
    closeLedger(run);
  }
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

function pay({ random, known, chain }: Run): void {
  const receivers = [...new Set([...known.wallets.values()].map(({ address }) => address))];
  if (receivers.length === 0) return;
  const memo = drawMemo({ random, known });
  const usdc = random.chance(0.3);
  chain.send({
    receiver: random.chance(0.1) ? STRANGER : random.pick(receivers),
    asset: usdc ? { code: 'USDC', issuer: ISSUER } : { code: 'XLM', issuer: null },
    stroops: BigInt(random.pick(STROOPS)),
    memo,
    shape: random.chance(0.7) ? 'payment' : random.pick(UNUSUAL_SHAPES),
  });
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
