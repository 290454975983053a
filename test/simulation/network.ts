/** The Horizon servers of a simulated network: each URL has its own lag and faults, and what they answer comes from one chain. */
import type { Fetch } from '../../src/ledger/horizon/request.js';
import type { Chain, Json } from './chain.js';
import type { Process, Scheduler } from './scheduler.js';

export const PASSPHRASE = 'Standalone Network ; February 2017';

const FAULTS = ['429', '503', '504', 'html', 'cut', 'hang', 'reset-connection'] as const;
type Fault = (typeof FAULTS)[number];

/** What answers at one URL. */
export interface Server {
  /** Probability that a request fails. */
  faults: number;
  /** Ledgers by which it is behind. */
  lag: number;
  /** Several servers behind one URL: each request meets another one, behind by up to this many ledgers. */
  unevenness: number;
  /** Repeats records within pages. */
  repeats: boolean;
}

interface Answer {
  status: number;
  body: string;
}

const json = (body: Json, status = 200): Answer => ({ status, body: JSON.stringify(body) });
const notFound = () => json({ type: 'https://stellar.org/horizon-errors/not_found', status: 404 }, 404);

const addressesIn = (record: Json): string[] =>
  [record.to, record.from, record.account, record.into, record.funder, record.source_account]
    .concat((record.asset_balance_changes ?? []).map((change: Json) => change.to))
    .filter(Boolean);

export class Network {
  readonly servers: Server[] = [];
  requests = 0;
  /** No server answers. */
  isAway = false;
  #faultsOn = true;

  constructor(
    readonly chain: Chain,
    private readonly scheduler: Scheduler,
  ) {}

  urls(): string[] {
    return this.servers.map((_, index) => `http://base${index}.test`);
  }

  /** From now on every request is answered well, by servers that are up to date. */
  endFaults(): void {
    this.#faultsOn = false;
    for (const server of this.servers) Object.assign(server, { lag: 0, unevenness: 0, repeats: false });
  }

  /** The `fetch` of one process. */
  fetchOf(process: Process): Fetch {
    return (text, { signal }) =>
      new Promise((resolve, reject) => {
        const { random } = this.scheduler;
        const url = new URL(text);
        const server = this.servers[Number(/^base(\d+)/.exec(url.hostname)![1])]!;
        const fault = this.#drawFault(server);
        const latencyMs = this.#faultsOn && random.chance(0.05) ? random.between(100, 4000) : random.between(1, 30);
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        this.requests += 1;
        const path = url.pathname.replace(/(G\w{4})\w+/, '$1');
        this.scheduler.enqueue({
          label: `GET ${url.host}${path}${url.search.replace(/&.*/, '')}${fault ? ` → ${fault}` : ''}`,
          process,
          readyMs: this.scheduler.nowMs() + latencyMs,
          mayCrash: true,
          // The answer may be old when it arrives.
          heardAfterMs: this.#faultsOn && random.chance(0.1) ? random.between(1, 3000) : 0,
          run: () => {
            if (signal.aborted || fault === 'hang') return;
            if (fault === 'reset-connection')
              return () => reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
            const headers: Record<string, string> = {};
            const { status, body } = this.#spoil(this.#answer(server, url), fault, headers);
            return () => resolve({ status, headers: { get: (name) => headers[name] ?? null }, body: streamOf(body) });
          },
        });
      });
  }

  #drawFault(server: Server): Fault | null {
    const { random } = this.scheduler;
    if (!this.#faultsOn) return null;
    if (this.isAway) return '503';
    return random.chance(server.faults) ? random.pick(FAULTS) : null;
  }

  #spoil(answer: Answer, fault: Fault | null, headers: Record<string, string>): Answer {
    switch (fault) {
      case 'html':
        return { status: 200, body: '<html>maintenance</html>' };
      case 'cut':
        return { ...answer, body: answer.body.slice(0, Math.floor(answer.body.length / 2)) };
      case '429':
        headers['retry-after'] = String(this.scheduler.random.between(0, 3));
        return { status: 429, body: '{}' };
      case '503':
      case '504':
        return { status: Number(fault), body: '{"status":503}' };
      default:
        return answer;
    }
  }

  #answer(server: Server, url: URL): Answer {
    const { random } = this.scheduler;
    const { chain } = this;
    const lag = server.lag + (server.unevenness > 0 ? random.int(server.unevenness + 1) : 0);
    const kept = chain.ledgers.filter((ledger) => ledger.sequence >= chain.elder);
    const shown = kept.slice(0, Math.max(1, kept.length - lag));
    const path = url.pathname;
    if (path === '/') {
      const newest = shown.at(-1)!;
      return json({
        history_latest_ledger: newest.sequence,
        history_latest_ledger_closed_at: new Date(newest.closedMs).toISOString(),
        history_elder_ledger: chain.elder,
        network_passphrase: PASSPHRASE,
      });
    }
    const payments = /^\/(?:accounts\/(\w+)\/)?payments$/.exec(path);
    if (payments) {
      const records = shown.flatMap((ledger) => ledger.records);
      if (url.searchParams.get('cursor') === 'now') return newestPage(records, shown.at(-1)!.sequence, payments[1]);
      return this.#page(server, url, records, payments[1]);
    }
    const numbered = /^\/ledgers\/(\d+)$/.exec(path);
    if (numbered) {
      const sequence = Number(numbered[1]);
      if (sequence < chain.elder) return json({ type: 'before_history', status: 410 }, 410);
      const ledger = shown.find((each) => each.sequence === sequence);
      if (!ledger) return notFound();
      return json({ sequence, hash: ledger.hash, closed_at: new Date(ledger.closedMs).toISOString() });
    }
    const transaction = /^\/transactions\/(\w+)$/.exec(path);
    if (transaction) {
      const found = chain.transactions.get(transaction[1]!);
      return found ? json(found) : notFound();
    }
    const operation = /^\/operations\/(\d+)\/effects$/.exec(path);
    if (operation) return json(chain.effects.get(operation[1]!) ?? { _embedded: { records: [] } });
    throw new Error(`no route for ${path}`);
  }

  #page(server: Server, url: URL, records: readonly Json[], address: string | undefined): Answer {
    const { random } = this.scheduler;
    const cursor = BigInt(url.searchParams.get('cursor') ?? '0');
    const limit = Number(url.searchParams.get('limit'));
    const all = address ? records.filter((record) => addressesIn(record).includes(address)) : records;
    if (address && all.length === 0) return notFound();
    let page = all.filter((record) => BigInt(record.paging_token) > cursor).slice(0, limit);
    if (server.repeats && page.length > 0 && page.length < limit && random.chance(0.3)) {
      page = [...page.slice(0, 1), ...page].slice(0, limit);
    }
    const next = `${url.origin}${url.pathname}?cursor=${page.at(-1)?.paging_token ?? cursor}`;
    return json({ _links: { next: { href: next } }, _embedded: { records: page } });
  }
}

/** The newest record, in an answer that names how far the server is. */
function newestPage(records: readonly Json[], latest: number, address: string | undefined): Answer {
  const all = address ? records.filter((record) => addressesIn(record).includes(address)) : records;
  if (address && all.length === 0) return notFound();
  const now = (BigInt(latest) << 32n) | 0xffff_ffffn;
  return json({ _links: { self: { href: `?cursor=${now}` } }, _embedded: { records: all.slice(-1) } });
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
