/** A consumer that never misses an event, without a webhook and without a public address. It reads by `sequence`, and stores what it did together with
 *  how far it is, so that it may be killed at any moment: nothing is left out and nothing is done twice.
 *
 *  COLLECT_URL=http://127.0.0.1:3000 API_KEY=sk_… FILE=orders.jsonl npx tsx scripts/examples/read-events.ts */
import { fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { createClient } from '../../src/index.js'; // from 'stellar-collect' in your project

const { COLLECT_URL = 'http://127.0.0.1:3000', API_KEY, FILE = 'orders.jsonl' } = process.env;
const WAIT_SECONDS = 30;
const RETRY_MS = 2000;
const collect = createClient({ url: COLLECT_URL, apiKey: API_KEY! });

/** The file stands for your database: there, change the order and store the sequence in one transaction. */
const file = openSync(FILE, 'a+');

/** What a kill has left half written was not done. @returns the last sequence that was */
function recover(): number {
  const written = readFileSync(FILE);
  const whole = written.subarray(0, written.lastIndexOf('\n') + 1);
  truncateSync(FILE, whole.length);
  const last = whole.toString().trimEnd().split('\n').at(-1)!;
  return last === '' ? 0 : JSON.parse(last).sequence;
}

const next = (after: number) =>
  collect.events.list.query({ after, wait: WAIT_SECONDS, pageSize: 100 }).catch(async (error: Error) => {
    console.error(`${error.message}; trying again`);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    return { items: [] };
  });

let after = recover();
console.log(`reading on after ${after}`);
for (;;) {
  const { items } = await next(after);
  for (const { sequence, type, data } of items) {
    const paid = type === 'payment.completed' && 'payment' in data ? data.payment.id : null;
    writeSync(file, `${JSON.stringify({ sequence, type, paid })}\n`);
    after = sequence;
  }
  if (items.length > 0) fsyncSync(file);
}
