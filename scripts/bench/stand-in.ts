/** A stand-in for Horizon in a process of its own: payments that are made up but look real, ledgers at an uneven beat, and a count of requests.
 *
 *  Started with a JSON plan as its argument; prints its URL. `POST /control/add` puts a backlog into the next ledger, `GET /control` tells what came. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Memo } from '@stellar/stellar-sdk';
import { PAYER, payment, toid } from '../../test/helpers/horizon-records.js';
import { sequence } from './scope.js';

export interface Plan {
  passphrase: string;
  /** Mean and standard deviation of the time between ledgers; 0: only the backlog makes ledgers. */
  beatMs: number;
  spreadMs: number;
  /** In each ledger: to addresses that nobody watches, and to one of `addresses`, with `memo`. */
  noise: number;
  addresses: string[];
  memo: string;
}

export interface Told {
  requests: Record<string, number>;
  /** When ledgers became visible, ms since the epoch, and the transaction that pays one of ours in them. */
  ledgers: { sequence: number; atMs: number; hash: string | null }[];
}

const plan: Plan = JSON.parse(process.argv[2]!);
const FIRST = 1000;
const PER_LEDGER = 200;
const random = sequence(11);
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
const records: { toid: bigint; to: string; json: string }[] = [];
const told: Told = { requests: {}, ledgers: [{ sequence: FIRST, atMs: Date.now(), hash: null }] };
let closedAt = new Date();

const template = JSON.stringify(payment({ to: 'TO' }, { memo: Memo.text(plan.memo), ledger: FIRST }));
const { id, transaction_hash } = JSON.parse(template) as { id: string; transaction_hash: string };

function add(ledger: number, nth: number, to: string): string {
  const hash = (BigInt(ledger) * 1_000_000n + BigInt(nth)).toString(16).padStart(64, '0');
  const own = toid(ledger, nth + 1, 1);
  const json = template
    .replaceAll(transaction_hash, hash)
    .replaceAll(id, own)
    .replace('"TO"', JSON.stringify(to))
    .replace('2026-01-02T03:04:05Z', `${closedAt.toISOString().slice(0, 19)}Z`);
  records.push({ toid: BigInt(own), to, json });
  return hash;
}

function close(fill: (sequence: number) => string | null): void {
  closedAt = new Date();
  const sequence = told.ledgers.at(-1)!.sequence + 1;
  const hash = fill(sequence);
  told.ledgers.push({ sequence, atMs: Date.now(), hash });
}

function tick(): void {
  close((sequence) => {
    for (let n = 0; n < plan.noise; n++) add(sequence, n, PAYER);
    return plan.addresses.length === 0
      ? null
      : add(sequence, plan.noise, plan.addresses[Math.floor(random() * plan.addresses.length)]!);
  });
  setTimeout(tick, Math.max(500, plan.beatMs + normal() * plan.spreadMs));
}

const ledgerOf = (sequence: number) => ({
  sequence,
  hash: sequence.toString(16).padStart(64, '0'),
  closed_at: closedAt.toISOString(),
});

/** Records are in the order of their ids. */
function after(cursor: bigint): number {
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (records[middle]!.toid <= cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}

function answer(path: string, query: URLSearchParams, body: string): string | null {
  const account = /^\/accounts\/(G\w+)\/payments$/.exec(path)?.[1];
  const kind = path === '/' ? 'root' : account ? 'account' : path === '/payments' ? 'feed' : path.split('/')[1]!;
  if (kind !== 'control') told.requests[kind] = (told.requests[kind] ?? 0) + 1;
  const latest = told.ledgers.at(-1)!.sequence;
  if (path === '/control') return JSON.stringify(told);
  if (path === '/control/add') {
    const { count, to } = JSON.parse(body) as { count: number; to: string };
    for (let left = count; left > 0; left -= PER_LEDGER) {
      close((sequence) => {
        for (let n = 0; n < Math.min(left, PER_LEDGER); n++) add(sequence, n, to);
        return null;
      });
    }
    return '{}';
  }
  if (kind === 'root') {
    const { passphrase } = plan;
    return JSON.stringify({
      history_latest_ledger: latest,
      history_latest_ledger_closed_at: closedAt.toISOString(),
      history_elder_ledger: 1,
      network_passphrase: passphrase,
    });
  }
  if (kind === 'ledgers') return JSON.stringify(ledgerOf(Number(path.split('/')[2])));
  if (kind !== 'account' && kind !== 'feed') return null;
  const limit = Number(query.get('limit') ?? 10);
  const found: string[] = [];
  for (let at = after(BigInt(query.get('cursor') ?? '0')); at < records.length && found.length < limit; at++) {
    if (!account || records[at]!.to === account) found.push(records[at]!.json);
  }
  return `{"_links":{},"_embedded":{"records":[${found.join(',')}]}}`;
}

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const url = new URL(request.url!, 'http://stand-in');
    const json = answer(url.pathname, url.searchParams, body);
    response.writeHead(json === null ? 404 : 200, { 'content-type': 'application/hal+json' });
    response.end(json ?? '{"status":404}');
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  if (plan.beatMs > 0) setTimeout(tick, plan.beatMs);
});
process.on('disconnect', () => process.exit(0));
