/** Merchants who send back what is left of a payment first, name the transaction, and only then
 *  decide about the payment. */
import type { Doc } from './knowledge.js';
import { stroops } from './oracle/verdicts.js';
import type { Api } from './processes.js';
import { callerOf, type Run } from './run.js';

interface Deciding {
  run: Run;
  docs(collection: string): Promise<Doc[]>;
  /** Calls the API. */
  act(what: string, call: (api: Api) => Promise<unknown>): Promise<void>;
}

const leftOf = ({ amount, refundedAmount }: Doc): bigint => stroops(amount)! - stroops(refundedAmount ?? '0')!;

export async function decideAfterRefund(deciding: Deciding): Promise<void> {
  const { run, docs } = deciding;
  const { random, known, chain, scheduler } = run;
  const left = (await docs('payments')).filter((each) => leftOf(each) > 0n);
  const payment = random.pick(left.filter(({ status }) => status !== 'COMPLETED')) ?? random.pick(left);
  if (!payment) return;
  const { senderAddress: receiver, senderMuxedAddress, assetCode: code, assetIssuer: issuer } = payment;
  const from = known.wallets.get(payment.walletId)!.address;
  // Contracts and customers of an exchange have their refunds elsewhere.
  if (receiver === from || receiver.startsWith('C') || senderMuxedAddress) return;
  const paidFor = known.links.get(payment.paymentLinkId) ?? known.checkouts.get(payment.checkoutId);
  const [memo, isNamed] = [paidFor && random.chance(0.8) ? `refund ${paidFor.memo}` : null, random.chance(0.5)];
  const before = chain.sent.length;
  const amount = leftOf(payment);
  scheduler.log(`merchant: sends all ${amount} stroops of ${payment._id.slice(-6)} back with memo ${memo}`);
  chain.send({
    ...{ receiver, from, asset: { code, issuer }, stroops: amount, shape: 'payment' },
    memo: memo === null ? { type: 'none', text: null } : { type: 'text', text: memo },
  });
  await scheduler.sleep(random.between(2500, 9000), null);
  const sent = chain.sent
    .slice(before)
    .find((each) => each.sender === from && each.receiver === receiver && each.stroops === amount);
  if (sent && (memo === null || isNamed)) await name(deciding, payment, sent.transactionHash);
  if (random.chance(0.7)) await decide(deciding, payment);
}

/** What its memo booked elsewhere has to move to the payment, as far as it fits. */
async function name({ run, docs, act }: Deciding, { _id: id, accountId, ...payment }: Doc, transactionHash: string) {
  const { known, scheduler } = run;
  let isTaken = false;
  await act(`names all that was sent back: ${id.slice(-6)}`, async ({ payments }) => {
    await payments.addRefund(callerOf(accountId), { id, transactionHash });
    isTaken = true;
    known.named.push({ payment: { ...payment, _id: id, accountId }, transactionHash });
  });
  if (!isTaken) return;
  const after = (await docs('payments')).find(({ _id }) => _id === id)!;
  const elsewhere = (await docs('refunds')).filter(
    (each) =>
      each.accountId === accountId &&
      each.transactionHash === transactionHash &&
      each.targetId !== null &&
      each.paymentId !== null &&
      each.paymentId !== id,
  );
  if (elsewhere.length === 0 || leftOf(after) <= 0n) return;
  known.faults.push(`the refund ${transactionHash.slice(0, 6)} was named for ${id} and stays at another payment`);
  scheduler.log(`!!! ${known.faults.at(-1)}`);
}

async function decide({ run, docs, act }: Deciding, { _id: id, accountId }: Doc): Promise<void> {
  const { random, known } = run;
  const { status, checkoutId } = (await docs('payments')).find(({ _id }) => _id === id)!;
  const caller = callerOf(accountId);
  const own = <Each extends Doc>(of: ReadonlyMap<string, Each>) =>
    [...of].filter(([, each]) => each.accountId === accountId).map(([key]) => key);
  if (status === 'UNMATCHED') {
    const [links, checkouts] = [own(known.links), own(known.checkouts)];
    const ids = [
      ...links.map((paymentLinkId) => ({ paymentLinkId })),
      ...checkouts.map((each) => ({ checkoutId: each })),
    ];
    const to = random.pick(ids);
    if (to) await act('assigns what it sent back', ({ payments }) => payments.assign(caller, { id, ...to }));
  } else if (checkoutId && random.chance(0.7)) {
    await act('tries to accept a checkout with money sent back', ({ checkouts }) =>
      checkouts.accept(caller, { id: checkoutId }),
    );
  } else if (status !== 'COMPLETED') {
    known.accepted.add(id);
    await act('accepts what it sent back', ({ payments }) => payments.accept(caller, { id }));
  }
}
