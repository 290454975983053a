/** The Horizons and Stellar RPC servers of a simulated network: each URL has its own lag and
 *  faults, and all answer from one chain. */
import type { Fetch } from '../../src/ledger/request.js';
import { PASSPHRASE, toid } from '../helpers/horizon-records.js';
import { decimal, triple } from './accounts.js';
import type { Chain, Json, Ledger } from './chain.js';
import type { Hardships } from './hardships.js';
import { type Blindness, firstTwice, isBlind } from './oddities.js';
import { answerRpc, namedIn } from './rpc.js';
import type { Process, Scheduler } from './scheduler.js';

export { PASSPHRASE };

const FAULTS = ['429', '503', '504', 'html', 'cut', 'hang', 'reset-connection'] as const;
type Fault = (typeof FAULTS)[number];

/** The server at one URL. */
export interface Server {
  kind: 'horizon' | 'rpc';
  /** Probability that a request fails. */
  faults: number;
  /** Ledgers by which it lags. */
  lag: number;
  /** Each request meets another server behind the URL, which lags by up to this many ledgers. */
  unevenness: number;
  /** Repeats records within ledger pages. */
  repeats: boolean;
  /** Machines behind the URL, as the number of ledgers by which each lags; empty when `lag` and
   *  `unevenness` apply. */
  machines: readonly number[];
  /** The number of newest ledgers that it keeps; null for as many as the chain. */
  keeps: number | null;
  /** Version of its software. */
  version: string;
}

interface Answer {
  status: number;
  body: string;
  isTooLarge?: boolean;
  /** The header of endpoints that answer from the state. */
  latestLedger?: number;
}

/** The machines of each URL that answer the root and everything else: requests often meet the same
 *  one again. */
type Sticky = Map<Server, { root: number; rest: number }>;
const SWITCH_PROBABILITY = 0.1;

const json = (body: Json, status = 200): Answer => ({ status, body: JSON.stringify(body) });
const notFound = () => json({ type: 'https://stellar.org/horizon-errors/not_found', status: 404 }, 404);

const addressesIn = (record: Json): string[] =>
  [record.to, record.from, record.account, record.into, record.funder, record.source_account]
    .concat(
      (record.asset_balance_changes ?? []).map(({ type, to, asset_issuer }: Json) =>
        type === 'burn' ? asset_issuer : to,
      ),
    )
    .filter(Boolean);

/** Whether a transaction belongs to this share, decided by its hash. */
export const isDrawnBy = (share: number, hash: string): boolean =>
  Number.parseInt(hash.slice(0, 8), 16) / 2 ** 32 < share;

export class Network {
  readonly servers: Server[] = [];
  /** Times of all requests. */
  readonly requestsMs: number[] = [];
  /** Times of requests that strangers caused. */
  readonly strangersMs: number[] = [];
  /** No server answers. */
  isAway = false;
  /** Address whose history answers 504. */
  brokenAccount: string | null = null;
  heavyPages: Hardships['heavyPages'] = null;
  blindness: readonly Blindness[] = [];
  /** Every ledger page has its first entry twice. */
  isTwice = false;
  lacking: Hardships['lacking'] = null;
  future: Hardships['future'] = null;
  claims: Hardships['claims'] = null;
  #faultsOn = true;
  readonly #sticky: Sticky = new Map();

  constructor(
    readonly chain: Chain,
    private readonly scheduler: Scheduler,
  ) {}

  urls(wanted: Server['kind']): string[] {
    return this.servers.flatMap(({ kind }, index) => (kind === wanted ? [`http://base${index}.test`] : []));
  }

  /** Whether a server has complete histories of accounts, which audits read. */
  get hasWholeHistories(): boolean {
    return this.servers.some(({ kind, keeps }) => kind === 'horizon' && keeps === null);
  }

  /** Whether no server has this transaction yet. */
  #lacks(hash: string): boolean {
    if (!this.lacking || !this.#faultsOn) return false;
    const { share, forMs } = this.lacking;
    const isDrawn = isDrawnBy(share, hash);
    const holds = ({ records, others }: Ledger) =>
      [...records, ...others].some(({ transaction_hash: its }) => its === hash);
    const closedMs = isDrawn && this.chain.ledgers.find(holds)?.closedMs;
    return closedMs !== false && closedMs !== undefined && this.scheduler.nowMs() < closedMs + forMs;
  }

  /** Whether servers can decode the transaction: like clients, they cannot until they
   *  are upgraded. */
  #decodes(hash: string): boolean {
    const isOld = this.#faultsOn && this.future !== null && this.scheduler.nowMs() < this.future.serversKnowMs;
    const { isOfTheFuture = false, hasUnknownEvents = false } = this.chain.transactions.get(hash) ?? {};
    return !isOld || !(isOfTheFuture || hasUnknownEvents);
  }

  /** The record as shown, without its transaction while servers lack that. */
  #joined(record: Json): Json {
    if (!record.transaction || !this.#lacks(record.transaction_hash)) return record;
    const { transaction: _, ...lean } = record;
    return lean;
  }

  /** From now on all requests are answered well, by servers that are up to date. */
  endFaults(): void {
    this.#faultsOn = false;
    this.blindness = [];
    for (const server of this.servers) Object.assign(server, { lag: 0, unevenness: 0, machines: [], repeats: false });
  }

  /** The `fetch` of one process. */
  fetchOf(process: Process): Fetch {
    return (text, { signal, body: sent }) =>
      new Promise((resolve, reject) => {
        const { random } = this.scheduler;
        const url = new URL(text);
        const server = this.servers[Number(/^base(\d+)/.exec(url.hostname)![1])]!;
        const fault = this.#drawFault(server);
        const latencyMs = this.#faultsOn && random.chance(0.05) ? random.between(100, 4000) : random.between(1, 30);
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        this.requestsMs.push(this.scheduler.nowMs());
        if (process.name.startsWith('api') && /"getLedgerEntries"|\/accounts\/\w+$/.test(sent ?? url.pathname))
          this.strangersMs.push(this.scheduler.nowMs());
        const path = url.pathname.replace(/(G\w{4})\w+/, '$1');
        this.scheduler.enqueue({
          label: `${sent ? `POST ${JSON.parse(sent).method}` : 'GET'} ${url.host}${path}${url.search.replace(/&.*/, '')}${fault ? ` → ${fault}` : ''}`,
          process,
          readyMs: this.scheduler.nowMs() + latencyMs,
          mayCrash: true,
          // The answer may be outdated when it arrives.
          heardAfterMs: this.#faultsOn && random.chance(0.1) ? random.between(1, 3000) : 0,
          run: () => {
            if (signal.aborted || fault === 'hang') return;
            if (fault === 'reset-connection')
              return () => reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
            const headers: Record<string, string> = {};
            const answer = this.#spoil(
              this.#exaggerate(process, url, sent, sent ? this.#answerRpc(server, sent) : this.#answer(server, url)),
              fault,
              headers,
            );
            if (answer === 'hang') return;
            if (answer.latestLedger) headers['latest-ledger'] = String(answer.latestLedger);
            const body = answer.isTooLarge ? endless() : streamOf(answer.body);
            return () => resolve({ status: answer.status, headers: { get: (name) => headers[name] ?? null }, body });
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

  /** False claims in answers that name the newest ledger, and only to processes that know one: the
   *  first one of all is believed. */
  #exaggerate(process: Process, { pathname }: URL, sent: string | undefined, answer: Answer | 'hang') {
    if (!this.claims || !this.#faultsOn || !process.knowsLedger || answer === 'hang') return answer;
    const isTip = sent ? JSON.parse(sent).method === 'getHealth' : pathname === '/';
    if (!isTip || !this.scheduler.random.chance(this.claims.share)) return answer;
    const body = answer.body.replace(
      /("(?:history_latest_ledger|latestLedger)":)(\d+)/,
      (_, name, latest) => `${name}${Number(latest) + this.claims!.ahead}`,
    );
    return { ...answer, body };
  }

  #spoil(answer: Answer | 'hang', fault: Fault | null, headers: Record<string, string>): Answer | 'hang' {
    if (answer === 'hang') return answer;
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

  /** The lag of the answering machine, in ledgers. */
  #lagOf(server: Server, role: 'root' | 'rest'): number {
    const { random } = this.scheduler;
    const { machines, lag, unevenness } = server;
    if (machines.length === 0) return lag + (unevenness > 0 ? random.int(unevenness + 1) : 0);
    const current = this.#sticky.get(server) ?? { root: random.pick(machines), rest: random.pick(machines) };
    if (random.chance(SWITCH_PROBABILITY)) current[role] = random.pick(machines);
    this.#sticky.set(server, current);
    return current[role];
  }

  /** The ledgers that the answering machine keeps and shows. */
  #view(server: Server, role: 'root' | 'rest'): { elder: number; shown: Ledger[] } {
    const { chain } = this;
    const lag = this.#lagOf(server, role);
    const elder = Math.max(chain.elder, server.keeps === null ? 0 : chain.latest.sequence - server.keeps + 1);
    const kept = chain.ledgers.filter((ledger) => ledger.sequence >= elder);
    return { elder, shown: kept.slice(0, Math.max(1, kept.length - lag)) };
  }

  #answerRpc(server: Server, sent: string): Answer {
    const { shown } = this.#view(server, JSON.parse(sent).method === 'getHealth' ? 'root' : 'rest');
    const { brokenAccount } = this;
    if (brokenAccount && namedIn(sent, [brokenAccount]).length > 0) return { status: 504, body: '{"status":504}' };
    const { scheduler, chain, isTwice, blindness } = this;
    const lacks = (hash: string) => this.#lacks(hash);
    const decodes = (hash: string) => this.#decodes(hash);
    const view = { chain, passphrase: PASSPHRASE, shown, isTwice, lacks, decodes };
    return {
      status: 200,
      body: answerRpc({ ...view, isBlind: isBlind(blindness, scheduler.nowMs(), scheduler.random) }, sent),
    };
  }

  #answer(server: Server, url: URL): Answer | 'hang' {
    const { chain } = this;
    const path = url.pathname;
    const { elder, shown } = this.#view(server, path === '/' ? 'root' : 'rest');
    if (path === '/') {
      const newest = shown.at(-1)!;
      return json({
        history_latest_ledger: newest.sequence,
        history_latest_ledger_closed_at: new Date(newest.closedMs).toISOString(),
        history_elder_ledger: elder,
        core_latest_ledger: newest.sequence,
        horizon_version: server.version,
        network_passphrase: PASSPHRASE,
      });
    }
    const payments = /^\/(?:accounts\/(\w+)\/)?payments$/.exec(path);
    if (payments) {
      if (url.searchParams.get('cursor') === 'now') {
        const records = this.#records(server, shown, undefined);
        return newestPage(records, shown.at(-1)!.sequence, payments[1]);
      }
      return this.#page(server, url, shown, payments[1]);
    }
    const numbered = /^\/ledgers\/(\d+)$/.exec(path);
    if (numbered) {
      const sequence = Number(numbered[1]);
      if (sequence < elder) return json({ type: 'before_history', status: 410 }, 410);
      const ledger = shown.find((each) => each.sequence === sequence);
      if (!ledger) return notFound();
      return json({ sequence, hash: ledger.hash, closed_at: new Date(ledger.closedMs).toISOString() });
    }
    const transaction = /^\/transactions\/(\w+)$/.exec(path);
    if (transaction) {
      const asked = transaction[1]!;
      const hash = chain.outer.get(asked) ?? asked;
      // A lagging machine does not have it yet.
      const isShown = shown.some(({ records, others }) =>
        [...records, ...others].some(({ transaction_hash: its }) => its === hash),
      );
      const found = isShown && !this.#lacks(hash!) ? chain.transactions.get(hash!) : undefined;
      // The answer has the requested hash, also when it is the inner one.
      return found ? json({ ...found, id: asked, hash: asked }) : notFound();
    }
    const operation = /^\/operations\/(\d+)\/effects$/.exec(path);
    if (operation) return pageOf(chain.effects.get(operation[1]!) ?? []);
    return this.#answerOfHistory(url, shown) ?? this.#fail(path);
  }

  #fail(path: string): never {
    throw new Error(`no route for ${path}`);
  }

  /** Answers requests that only audits and refunds send; null for other paths. */
  #answerOfHistory({ pathname, searchParams: asked }: URL, shown: readonly Ledger[]): Answer | null {
    const { chain } = this;
    const isShown = (id: string) => chain.omitted.get(id) !== 'everywhere';
    const operations = () => shown.flatMap(({ records, others }) => [...records, ...others]);
    const operation = /^\/operations\/(\d+)$/.exec(pathname);
    if (operation) {
      const found = operations().find(({ id }) => id === operation[1]);
      return found
        ? json(this.#joined({ ...found, transaction: chain.transactions.get(found.transaction_hash) }))
        : notFound();
    }
    const ofTransaction = /^\/transactions\/(\w+)\/payments$/.exec(pathname);
    if (ofTransaction) {
      const records = shown.flatMap((ledger) => ledger.records);
      const hash = chain.outer.get(ofTransaction[1]!) ?? ofTransaction[1];
      const found = records.filter((record) => record.transaction_hash === hash && !this.#lacks(hash!));
      return found.length > 0 ? pageOf(found) : notFound();
    }
    const newest = shown.at(-1)!.sequence;
    if (pathname === '/operations') {
      const all = operations().sort(byId);
      return listed(
        all.map((found) => this.#joined({ ...found, transaction: chain.transactions.get(found.transaction_hash) })),
        asked,
        newest,
      );
    }
    const [, address, list] = /^\/accounts\/(\w+)(?:\/(\w+))?$/.exec(pathname) ?? [];
    if (!address) return null;
    if (address === this.brokenAccount) return { status: 504, body: '{"status":504}' };
    switch (list) {
      case undefined:
        return accountOf(chain, address, newest);
      case 'effects': {
        const own = shown.flatMap(({ effects }) => effects.filter(({ account }) => account === address));
        return listed(
          own.filter(({ id }) => isShown(id.split('-')[0])),
          asked,
          newest,
        );
      }
      case 'operations': {
        const own = operations().filter((record) => addressesIn(record).includes(address));
        const isSuccessful = (record: Json) => record.transaction_successful && isShown(record.id);
        return listed(own.filter(isSuccessful).sort(byId), asked, newest);
      }
      case 'transactions': {
        const own = shown.flatMap(({ transactions }) => transactions);
        return listed(
          own.filter(({ parties }) => parties.includes(address)),
          asked,
          newest,
        );
      }
      default:
        return null;
    }
  }

  #page(server: Server, url: URL, ledgers: readonly Ledger[], address: string | undefined): Answer | 'hang' {
    const { random } = this.scheduler;
    if (address && address === this.brokenAccount) return { status: 504, body: '{"status":504}' };
    const asked = url.searchParams;
    const limit = Number(asked.get('limit'));
    const newest = ledgers.at(-1)!.sequence;
    const cursor =
      asked.get('cursor') === 'now' ? BigInt(toid(newest, 0xfffff, 0xfff)) : BigInt(asked.get('cursor') ?? '0');
    const all = this.#records(server, ledgers, address);
    if (address && all.length === 0) return notFound();
    const isDescending = asked.get('order') === 'desc';
    const token = (record: Json) => BigInt(record.paging_token);
    const rest = isDescending
      ? all.filter((record) => token(record) < cursor).reverse()
      : all.filter((record) => token(record) > cursor);
    let page = rest.slice(0, limit);
    if (server.repeats && page.length > 0 && page.length < limit && random.chance(0.3)) {
      page = firstTwice(page, limit);
    }
    if (this.isTwice) page = firstTwice(page, limit);
    const heavy = this.#heavyAnswer(page);
    if (heavy) return heavy;
    page = page.map((record) => this.#joined(record));
    if (asked.get('join') !== 'transactions') page = page.map(({ transaction: _, ...record }) => record);
    const link = (at: unknown) => ({ href: `${url.origin}${url.pathname}?cursor=${at}` });
    const next = page.at(-1)?.paging_token ?? cursor;
    return json({ _links: { self: link(cursor), next: link(next) }, _embedded: { records: page } });
  }

  #records({ version }: Server, ledgers: readonly Ledger[], address: string | undefined): Json[] {
    const { omitted } = this.chain;
    const records = ledgers.flatMap((ledger) => ledger.records).filter(({ id }) => !omitted.has(id));
    if (!address) return records;
    const omits = Number.parseInt(version, 10) < 28;
    return records.filter(
      (record) => addressesIn(record).includes(address) && !(omits && this.chain.hidden.has(record.id)),
    );
  }

  #heavyAnswer(page: readonly Json[]): Answer | 'hang' | null {
    if (!this.heavyPages) return null;
    const { limit, how } = this.heavyPages;
    if (page.filter(({ id }) => this.chain.heavy.has(id)).length <= limit) return null;
    if (how === 'slow') return 'hang';
    return how === '504' ? { status: 504, body: '{"status":504}' } : { status: 200, body: '', isTooLarge: true };
  }
}

const pageOf = (records: readonly Json[]): Answer => json({ _embedded: { records } });
const byId = (a: Json, b: Json) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

/** The place of a paging token, `<number>` or `<number>-<order>`. */
const placeOf = (token: string): bigint => {
  const [id, order = '0'] = token.split('-') as [string, string?];
  return BigInt(id) * 1000n + BigInt(order);
};

/** A ledger page in ascending order, or the newest item, in an answer that names the server's
 *  newest ledger. */
function listed(items: readonly Json[], asked: URLSearchParams, latest: number): Answer {
  const shown = items.map(({ parties: _, ...item }) => item);
  if (asked.get('cursor') === 'now') return endOf(shown, latest);
  const after = placeOf(asked.get('cursor') ?? '0');
  return pageOf(shown.filter((item) => placeOf(item.paging_token) > after).slice(0, Number(asked.get('limit'))));
}

function endOf(items: readonly Json[], latest: number): Answer {
  const now = (BigInt(latest) << 32n) | 0xffff_ffffn;
  return json({ _links: { self: { href: `?cursor=${now}` } }, _embedded: { records: items.slice(-1) } });
}

/** The balances of an account after a ledger. */
function accountOf(chain: Chain, address: string, latestLedger: number): Answer {
  const held = chain.accounts.heldAfter(address, { chain: chain.number, ledger: latestLedger });
  if (!held) return { ...notFound(), latestLedger };
  const balances = held.map(({ asset, stroops, changed }) => ({
    ...{ ...triple(asset), balance: decimal(stroops) },
    // For lumens the account entry holds the ledger of the last change.
    ...(asset.issuer === null ? {} : { last_modified_ledger: changed }),
  }));
  const last_modified_ledger = held.find(({ asset }) => asset.issuer === null)?.changed ?? 0;
  return { ...json({ last_modified_ledger, balances }), latestLedger };
}

/** The newest record, in an answer that names the server's newest ledger. */
function newestPage(records: readonly Json[], latest: number, address: string | undefined): Answer {
  const all = address ? records.filter((record) => addressesIn(record).includes(address)) : records;
  if (address && all.length === 0) return notFound();
  return endOf(all, latest);
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A body without end. */
async function* endless(): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(1024 * 1024);
  for (;;) yield chunk;
}
