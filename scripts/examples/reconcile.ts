/** Compares your orders with the checkouts of the service, exactly: prints a line for each
 *  difference, and exits with 1 if there are any.
 *
 *  COLLECT_URL=http://127.0.0.1:3000 API_KEY=sk_… ORDERS=orders.jsonl FROM=2026-11-01 npx tsx scripts/examples/reconcile.ts
 *
 *  A line of ORDERS: {"reference":"order-1","assetCode":"XLM","amount":"25","shipped":true} */
import { readFileSync } from 'node:fs';
import type { Checkout } from '../../src/index.js'; // from 'stellar-collect' in your project

interface Order {
  reference: string;
  assetCode: string;
  amount: string;
  shipped: boolean;
}

const { COLLECT_URL = 'http://127.0.0.1:3000', API_KEY, ORDERS = 'orders.jsonl', FROM, TO } = process.env;

/** Amounts on Stellar have at most seven decimals, so they are exact as integers. */
function stroops(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(7, '0'));
}

/** All checkouts of the period in their current state. Throws when the answer is cut off. */
async function* checkouts(): AsyncGenerator<Checkout> {
  const query = new URLSearchParams({ format: 'jsonl' });
  if (FROM) query.set('createdFrom', FROM);
  if (TO) query.set('createdTo', TO);
  const url = `${COLLECT_URL}/api/v1/checkouts/export?${query}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${API_KEY}` } });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  let rest = '';
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Differences between an order and its checkout. */
function differences(order: Order, checkout: Checkout): string[] {
  const found: string[] = [];
  const { status, assetCode, amount, receivedAmount, excessAmount } = checkout;
  if (order.assetCode !== assetCode || stroops(order.amount) !== stroops(amount ?? '0'))
    found.push(`costs ${order.amount} ${order.assetCode} here and ${amount} ${assetCode} there`);
  if (order.shipped && status !== 'PAID')
    found.push(`shipped, but ${status} with ${receivedAmount} ${assetCode} received`);
  if (!order.shipped && status === 'PAID') found.push('paid, but not shipped');
  if (excessAmount !== null) found.push(`${excessAmount} ${assetCode} too much came`);
  return found.map((each) => `${order.reference}: ${each} (${checkout.id})`);
}

const written = readFileSync(ORDERS, 'utf8').split('\n');
const orders = new Map<string, Order>(
  written.filter((line) => line.trim() !== '').map((line) => [JSON.parse(line).reference, JSON.parse(line)]),
);
/** An order that was tried twice has two checkouts: the paid one counts. */
const best = new Map<string, Checkout>();
const found: string[] = [];
for await (const checkout of checkouts()) {
  const { id, reference, status, receivedAmount, assetCode } = checkout;
  if (reference === null || !orders.has(reference)) {
    if (receivedAmount !== '0')
      found.push(`${id}: ${receivedAmount} ${assetCode} came for ${reference}, no order of yours`);
    continue;
  }
  const other = best.get(reference);
  if (other?.status === 'PAID' && status === 'PAID') found.push(`${reference}: paid twice (${other.id}, ${id})`);
  if (other?.status !== 'PAID') best.set(reference, checkout);
}
for (const order of orders.values()) {
  const checkout = best.get(order.reference);
  if (checkout) found.push(...differences(order, checkout));
  else found.push(`${order.reference}: no checkout was made for it`);
}
for (const line of found) console.log(line);
if (found.length === 0) console.log(`nothing differs: ${orders.size} orders`);
process.exitCode = found.length === 0 ? 0 : 1;
