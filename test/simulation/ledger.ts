/** A network of the simulation: ledgers with payments, served as several Horizon bases would, each with its own lag, retention and faults. */
import { createHash } from 'node:crypto';
import type { Fetch } from '../../src/ledger/horizon/request.js';
import { NATIVE_TRIPLE, toid, USDC_TRIPLE } from '../helpers/horizon-records.js';
import type { Random } from './random.js';
import type { Process, World } from './world.js';

export const PASSPHRASE = 'Standalone Network ; February 2017';
type Json = Record<string, any>;
/** A network that begins anew has far fewer ledgers than it had. */
const firstLedger = (chain: number) => (chain === 0 ? 1003 : 3);

/** Money that came to an address, as the payer knows it. */
export interface Paid {
  operationId: string;
  changeIndex: number;
  transactionHash: string;
  chain: number;
  ledger: number;
  closedMs: number;
  receiver: string;
  asset: { code: string; issuer: string | null };
  stroops: bigint;
  memo: { type: 'none' | 'text' | 'id'; text: string | null };
}

interface Ledger {
  sequence: number;
  hash: string;
  closedMs: number;
  records: Json[];
}

export type Fault = 'none' | '429' | '503' | '504' | 'html' | 'cut' | 'hang' | 'reset-connection' | 'missing-join';

export interface BaseState {
  /** Probability of a fault per request while `faults` are on. */
  faultiness: number;
  /** Ledgers behind. */
  lag: number;
  /** Several servers behind one address: each request meets another lag, up to this. */
  unevenness: number;
  /** Duplicates records within pages. */
  stutters: boolean;
}

export type Network = ReturnType<typeof createNetwork>;

export function createNetwork(deps: { random: Random; world: () => World; issuer: string; payer: string }) {
  const { random, issuer, payer } = deps;
  const bases: BaseState[] = [];
  const payments: Paid[] = [];
  /** Records of a type that nobody knows, each of which names an address. */
  const riddles: Pick<Paid, 'operationId' | 'chain' | 'ledger' | 'closedMs' | 'receiver'>[] = [];
  const transactions = new Map<string, Json>();
  const effects = new Map<string, Json>();
  let ledgers: Ledger[] = [];
  let chain = 0;
  let elder = firstLedger(0);
  let faultsOn = true;
  const state = { requests: 0, isAway: false, dropped: [] as { chain: number; upTo: number }[] };

  const hashOf = (text: string) => createHash('sha256').update(`${chain}:${text}`).digest('hex');
  const latest = () => ledgers.at(-1)!;

  function transactionOf(hash: string, memo: Paid['memo'], successful: boolean): Json {
    const fields =
      memo.type === 'none'
        ? { memo_type: 'none' }
        : memo.type === 'id'
          ? { memo_type: 'id', memo: memo.text }
          : { memo_type: 'text', memo: memo.text, memo_bytes: Buffer.from(memo.text!).toString('base64') };
    const transaction = { id: hash, hash, successful, ...fields };
    transactions.set(hash, transaction);
    return transaction;
  }

  const decimal = (stroops: bigint) =>
    `${stroops / 10_000_000n}.${(stroops % 10_000_000n).toString().padStart(7, '0')}`;
  const triple = (asset: Paid['asset']) =>
    asset.issuer === null ? NATIVE_TRIPLE : { ...USDC_TRIPLE, asset_code: asset.code, asset_issuer: asset.issuer };

  /** What somebody sends in the next ledger. */
  type Sending = Pick<Paid, 'receiver' | 'asset' | 'stroops' | 'memo'> & {
    shape: 'payment' | 'unjoined' | 'create' | 'merge' | 'host' | 'failed' | 'self' | 'unknown';
  };
  let queue: Sending[] = [];

  function close(nowMs: number): void {
    const sequence = ledgers.length === 0 ? firstLedger(chain) : latest().sequence + 1;
    const closedMs = Math.floor(nowMs / 1000) * 1000;
    const ledger: Ledger = { sequence, hash: hashOf(`ledger ${sequence}`), closedMs, records: [] };
    for (const [index, sending] of queue.entries()) ledger.records.push(recordOf(sending, ledger, index + 1));
    queue = [];
    ledgers.push(ledger);
  }

  function recordOf(sending: Sending, ledger: Ledger, order: number): Json {
    const { receiver, asset, stroops, memo, shape } = sending;
    const id = toid(ledger.sequence, order, 1);
    const hash = hashOf(`transaction ${id}`);
    const successful = shape !== 'failed';
    const transaction = transactionOf(hash, memo, successful);
    const base: Json = {
      id,
      paging_token: id,
      transaction_successful: successful,
      source_account: payer,
      created_at: new Date(ledger.closedMs).toISOString(),
      transaction_hash: hash,
      ...(shape === 'unjoined' ? {} : { transaction }),
    };
    const pay = (changeIndex: number, amount: bigint, of = asset) =>
      payments.push({
        operationId: id,
        changeIndex,
        transactionHash: hash,
        chain,
        ledger: ledger.sequence,
        closedMs: ledger.closedMs,
        receiver,
        asset: of,
        stroops: amount,
        memo,
      });
    const native = { code: 'XLM', issuer: null };
    switch (shape) {
      case 'create':
        pay(0, stroops, native);
        return {
          ...base,
          type: 'create_account',
          type_i: 0,
          starting_balance: decimal(stroops),
          funder: payer,
          account: receiver,
        };
      case 'merge':
        pay(0, stroops, native);
        effects.set(id, {
          _embedded: {
            records: [{ type: 'account_credited', account: receiver, asset_type: 'native', amount: decimal(stroops) }],
          },
        });
        return { ...base, type: 'account_merge', account: payer, into: receiver };
      case 'host': {
        pay(0, stroops);
        pay(1, stroops + 1n);
        const change = (amount: bigint) => ({
          ...triple(asset),
          type: 'transfer',
          from: payer,
          to: receiver,
          amount: decimal(amount),
        });
        return {
          ...base,
          type: 'invoke_host_function',
          asset_balance_changes: [change(stroops), change(stroops + 1n)],
        };
      }
      case 'unknown':
        riddles.push({ operationId: id, chain, ledger: ledger.sequence, closedMs: ledger.closedMs, receiver });
        return { ...base, type: 'teleport', to: receiver };
      case 'self':
        return { ...base, type: 'payment', ...triple(asset), from: receiver, to: receiver, amount: decimal(stroops) };
      case 'failed':
        return { ...base, type: 'payment', ...triple(asset), from: payer, to: receiver, amount: decimal(stroops) };
      default:
        pay(0, stroops);
        return { ...base, type: 'payment', ...triple(asset), from: payer, to: receiver, amount: decimal(stroops) };
    }
  }

  const namesOf = (record: Json): string[] =>
    [record.to, record.from, record.account, record.into, record.funder, record.source_account]
      .concat((record.asset_balance_changes ?? []).map((change: Json) => change.to))
      .filter(Boolean);

  /** One base's view. */
  function answer(base: number, url: URL): { status: number; body: string; headers?: Record<string, string> } {
    const { stutters, unevenness } = bases[base]!;
    const lag = bases[base]!.lag + (unevenness > 0 ? random.int(unevenness + 1) : 0);
    const kept = ledgers.filter((ledger) => ledger.sequence >= elder);
    const shown = kept.slice(0, Math.max(1, kept.length - lag));
    const newest = shown.at(-1)!;
    const json = (body: Json, status = 200) => ({ status, body: JSON.stringify(body) });
    const missing = () => json({ type: 'https://stellar.org/horizon-errors/not_found', status: 404 }, 404);
    const path = url.pathname;
    if (path === '/') {
      return json({
        history_latest_ledger: newest.sequence,
        history_latest_ledger_closed_at: new Date(newest.closedMs).toISOString(),
        history_elder_ledger: elder,
        network_passphrase: PASSPHRASE,
      });
    }
    const payload = /^\/(?:accounts\/(\w+)\/)?payments$/.exec(path);
    if (payload) {
      const [, address] = payload;
      const cursor = BigInt(url.searchParams.get('cursor') ?? '0');
      const limit = Number(url.searchParams.get('limit'));
      const all = shown
        .flatMap((ledger) => ledger.records)
        .filter((record) => !address || namesOf(record).includes(address));
      if (address && all.length === 0) return missing();
      let records = all.filter((record) => BigInt(record.paging_token) > cursor).slice(0, limit);
      if (stutters && records.length > 0 && records.length < limit && random.chance(0.3)) {
        records = [...records.slice(0, 1), ...records].slice(0, limit);
      }
      return json({
        _links: { next: { href: `${url.origin}${path}?cursor=${records.at(-1)?.paging_token ?? cursor}` } },
        _embedded: { records },
      });
    }
    const numbered = /^\/ledgers\/(\d+)$/.exec(path);
    if (numbered) {
      const sequence = Number(numbered[1]);
      if (sequence < elder) return json({ type: 'before_history', status: 410 }, 410);
      const ledger = shown.find((each) => each.sequence === sequence);
      return ledger
        ? json({ sequence, hash: ledger.hash, closed_at: new Date(ledger.closedMs).toISOString() })
        : missing();
    }
    const transaction = /^\/transactions\/(\w+)$/.exec(path);
    if (transaction) {
      const found = transactions.get(transaction[1]!);
      return found ? json(found) : missing();
    }
    const operation = /^\/operations\/(\d+)\/effects$/.exec(path);
    if (operation) return json(effects.get(operation[1]!) ?? { _embedded: { records: [] } });
    throw new Error(`the network has no ${path}`);
  }

  const FAULTS: readonly Fault[] = ['429', '503', '504', 'html', 'cut', 'hang', 'reset-connection'];

  return {
    payments,
    riddles,
    state,
    bases,
    urls: () => bases.map((_, index) => `http://base${index}.test`),
    send: (sending: Sending) => void queue.push(sending),
    close,
    latest,
    elder: () => elder,
    chain: () => chain,
    calm(): void {
      faultsOn = false;
      for (const base of bases) Object.assign(base, { lag: 0, unevenness: 0, stutters: false });
    },
    /** Drops old ledgers, all but the newest `kept`. */
    retain(kept: number): void {
      elder = Math.max(elder, latest().sequence - kept + 1);
      state.dropped.push({ chain, upTo: elder - 1 });
    },
    reset(nowMs: number): void {
      state.dropped.push({ chain, upTo: Number.POSITIVE_INFINITY });
      chain += 1;
      ledgers = [];
      elder = firstLedger(chain);
      close(nowMs);
    },
    /** The `fetch` of one process. */
    fetchOf:
      (process: Process): Fetch =>
      (text, { signal }) =>
        new Promise((resolve, reject) => {
          const world = deps.world();
          const url = new URL(text);
          const base = Number(/^base(\d+)/.exec(url.hostname)![1]);
          const fails = faultsOn && (state.isAway || random.chance(bases[base]!.faultiness));
          const fault: Fault = fails ? (state.isAway ? '503' : random.pick(FAULTS)) : 'none';
          const latencyMs = faultsOn && random.chance(0.05) ? random.between(100, 4000) : random.between(1, 30);
          const abort = () => reject(new Error('aborted'));
          signal.addEventListener('abort', abort, { once: true });
          state.requests += 1;
          world.enqueue({
            label: `GET ${url.host}${url.pathname.replace(/(G\w{4})\w+/, '$1')}${url.search.replace(/&.*/, '')}${fault === 'none' ? '' : ` → ${fault}`}`,
            process,
            readyMs: world.nowMs() + latencyMs,
            mayCrash: true,
            // The answer may be old when it arrives.
            heardAfterMs: faultsOn && random.chance(0.1) ? random.between(1, 3000) : 0,
            run: () => {
              if (signal.aborted || fault === 'hang') return;
              if (fault === 'reset-connection')
                return () => reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
              let { status, body } = answer(base, url);
              const headers: Record<string, string> = {};
              if (fault === 'html') [status, body] = [200, '<html>maintenance</html>'];
              if (fault === 'cut') body = body.slice(0, Math.floor(body.length / 2));
              if (fault === '429') [status, body, headers['retry-after']] = [429, '{}', String(random.between(0, 3))];
              if (fault === '503' || fault === '504') [status, body] = [Number(fault), '{"status":503}'];
              return () =>
                resolve({
                  status,
                  headers: { get: (name) => headers[name] ?? null },
                  body: (async function* () {
                    yield Buffer.from(body);
                  })(),
                });
            },
          });
        }),
    issuer,
  };
}
