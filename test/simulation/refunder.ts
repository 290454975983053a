/** Merchants' refunds to customers of an exchange, to contracts and as issuers: identified by memo,
 *  or by a named transaction with either of its hashes; several payments in one transaction; also
 *  to the wrong customer. */
import type { Paid } from './chain.js';
import { CUSTOMERS, EXCHANGE } from './exchange.js';
import type { Doc } from './knowledge.js';
import { stroops } from './oracle/verdicts.js';
import type { Api } from './processes.js';
import { callerOf, type Run } from './run.js';

export interface Refunding {
  run: Run;
  payments: readonly Doc[];
  /** Calls the API. */
  act(what: string, call: (api: Api) => Promise<unknown>): Promise<void>;
}

/** Names a sent transaction, or sends a refund. */
export async function giveBack(refunding: Refunding): Promise<void> {
  const { run, payments } = refunding;
  const ofIssuers = payments.filter(({ assetIssuer, receiverAddress }) => assetIssuer === receiverAddress);
  const payment = run.random.pick(ofIssuers.length > 0 && run.random.chance(0.3) ? ofIssuers : payments);
  if (!payment) return;
  const sent = run.chain.sent.filter(({ receiver }) => receiver === payment.senderAddress);
  if (sent.length > 0 && run.random.chance(0.5)) await name(refunding, run.random.pick(sent));
  else send(run, payment, payments);
}

const isSamePayer = (a: Doc, b: Doc): boolean =>
  (['accountId', 'senderAddress', 'senderMuxedAddress', 'assetCode', 'assetIssuer'] as const).every(
    (field) => (a[field] ?? null) === (b[field] ?? null),
  );

async function name({ run, payments, act }: Refunding, sent: Paid): Promise<void> {
  const { random, known, chain } = run;
  const theirs = payments.filter(({ senderAddress }) => senderAddress === sent.receiver);
  const due = theirs.filter(({ senderMuxedAddress }) => (senderMuxedAddress ?? null) === sent.receiverMuxed);
  const payment = random.pick(random.chance(0.85) && due.length > 0 ? due : theirs);
  if (!payment) return;
  const inner = [...chain.outer].find(([, outer]) => outer === sent.transactionHash)?.[0];
  const transactionHash = inner && random.chance(0.5) ? inner : sent.transactionHash;
  const { _id: id, accountId } = payment;
  await act(`names a refund by ${transactionHash === inner ? 'its inner hash' : 'its hash'}`, async (api) => {
    await api.payments.addRefund(callerOf(accountId), { id, transactionHash });
    known.named.push({ payment, transactionHash: sent.transactionHash });
  });
}

/** Refunds one payment, or two of one payer in one transaction. */
function send({ random, known, chain, scheduler }: Run, payment: Doc, payments: readonly Doc[]): void {
  const { senderAddress: receiver, senderMuxedAddress, assetCode: code, assetIssuer: issuer } = payment;
  const isContract = receiver.startsWith('C');
  const other = random.pick(payments.filter((each) => each !== payment && isSamePayer(each, payment)));
  const together = other && !isContract && random.chance(0.5) ? [payment, other] : [payment];
  const wallet = known.wallets.get(payment.walletId)!;
  if (receiver === wallet.address) return;
  const paidFor = known.links.get(payment.paymentLinkId) ?? known.checkouts.get(payment.checkoutId);
  const memo =
    paidFor && random.chance(0.5)
      ? ({ type: 'text', text: `refund ${paidFor.memo}` } as const)
      : ({ type: 'none', text: null } as const);
  const own = receiver === EXCHANGE && senderMuxedAddress ? chain.idOf(senderMuxedAddress) : null;
  const receiverId = receiver === EXCHANGE && random.chance(0.15) ? random.pick(CUSTOMERS) : own;
  const isFeeBump = random.chance(0.4);
  for (const [index, { amount }] of together.entries()) {
    const whole = stroops(amount)!;
    chain.send({
      ...{ receiver, receiverId, from: wallet.address, asset: { code, issuer }, memo, isFeeBump },
      stroops: random.pick([whole, whole, whole, whole / 2n || 1n, whole + 1n]),
      shape: isContract ? 'toContract' : 'payment',
      isSameTransaction: index > 0,
    });
  }
  scheduler.log(
    `merchant: sends ${together.length} back to ${receiver.slice(0, 5)} ${receiverId} with memo ${memo.text}`,
  );
}
