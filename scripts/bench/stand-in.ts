/** A stand-in for Horizon in its own process: makes ledgers at an uneven beat, answers after the
 *  latency of the internet, and counts requests.
 *
 *  Takes a JSON plan as its argument; prints its URL. `POST /control/add` puts a backlog into the
 *  next ledgers, `GET /control` returns the counts. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PAYER } from '../../test/helpers/horizon-records.js';
import { type Closed, createLedgers, kindOf, nextBeatMs } from './ledgers.js';
import { sequence } from './random.js';

export interface Plan {
  passphrase: string;
  /** Mean and standard deviation of the time between ledgers; 0: only the backlog makes ledgers. */
  beatMs: number;
  spreadMs: number;
  /** Round-trip time. */
  wayMs: number;
  /** Payments in each ledger: to unwatched addresses, and to one of `addresses`, with `memo`. */
  noise: number;
  addresses: string[];
  memo: string;
}

export interface Told {
  requests: Record<string, number>;
  /** Ledgers that became visible with the beat. */
  ledgers: Closed[];
}

const plan: Plan = JSON.parse(process.argv[2]!);
const PER_LEDGER = 200;
const random = sequence(11);
const ledgers = createLedgers({ passphrase: plan.passphrase, memo: plan.memo, keep: 1_000_000 });
const told: Told = { requests: {}, ledgers: [] };

const pick = () => plan.addresses[Math.floor(random() * plan.addresses.length)];
const noise = Array.from({ length: plan.noise }, () => PAYER);

function tick(): void {
  const ours = pick();
  told.ledgers.push(ledgers.close(Date.now(), ours ? [...noise, ours] : noise, ours ? noise.length : null));
  setTimeout(tick, nextBeatMs(plan.beatMs, plan.spreadMs, random));
}

function control(path: string, body: string): string {
  if (path === '/control/add') {
    const { count, to } = JSON.parse(body) as { count: number; to: string };
    for (let left = count; left > 0; left -= PER_LEDGER) {
      ledgers.close(
        Date.now(),
        Array.from({ length: Math.min(left, PER_LEDGER) }, () => to),
      );
    }
  }
  return JSON.stringify(told);
}

const onTheWay = (then: () => void) => (plan.wayMs === 0 ? then() : void setTimeout(then, plan.wayMs / 2));

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url!, 'http://stand-in');
    const send = (json: string | null) => {
      response.writeHead(json === null ? 404 : 200, { 'content-type': 'application/hal+json' });
      response.end(json ?? '{"status":404}');
    };
    if (pathname.startsWith('/control')) return send(control(pathname, body));
    told.requests[kindOf(pathname)] = (told.requests[kindOf(pathname)] ?? 0) + 1;
    onTheWay(() => {
      const json = ledgers.answer(pathname, searchParams);
      onTheWay(() => send(json));
    });
  });
});
ledgers.close(Date.now(), []);
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  if (plan.beatMs > 0) setTimeout(tick, plan.beatMs);
});
process.on('disconnect', () => process.exit(0));
