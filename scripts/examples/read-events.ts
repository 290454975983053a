/** A consumer that never misses an event, without a webhook and without a public address. It reads
 *  by `sequence`, and stores its results together with the sequence, so that it can be killed at
 *  any moment: no event is missed or handled twice.
 *
 *  COLLECT_URL=http://127.0.0.1:3000 API_KEY=sk_… FILE=orders.jsonl npx tsx scripts/examples/read-events.ts */
import { fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { createClient } from '../../src/index.js'; // from 'stellar-collect-client' in your project

const { COLLECT_URL = 'http://127.0.0.1:3000', API_KEY, FILE = 'orders.jsonl' } = process.env;
const WAIT_SECONDS = 30;
const RETRY_MS = 2000;
const collect = createClient({ url: COLLECT_URL, apiKey: API_KEY! });

/** The file stands for your database, where you change the order and store the sequence in
 *  one transaction. */
const file = openSync(FILE, 'a+');

/** Removes a line that a kill left half written: its event was not handled. @returns the last
 *  handled sequence */
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
